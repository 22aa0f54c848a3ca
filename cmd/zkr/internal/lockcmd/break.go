package lockcmd

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/holds"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// breakLock is "zkr lock break".
func (a *app) breakLock() *cobra.Command {
	var permits int
	var v2 bool
	return takeaway.Command{
		Family: "lock", Name: "lock", Verb: "break", Short: "Take the lock PATH, or permits, away from a holder",
		Long: "Takes the mutex PATH, or the permits of the semaphore PATH, away from a holder that does\n" +
			"not work any more, and whose session lives on. \"zkr lock revoke\" asks the holder of a\n" +
			"mutex instead. The number of a semaphore's permits is read from PATH, except for\n" +
			"Curator's semaphores: give it with -n.\n",
		Shared: true,
		Flags: func(f *pflag.FlagSet) {
			f.IntVarP(&permits, "n", "n", 0, "semaphore of `N` permits; 0: a mutex, or the number of permits is read from PATH")
			f.BoolVar(&v2, "curator-v2", false, "with -n: the semaphore is Curator's InterProcessSemaphoreV2")
		},
		Check: func() error { return checkPermits(permits, v2) },
		Open: func(client *session.Client, path string) takeaway.Hold {
			if permits > 0 {
				return holds.Permits(client, path, permits, v2)
			}
			return holds.LockOrPermits(client, path)
		},
	}.New(a.App)
}

// checkPermits checks the options of a command on a mutex or a semaphore.
func checkPermits(permits int, v2 bool) error {
	switch {
	case permits < 0:
		return exit.Usage("-n is %d; it must be 0 (read from PATH) or more", permits)
	case v2 && permits < 1:
		return exit.Usage("--curator-v2 is for a semaphore, and needs -n")
	}
	return nil
}

// readBreak is for takeaway.By.
func readBreak(b lock.Break) (by, reason string, at time.Time) { return b.By, b.Reason, b.At }
