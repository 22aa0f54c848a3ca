package barrier_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// givenUp lets a party arrive through a server cut off from the others, so the
// party loses its session. In its next session, at another server, the party
// looks for its znode. Then the first server gets the creation through, because
// the other servers have not ended the session yet.
func givenUp(w *World, op string, arrive func(*session.Client, context.Context) <-chan error, others func(*session.Client)) {
	require.NoError(w, w.Server.WaitLeader(w.Ctx))
	leader := w.Server.Leader()
	behind, third := 1+leader%3, 1+(leader+1)%3
	reach := func(ok bool) {
		for _, i := range []int{leader, third} {
			link := zktest.Link{Client: "c1", Server: i}
			if w.Server.HealLink(link); !ok {
				w.Server.BlackHole(link, zktest.Both)
			}
		}
	}
	reach(false)
	c, events := w.ClientObserved(world.IsUnknown) // at the only server it can reach
	other := w.ClientAt(w.Server.ServerAddr(leader), session.Options{})
	s := w.Session(c)
	node, err := s.Create(w.Ctx, "/held", nil, session.Ephemeral, nil)
	require.NoError(w, err)
	_, err = s.Hold(w.Ctx, node.Path, nil) // only a client with a hold gives a session up
	require.NoError(w, err)
	others(other) // makes the path

	w.Server.IsolateServer(behind)
	out := arrive(c, w.Ctx)
	<-s.Context().Done()
	require.ErrorIs(w, s.Err(), session.ErrTrustRanOut)
	reach(true)
	w.Session(c)
	w.Settle()
	w.Server.HealPeers()
	select {
	case err = <-out:
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorIs(w, err, session.ErrTrustRanOut)
		w.ToldUnknown(events, "barrier", dir, op, err)
	case <-time.After(time.Minute):
		w.Fatalf("it waits for parties that may have gone on without it: %v", w.Children(dir))
	}
	w.Pass(time.Minute)
	w.clean()
}

func TestArrivalInASessionThatIsGivenUpIsInDoubt(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		givenUp(w, "await", func(c *session.Client, ctx context.Context) <-chan error {
			out := make(chan error, 1)
			// Waited for by givenUp; ends with ctx at the latest.
			go func() {
				_, err := barrier.New(c, dir, 2, nil).Await(ctx)
				out <- err
			}()
			w.Settle()
			return out
		}, func(other *session.Client) {
			_, err := barrier.New(other, dir, 2, nil).Await(w.Within(time.Second))
			require.ErrorIs(w, err, context.DeadlineExceeded)
		})
	})
}

func TestEntryInASessionThatIsGivenUpIsInDoubt(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		givenUp(w, "enter", func(c *session.Client, ctx context.Context) <-chan error {
			out := make(chan error, 1)
			// Waited for by givenUp; ends with ctx at the latest.
			go func() {
				_, err := barrier.NewDouble(c, dir, 2, nil).Enter(ctx)
				out <- err
			}()
			w.Settle()
			return out
		}, func(other *session.Client) {
			_, err := barrier.NewDouble(other, dir, 2, nil).Enter(w.Within(time.Second))
			require.ErrorIs(w, err, context.DeadlineExceeded)
		})
	})
}

// The caller gives up before the next session begins: no session has looked for
// the znode that the abandoned session may have created.
func TestArrivalInASessionThatIsGivenUpIsInDoubtAlsoWhenTheCallerLeaves(t *testing.T) {
	for name, arrive := range map[string]func(context.Context, *session.Client) error{
		"Await": func(ctx context.Context, c *session.Client) error {
			_, err := barrier.New(c, dir, 2, nil).Await(ctx)
			return err
		},
		"Enter": func(ctx context.Context, c *session.Client) error {
			_, err := barrier.NewDouble(c, dir, 2, nil).Enter(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c := w.Client()
				require.ErrorIs(w, arrive(w.Within(time.Second), c), context.DeadlineExceeded) // makes the path
				s := w.Session(c)
				node, err := s.Create(w.Ctx, "/held", nil, session.Ephemeral, nil)
				require.NoError(w, err)
				_, err = s.Hold(w.Ctx, node.Path, nil)
				require.NoError(w, err)
				w.Server.OnRequest(func(r zktest.Request) zktest.Action {
					if world.Creates(r.Op) {
						w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
					}
					return zktest.Action{}
				})
				err = arrive(w.Within(30*time.Second), c)
				require.ErrorIs(w, s.Err(), session.ErrTrustRanOut)
				require.ErrorIs(w, err, context.DeadlineExceeded)
				require.ErrorIs(w, err, session.ErrUnknownOutcome)
			})
		})
	}
}
