package lockcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// revoke is "zkr lock revoke".
func (a *app) revoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke PATH",
		Short: "Ask the holder of the lock PATH to give the lock back",
		Long: "Asks the holder of the mutex PATH to give the lock back, as Curator's Revoker does, and\n" +
			"shows the holder. Nothing is taken away: a holder that does not listen to such requests\n" +
			"keeps the lock. \"zkr lock --revocable\" ends its command with TERM; in Go a holder\n" +
			"listens with Held.AwaitRevocation, in Java with makeRevocable. The request replaces the\n" +
			"id that the lists show for the holder.",
		Example: "  zkr lock revoke /locks/backup",
		Args:    cli.OnPath("lock"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			var asked lock.Contender
			if err := a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				m := lock.New(client, args[0], nil)
				all, err := m.Contenders(ctx)
				if err != nil {
					return err
				}
				if len(all) == 0 {
					return &exit.Failure{Code: exit.CodeFailed, Err: fmt.Errorf("the lock %s has no holder", args[0])}
				}
				asked = all[0]
				err = m.Revoke(ctx, asked)
				if errors.Is(err, lock.ErrNotHeld) {
					return &exit.Failure{Code: exit.CodeFailed, Err: err, Hint: "the holder has gone meanwhile, and another client may hold now"}
				}
				return err
			}); err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(struct {
					Path    string `json:"path"`
					ID      string `json:"id"`
					Session string `json:"session"`
					Znode   string `json:"znode"`
				}{args[0], cli.AsText(asked.Data), cli.SessionID(asked.Session), asked.Path})
			}
			return a.Printf("asked %s (session %s)\n", cli.Readable(asked.Data), cli.OrElse(cli.SessionID(asked.Session), "none"))
		}),
	}
}
