package rwlockcmd

import (
	"context"

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

// brokenBy says who took the lock away, "" if it was lost in another way.
func brokenBy(h *rwlock.Held) func(context.Context) string {
	return func(ctx context.Context) string {
		b, ok, err := h.Broken(ctx)
		if err != nil || !ok {
			return ""
		}
		return takeaway.Loss(b.By, b.Reason, b.At)
	}
}
