package electcmd

import (
	"time"

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

// readDeposition is for takeaway.By.
func readDeposition(d election.Deposition) (by, reason string, at time.Time) {
	return d.By, d.Reason, d.At
}
