package lockcmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/holds"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/lock"
)

// breakLock is "zkr lock break".
func (a *app) breakLock() *cobra.Command {
	return takeaway.Command{
		Family: "lock", Name: "lock", Verb: "break", Short: "Take the lock PATH away from its holder",
		Long: "Takes the mutex PATH away from a holder that does not work any more, and whose session\n" +
			"lives on. \"zkr lock revoke\" asks the holder instead.\n",
		Open: holds.Lock,
	}.New(a.App)
}

// brokenBy says who took the lock away, "" if it was lost in another way.
func brokenBy(h *lock.Held) func(context.Context) string {
	return func(ctx context.Context) string {
		b, ok, err := h.Broken(ctx)
		if err != nil || !ok {
			return ""
		}
		return takeaway.Loss(b.By, b.Reason, b.At)
	}
}
