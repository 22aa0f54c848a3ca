package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// changes counts how often the gate was closed and opened.
type changes struct{ closed, opened int }

func (c *changes) watch(srv *zktest.Server) {
	srv.OnApply(func(tx zktest.Txn) {
		if tx.Code != 0 || len(tx.Paths) != 1 || tx.Paths[0] != dir {
			return
		}
		switch tx.Op {
		case "create", "create2":
			c.closed++
		case "delete":
			c.opened++
		}
	})
}

// gateTrial tries op on a closed or open gate; another client checks that the
// change was made, and only once.
func gateTrial(t *testing.T, name string, closed bool, op func(context.Context, *barrier.Gate) error, want bool, counted func(changes) int) {
	var seen *changes
	world.Trial{
		Name: name,
		Setup: func(e *matrix.Env, p *world.Party) error {
			seen = &changes{}
			g := barrier.NewGate(p.Other, dir, nil)
			if err := g.Set(context.Background()); err != nil {
				return err
			}
			if !closed {
				if err := g.Remove(context.Background()); err != nil {
					return err
				}
			}
			seen.watch(e.Server)
			return nil
		},
		Op: func(ctx context.Context, p *world.Party) error {
			err := op(ctx, barrier.NewGate(p.Tested, dir, nil))
			now, e := barrier.NewGate(p.Other, dir, nil).Closed(context.Background())
			if e != nil {
				return e
			}
			if err == nil && now != want {
				return fmt.Errorf("it is done, and closed is %v", now)
			}
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			if n := counted(*seen); n > 1 {
				return fmt.Errorf("done %d times", n)
			}
			g := barrier.NewGate(p.Other, dir, nil)
			return errors.Join(g.Set(ctx), g.Remove(ctx), g.Wait(ctx))
		},
	}.Run(t)
}

func TestSetUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"Set": false, "Set of a closed one": true} {
		gateTrial(t, name, closed, func(ctx context.Context, g *barrier.Gate) error { return g.Set(ctx) }, true,
			func(c changes) int { return c.closed })
	}
}

func TestRemoveUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"Remove": true, "Remove of an open one": false} {
		gateTrial(t, name, closed, func(ctx context.Context, g *barrier.Gate) error { return g.Remove(ctx) }, false,
			func(c changes) int { return c.opened })
	}
}

// The gate opens during the wait (CH38), after unrelated writes.
func TestWaitUnderEveryFault_CH38(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Wait",
		Setup: func(_ *matrix.Env, p *world.Party) error {
			return barrier.NewGate(p.Other, dir, nil).Set(context.Background())
		},
		Op: func(ctx context.Context, p *world.Party) error {
			opened := make(chan error, 1)
			var at time.Time
			// Waited for below; ends with the opening.
			go func() {
				s, err := p.Other.Session(context.Background())
				for range 3 {
					world.Pause(time.Second)
					if err == nil {
						_, err = s.Set(context.Background(), dir, []byte("noise"), -1)
					}
				}
				at = time.Now()
				opened <- errors.Join(err, barrier.NewGate(p.Other, dir, nil).Remove(context.Background()))
			}()
			err := barrier.NewGate(p.Tested, dir, nil).Wait(ctx)
			passed := time.Now()
			if e := <-opened; e != nil {
				return e
			}
			if err == nil && passed.Before(at) {
				return errAlone
			}
			return err
		},
	}.Run(t)
}

// P10, P12, PD10: writes to the gate and around it neither open nor block it.
func TestUnrelatedWritesNeitherOpenNorBlockAGate_P10_P12_PD10(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := barrier.NewGate(w.Client(), dir, nil)
		require.NoError(w, g.Set(w.Ctx))
		out := make(chan error, 1)
		// Waited for below; ends when the gate opens.
		go func() { out <- barrier.NewGate(w.Client(), dir, nil).Wait(w.Ctx) }()
		for i := range 20 {
			require.NoError(w, w.Server.Set(dir, fmt.Append(nil, i)))
			require.NoError(w, w.Server.Create(fmt.Sprintf("%s-%d", dir, i), nil))
			require.NoError(w, w.Server.Create(fmt.Sprintf("%s/%d", dir, i), nil))
			if i%5 == 0 {
				w.Server.CutAll()
			}
			w.Settle()
			pending(w, out)
		}
		require.ErrorIs(w, g.Remove(w.Ctx), session.ErrNotEmpty)
		for i := range 20 {
			require.NoError(w, w.Server.Delete(fmt.Sprintf("%s/%d", dir, i)))
		}
		require.NoError(w, g.Remove(w.Ctx))
		require.NoError(w, <-out)
	})
}

// A gate closed before the call of Wait holds the caller back, even through a
// server that has not seen the closing yet.
func TestWaitSeesWhatIsCommittedBeforeItWasCalled(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		w.Pass(time.Second) // for a leader
		behind := 1 + w.Server.Leader()%3
		a := w.ClientAt(w.Server.ServerAddr(w.Server.Leader()), session.Options{})
		b := w.ClientAt(w.Server.ServerAddr(behind), session.Options{})
		g := barrier.NewGate(a, dir, nil)
		require.NoError(w, g.Set(w.Ctx))
		require.NoError(w, g.Remove(w.Ctx))
		w.Settle()
		require.NoError(w, w.Server.Lag(behind, true))
		require.NoError(w, g.Set(w.Ctx))
		short, cancel := context.WithTimeout(w.Ctx, 5*time.Second)
		defer cancel()
		require.ErrorIs(w, barrier.NewGate(b, dir, nil).Wait(short), context.DeadlineExceeded, "the server does not know of the closing yet")
		require.NoError(w, w.Server.Lag(behind, false))
		closed, err := barrier.NewGate(b, dir, nil).Closed(w.Ctx)
		require.NoError(w, err)
		require.True(w, closed)
	})
}

// A Set with a lost answer must not close the gate again, if another client
// opens the gate before Set can look.
func TestLostAnswerOfSetIsNotRepeatedOverAnotherOnesRemove(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), barrier.NewGate(w.Client(), dir, nil)
		require.NoError(w, b.Set(w.Ctx))
		require.NoError(w, b.Remove(w.Ctx))
		w.Server.FailNth(func(r zktest.Request) bool { return world.Creates(r.Op) }, 1, zktest.Action{Do: zktest.DropReplyHole})
		out := make(chan error, 1)
		// Waited for below; ends when Set has found out the outcome.
		go func() { out <- barrier.NewGate(a, dir, nil).Set(w.Ctx) }()
		w.Settle()
		require.NoError(w, b.Remove(w.Ctx))
		require.ErrorIs(w, <-out, session.ErrUnknownOutcome)
		closed, err := b.Closed(w.Ctx)
		require.NoError(w, err)
		require.False(w, closed)
	})
}

// A Remove whose request is lost must open the gate as it was at the call. If the gate
// was opened and closed again since, Remove must leave it closed.
func TestRemoveOfAnotherGateIsNotRepeated(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), barrier.NewGate(w.Client(), dir, nil)
		require.NoError(w, b.Set(w.Ctx))
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "delete" }, 1, zktest.Action{Do: zktest.DropReplyHole})
		out := make(chan error, 1)
		// Waited for below; ends when Remove has found out that the gate was
		// open.
		go func() { out <- barrier.NewGate(a, dir, nil).Remove(w.Ctx) }()
		w.Settle()
		require.NoError(w, b.Set(w.Ctx), "closed again, by another")
		require.NoError(w, <-out)
		closed, err := b.Closed(w.Ctx)
		require.NoError(w, err)
		require.True(w, closed)
	})
}

// A lagging server shows no closed gate, or an earlier gate. Remove must not
// conclude that the gate was opened, or that it was opened and closed again.
func TestRemoveThroughALaggingServerIsNotTakenForDone(t *testing.T) {
	world.Needs(t, world.Resumes)
	for name, before := range map[string]bool{"it shows none": false, "it shows an earlier one": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				w.Pass(time.Second) // for a leader
				behind := 1 + w.Server.Leader()%3
				mine := barrier.NewGate(w.ClientAt(w.Server.ServerAddr(behind), session.Options{}), dir, nil)
				other := barrier.NewGate(w.ClientAt(w.Server.ServerAddr(w.Server.Leader()), session.Options{}), dir, nil)
				require.NoError(w, other.Set(w.Ctx))
				if !before {
					require.NoError(w, other.Remove(w.Ctx))
				}
				w.Settle()
				require.NoError(w, w.Server.Lag(behind, true))
				if before {
					require.NoError(w, other.Remove(w.Ctx))
				}
				require.NoError(w, other.Set(w.Ctx))
				opened := false
				w.Server.OnApply(func(tx zktest.Txn) {
					opened = opened || tx.Code == 0 && tx.Op == "delete" && slices.Contains(tx.Paths, dir)
				})
				w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "delete" }, 1, zktest.Action{Do: zktest.CutBefore})
				out := make(chan error, 1)
				// Waited for below; ends with the context.
				go func() { out <- mine.Remove(w.Within(time.Minute)) }()
				w.Settle()
				require.NoError(w, w.Server.Lag(behind, false))
				err := <-out
				require.True(w, opened || err != nil, "success means that the gate was open, but it never was")
				require.NoError(w, err)
			})
		})
	}
}

// A client that may close a gate finds out whether the gate is closed, even
// without permission to read its parents.
func TestLostAnswerOfSetIsFoundOutBelowWhatMayNotBeRead(t *testing.T) {
	world.Needs(t, world.Resumes)
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			c, events := w.ClientObserved(world.IsUnknown)
			acl := session.WorldACL(zk.PermCreate | zk.PermDelete)
			_, err := w.Session(c).Create(w.Ctx, "/barriers", nil, session.Persistent, &session.CreateOptions{ACL: acl})
			require.NoError(w, err)
			w.Server.FailNth(func(r zktest.Request) bool { return world.Creates(r.Op) }, 1, zktest.Action{Do: zktest.DropReplyCut})
			require.NoError(w, barrier.NewGate(c, dir, nil).Set(w.Within(time.Minute)))
			w.ToldUnknown(events, "barrier", dir, "set", nil)
		})
	}
}

// A creation not carried out cannot be distinguished from a gate opened again,
// if the server hides the parent path.
func TestLostSetBelowWhatMayNotBeSeenIsUnknown(t *testing.T) {
	inWorld(t, &zktest.Options{StatNeedsRead: true}, func(w *World) {
		c, events := w.ClientObserved(world.IsUnknown)
		acl := session.WorldACL(zk.PermCreate | zk.PermDelete)
		_, err := w.Session(c).Create(w.Ctx, "/barriers", nil, session.Persistent, &session.CreateOptions{ACL: acl})
		require.NoError(w, err)
		w.Server.FailNth(func(r zktest.Request) bool { return world.Creates(r.Op) }, 1, zktest.Action{Do: zktest.DropRequest})
		err = barrier.NewGate(c, dir, nil).Set(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		w.ToldUnknown(events, "barrier", dir, "set", err)
	})
}

// deposed is a gate at a leader that has lost its followers, which answers
// every sync, and reads for a while, although another leader leads by now and
// the gate has been closed.
func (w *World) deposed() *barrier.Gate {
	w.Helper()
	require.NoError(w, w.Server.WaitLeader(w.Ctx))
	alone := w.Server.Leader()
	mine := barrier.NewGate(w.ClientAt(w.Server.ServerAddr(alone), session.Options{}), dir, nil)
	other := barrier.NewGate(w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{}), dir, nil)
	require.NoError(w, other.Set(w.Ctx))
	require.NoError(w, other.Remove(w.Ctx))
	w.Settle()
	w.Server.IsolateServer(alone)
	err := other.Set(w.Ctx)
	if errors.Is(err, session.ErrUnknownOutcome) && !world.Has(world.ResumesInElections) {
		err = other.Set(w.Ctx) // in the next session
	}
	require.NoError(w, err)
	require.NotEqual(w, alone, w.Server.Leader())
	return mine
}

func TestGateDoesNotTrustALeaderWithoutFollowers(t *testing.T) {
	for name, check := range map[string]func(w *World, g *barrier.Gate){
		"Wait": func(w *World, g *barrier.Gate) {
			require.ErrorIs(w, g.Wait(w.Within(time.Minute)), context.DeadlineExceeded)
		},
		"Closed": func(w *World, g *barrier.Gate) {
			closed, err := g.Closed(w.Within(time.Minute))
			require.NoError(w, err)
			require.True(w, closed)
		},
		"Remove": func(w *World, g *barrier.Gate) {
			opened := false
			w.Server.OnApply(func(tx zktest.Txn) {
				opened = opened || tx.Code == 0 && tx.Op == "delete" && slices.Contains(tx.Paths, dir)
			})
			require.NoError(w, g.Remove(w.Within(time.Minute)))
			require.True(w, opened, "success means that the gate was open, but it never was")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				g := w.deposed()
				time.AfterFunc(5*time.Second, w.Server.HealPeers)
				check(w, g)
			})
		})
	}
}

func TestDataAndACLAreThoseOfTheCallOfNew(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		data, acl := []byte("mine"), session.WorldACL(zk.PermAll)
		c := w.Client()
		g := barrier.NewGate(c, dir, &barrier.Options{Data: data, ACL: acl})
		copy(data, "none")
		acl[0].Perms = zk.PermRead
		require.NoError(w, g.Set(w.Ctx))
		n, err := w.Server.Get(dir)
		require.NoError(w, err)
		require.Equal(w, "mine", string(n.Data))
		got, _, err := w.Session(c).ACL(w.Ctx, dir)
		require.NoError(w, err)
		require.Equal(w, session.WorldACL(zk.PermAll), got)
	})
}
