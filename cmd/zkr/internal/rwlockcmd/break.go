package rwlockcmd

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/holds"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

// breakLock is "zkr rwlock break".
func (a *app) breakLock() *cobra.Command {
	return takeaway.Command{
		Family: "rwlock", Name: "read/write lock", Verb: "break", Short: "Take the lock PATH away from a reader or from the writer",
		Long: "Takes the lock PATH away from a reader or from the writer that does not work any more,\n" +
			"and whose session lives on. Other readers keep the lock.\n",
		Shared: true,
		Open:   holds.RWLock,
	}.New(a.App)
}

// readBreak is for takeaway.By.
func readBreak(b rwlock.Break) (by, reason string, at time.Time) { return b.By, b.Reason, b.At }
