package rwlockcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Asked is a holder that was asked to give the lock back, in JSON.
type Asked struct {
	Mode    string `json:"mode"` // read or write
	ID      string `json:"id"`
	Session string `json:"session"` // hexadecimal; "" for a foreign znode without a session
	Path    string `json:"path"`    // of the holder's znode
}

// revoke is "zkr rwlock revoke".
func (a *app) revoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke PATH",
		Short: "Ask the readers or the writer that hold the lock PATH to give it back",
		Long: "Asks each holder of the lock PATH to give the lock back, as Curator's Revoker does, and\n" +
			"shows the holders. Nothing is taken away: a holder that does not listen to such\n" +
			"requests keeps the lock. \"--revocable\" of zkr rwlock read and write ends the command\n" +
			"with TERM; in Go a holder listens with Held.AwaitRevocation, in Java with makeRevocable.\n" +
			"The request replaces the id that the lists show for the holder.",
		Example: "  zkr rwlock revoke /locks/db",
		Args:    cli.OnPath("lock"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			asked := []Asked{}
			if err := a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return askHolders(ctx, rwlock.New(client, args[0], nil), args[0], func(c rwlock.Contender) {
					asked = append(asked, Asked{modeOf(c), cli.AsText(c.Data), cli.SessionID(c.Session), args[0] + "/" + c.Name})
				})
			}); err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(struct {
					Path  string  `json:"path"`
					Asked []Asked `json:"asked"`
				}{args[0], asked})
			}
			for _, h := range asked {
				if err := a.Printf("asked %s (%s, session %s)\n", cli.Readable([]byte(h.ID)), h.Mode, cli.OrElse(h.Session, "none")); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

// askHolders asks all holders of m, and tells of each that was asked. Without any it fails.
func askHolders(ctx context.Context, m *rwlock.RWMutex, path string, tell func(rwlock.Contender)) error {
	all, err := m.Contenders(ctx)
	if err != nil {
		return err
	}
	asked := 0
	for _, c := range all {
		if !c.Holds {
			break
		}
		switch err := m.Revoke(ctx, c); {
		case errors.Is(err, rwlock.ErrNotHeld): // it has gone meanwhile
		case err != nil:
			return err
		default:
			asked++
			tell(c)
		}
	}
	switch {
	case asked > 0:
		return nil
	case len(all) == 0:
		return &exit.Failure{Code: exit.CodeFailed, Err: fmt.Errorf("the lock %s has no holder", path)}
	}
	return &exit.Failure{
		Code: exit.CodeFailed, Err: fmt.Errorf("%w: the holders of %s have gone", rwlock.ErrNotHeld, path),
		Hint: "other clients may hold now",
	}
}

// modeOf is read or write.
func modeOf(c rwlock.Contender) string {
	if c.Exclusive {
		return "write"
	}
	return "read"
}
