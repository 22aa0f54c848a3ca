package electcmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// depose is "zkr elect depose".
func (a *app) depose() *cobra.Command {
	return takeaway.Command{
		Family: "elect", Name: "election", Verb: "depose", Short: "Take the leadership of the election PATH away from its leader",
		Long: "Takes the leadership of the election PATH away from a leader that does not work any more,\n" +
			"and whose session lives on. A deposed candidate may campaign again, as \"zkr elect\n" +
			"--again\" does.\n",
		Open: func(client *session.Client, path string) takeaway.Hold {
			return &leadership{e: election.New(client, path, nil)}
		},
	}.New(a.App)
}

// leadership is an election for package takeaway.
type leadership struct {
	e      *election.Elector
	leader election.Candidate
}

func (l *leadership) Find(ctx context.Context) (*takeaway.Holder, error) {
	all, err := l.e.Candidates(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	l.leader = all[0]
	return &takeaway.Holder{ID: l.leader.Data, Session: l.leader.Session, Token: l.leader.Token, Since: l.leader.Since, Waiting: len(all) - 1}, nil
}

func (l *leadership) Take(ctx context.Context, by, reason string) (gone, err error) {
	err = l.e.Depose(ctx, l.leader, by, reason)
	if (errors.Is(err, election.ErrNoLeader) || errors.Is(err, election.ErrInvalidArgument)) && !errors.Is(err, session.ErrUnknownOutcome) {
		return err, nil
	}
	return nil, err
}

func (l *leadership) Records(ctx context.Context) ([]takeaway.Record, error) {
	all, err := l.e.Depositions(ctx)
	out := make([]takeaway.Record, len(all))
	for i, d := range all {
		out[i] = takeaway.Record{At: d.At, By: d.By, Reason: d.Reason, Holder: d.Leader, Session: cli.SessionID(d.Session), Token: d.Token}
	}
	return out, err
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
