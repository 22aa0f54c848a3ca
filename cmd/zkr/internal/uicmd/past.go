package uicmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/historyargs"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
)

// showPast serves pages of the past until a signal ends it.
func (a *app) showPast(cmd *cobra.Command, d dashboard) error {
	switch {
	case d.actions:
		return exit.Usage("--actions changes the present, and --history shows the past: leave out one of them")
	case cmd.Flags().Changed("servers") && !a.FromEnvironment("servers"):
		return exit.Usage("--history reads files, and asks no --servers: leave out one of them")
	}
	origin, err := historyargs.Open("history", d.history)
	if err != nil {
		return err
	}
	names := origin.Names()
	past := ui.NewPast(history.NewArchive(origin, d.root), names)
	ctx, stop := signals.UntilSignal(cmd.Context(), signals.Listen())
	err = a.serve(ctx, d, site{ui.PastHandler(past, strings.Join(names, ", ")), "shows the past, and changes nothing", func(ctx context.Context) error {
		return historyargs.Advise("history", past.Run(ctx))
	}})
	if stop() != nil {
		err = nil // INT and TERM are its usual end
	}
	return err
}
