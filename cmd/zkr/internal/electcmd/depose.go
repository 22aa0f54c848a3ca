package electcmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/holds"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/election"
)

// depose is "zkr elect depose".
func (a *app) depose() *cobra.Command {
	return takeaway.Command{
		Family: "elect", Name: "election", Verb: "depose", Short: "Take the leadership of the election PATH away from its leader",
		Long: "Takes the leadership of the election PATH away from a leader that does not work any more,\n" +
			"and whose session lives on. A deposed candidate may campaign again, as \"zkr elect\n" +
			"--again\" does.\n",
		Open: holds.Leadership,
	}.New(a.App)
}

// deposedBy says who took the leadership away, "" if it was lost in another way.
func deposedBy(l *election.Leadership) func(context.Context) string {
	return func(ctx context.Context) string {
		d, ok, err := l.Deposed(ctx)
		if err != nil || !ok {
			return ""
		}
		return takeaway.Loss(d.By, d.Reason, d.At)
	}
}
