package queuetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// scene is a world with a target.
type scene struct {
	*world.World
	Target
}

// in runs body in a bubble with a server; so may be nil.
func (tg Target) in(t *testing.T, so *zktest.Options, body func(s *scene)) {
	t.Helper()
	tg.Folder = tg.folder()
	world.In(t, so, func(w *world.World) { body(&scene{w, tg}) })
}

// folder has the contenders' znodes.
func (tg Target) folder() string { return cmp.Or(tg.Folder, tg.Path) }

// contender is one of client c at the target's path.
func (tg Target) contender(c *session.Client) Contender { return tg.at(c, tg.Path) }

// at is a contender of which Rival is set.
func (tg Target) at(c *session.Client, path string) Contender {
	k := tg.New(c, path)
	if k.Rival == nil {
		k.Rival = k.Acquire
	}
	return k
}

// next is a contender of a client of its own.
func (s *scene) next() Contender { s.Helper(); return s.contender(s.Client()) }

// acquiring are the calls of k that acquire.
func (k Contender) acquiring() map[string]Acquire {
	all := map[string]Acquire{"Acquire": k.Acquire, "Rival": k.Rival}
	if k.Try != nil {
		all["Try"] = k.Try
	}
	return all
}

// entering are all calls of k that create a contender's znode.
func (k Contender) entering() map[string]func(context.Context) error {
	all := maps.Clone(k.Enters)
	if all == nil {
		all = map[string]func(context.Context) error{}
	}
	for name, acquire := range k.acquiring() {
		all[name] = Failing(acquire)
	}
	if k.Enqueue != nil {
		all["Enqueue"] = Failing(k.Enqueue)
	}
	return all
}

// calling are all calls of k.
func (k Contender) calling() map[string]func(context.Context) error {
	all := k.entering()
	all["Count"] = Failing(k.Count)
	maps.Copy(all, k.Reads)
	if k.Do != nil {
		all["Do"] = func(ctx context.Context) error {
			return k.Do(ctx, func(context.Context, Held) error { return nil })
		}
	}
	return all
}

// order is two calls that exclude each other: the former acquires first.
type order struct{ former, latter func(Contender) Acquire }

// orders are both orders of Acquire and Rival; one, if these are the same.
func (tg Target) orders() map[string]order {
	acquire := func(k Contender) Acquire { return k.Acquire }
	rival := func(k Contender) Acquire { return k.Rival }
	out := map[string]order{"first": {acquire, rival}}
	if tg.New(nil, tg.Path).Rival != nil {
		out["after a rival"] = order{rival, acquire}
	}
	return out
}

// get acquires, and must succeed within a virtual minute.
func (s *scene) get(f Acquire) Held {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, time.Minute)
	defer cancel()
	h, err := f(ctx)
	require.NoError(s, err)
	require.NoError(s, h.Context().Err())
	return h
}

// release gives h back, and must succeed.
func (s *scene) release(h Held) { s.Helper(); require.NoError(s, h.Release(s.Ctx)) }

// won is the outcome of a call that runs concurrently with the test.
type won struct {
	held Held
	err  error
	at   time.Time
}

// startAcquire starts f and returns once it waits, or has ended.
func (s *scene) startAcquire(ctx context.Context, f Acquire) <-chan won {
	out := make(chan won, 1)
	// The bubble waits for it; it ends with ctx at the latest.
	go func() {
		h, err := f(ctx)
		out <- won{h, err, time.Now()}
	}()
	s.Settle()
	return out
}

// pending requires the calls of outs to wait.
func (s *scene) pending(outs ...<-chan won) {
	s.Helper()
	for i, out := range outs {
		select {
		case g := <-out:
			s.Fatalf("call %d returned (%v) when it should wait", i, g.err)
		default:
		}
	}
}

// outcome is that of the call of out, within a virtual minute.
func (s *scene) outcome(out <-chan won) won {
	s.Helper()
	select {
	case g := <-out:
		return g
	case <-time.After(time.Minute):
		s.Fatal("it waits when it should have returned")
		return won{}
	}
}

// granted requires the call of out to succeed within a virtual minute, and its hold to
// last.
func (s *scene) granted(out <-chan won) Held {
	s.Helper()
	g := s.outcome(out)
	require.NoError(s, g.err)
	s.Settle()
	require.NoError(s, g.held.Context().Err())
	return g.held
}

// oneGranted is granted for the first call to return; rest are the others.
func (s *scene) oneGranted(outs []<-chan won) (h Held, rest []<-chan won) {
	s.Helper()
	for range 60 {
		s.Pass(time.Second)
		for i, out := range outs {
			if len(out) > 0 {
				return s.granted(out), slices.Concat(outs[:i], outs[i+1:])
			}
		}
	}
	s.Fatalf("all wait when one should have been granted; znodes %v, watches %v", s.Server.Dump(), s.Server.Watches())
	return nil, nil
}

// awaitEnd waits for the end of h, a virtual minute at most.
func (s *scene) awaitEnd(h Held) {
	s.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(time.Minute):
		s.Fatal("it is held when it should have been lost")
	}
}

// contenders are the names of the znodes in the queue.
func (s *scene) contenders() []string { s.Helper(); return s.Children(s.Folder) }

// empty requires the queue to have no znode once all has settled.
func (s *scene) empty() { s.Helper(); s.Settle(); require.Empty(s, s.contenders()) }

// refused requires the guard of a former hold to fail a transaction of each client.
func (s *scene) refused(guard session.Op, clients ...*session.Client) {
	s.Helper()
	for _, c := range clients {
		_, err := s.Session(c).Txn(s.Ctx, guard, session.SetOp("/", nil, -1))
		require.ErrorIs(s, err, session.ErrNoNode)
	}
}
