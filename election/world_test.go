package election_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// dir is where most tests have their election.
const dir = "/election/a"

// World is a world with elections.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// elector is one on dir that calls itself id.
func elector(c *session.Client, id string) *election.Elector {
	return election.New(c, dir, &election.Options{ID: id})
}

// campaign campaigns, and must win within a virtual minute.
func (w *World) campaign(e *election.Elector) *election.Leadership {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	l, err := e.Campaign(ctx)
	require.NoError(w, err)
	return l
}

// resign resigns, and must succeed.
func (w *World) resign(l *election.Leadership) { w.Helper(); require.NoError(w, l.Resign(w.Ctx)) }

// stand stands, and must succeed within a virtual minute.
func (w *World) stand(e *election.Elector) *election.Candidacy {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	k, err := e.Stand(ctx)
	require.NoError(w, err)
	return k
}

// won is the outcome of a Campaign or Await that runs concurrently with the test.
type won struct {
	lead *election.Leadership
	err  error
	at   time.Time
}

// startWin starts a Campaign or Await and returns once it waits, or has ended.
func (w *World) startWin(ctx context.Context, win func(context.Context) (*election.Leadership, error)) <-chan won {
	out := make(chan won, 1)
	// The bubble waits for it; it ends with ctx at the latest.
	go func() {
		l, err := win(ctx)
		out <- won{l, err, time.Now()}
	}()
	w.Settle()
	return out
}

// pending wants the one of out to be waiting still.
func (w *World) pending(out <-chan won) {
	w.Helper()
	select {
	case g := <-out:
		w.Fatalf("it returned (%v) when it should wait", g.err)
	default:
	}
}

// leads wants the one of out to lead, within a virtual minute.
func (w *World) leads(out <-chan won) *election.Leadership {
	w.Helper()
	select {
	case g := <-out:
		require.NoError(w, g.err)
		return g.lead
	case <-time.After(time.Minute):
		w.Fatal("there is no leader")
		return nil
	}
}

// leaderID is the ID of the leader; "" without one.
func (w *World) leaderID(e *election.Elector) string {
	w.Helper()
	c, err := e.Leader(w.Ctx)
	if errors.Is(err, election.ErrNoLeader) {
		return ""
	}
	require.NoError(w, err)
	return c.ID
}

func isLoss(err error) bool { return errors.Is(err, session.ErrLost) }
