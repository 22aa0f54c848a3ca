package locktable_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// answers are the answers of an acquirer so far.
type answers struct {
	*locktable.Acquirer
	stop context.CancelCauseFunc
	over chan error

	// mu guards the fields below.
	mu      sync.Mutex
	held    []*locktable.Held
	dropped []string
}

// startAcquirer runs an acquirer of o until the test calls stop.
func (w *World) startAcquirer(o *locktable.Owner) *answers {
	a := &answers{over: make(chan error, 1)}
	a.Acquirer = o.Acquirer(func(got []*locktable.Held) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.held = append(a.held, got...)
	}, func(names []string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.dropped = append(a.dropped, names...)
	})
	ctx, stop := context.WithCancelCause(w.Ctx)
	a.stop = stop
	// The receiver of over waits for Run; Run ends with stop, or with the owner.
	go func() { a.over <- a.Run(ctx) }()
	return a
}

// awaitAnswers returns, when all has settled, the held names and the dropped names.
func (w *World) awaitAnswers(a *answers) (held, dropped []string) {
	w.Helper()
	w.Settle()
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(slices.Values(namesOf(a.held))), slices.Sorted(slices.Values(a.dropped))
}

func TestAcquirerTakesEachLockAsSoonAsItIsFree(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, two := w.join(w.Client(), nil), w.join(w.Client(), nil)
		theirs := w.try(one, "a", "b", "c")
		a := w.startAcquirer(two)
		require.NoError(w, a.Want("a", "b", "c", "d"))
		held, _ := w.awaitAnswers(a)
		require.Equal(w, []string{"d"}, held)
		require.NoError(w, theirs[0].Unlock(w.Ctx))
		held, _ = w.awaitAnswers(a)
		require.Equal(w, []string{"a", "d"}, held)
		require.NoError(w, a.Drop("b"))
		w.Settle()
		require.NoError(w, a.Want("c", "e", "c")) // once more
		require.NoError(w, one.Unlock(w.Ctx, theirs[1], theirs[2]))
		held, dropped := w.awaitAnswers(a)
		require.Equal(w, []string{"a", "c", "d", "e"}, held)
		require.Equal(w, []string{"b"}, dropped)
		require.Len(w, w.try(one, "a", "b", "c"), 1)
		require.NoError(w, a.Want("b"))
		w.Settle()
		a.stop(nil)
		require.NoError(w, <-a.over)
		require.NoError(w, a.Drop("b"))
		_, dropped = w.awaitAnswers(a)
		require.Equal(w, []string{"b", "b"}, dropped, "the end of Run answers, too")
		require.ErrorIs(w, a.Run(w.Ctx), locktable.ErrInvalidArgument)
		over, cancel := context.WithCancel(w.Ctx)
		cancel()
		none := func([]string) {}
		require.ErrorIs(w, two.Acquirer(func([]*locktable.Held) {}, none).Run(over), context.Canceled, "nothing was begun")
		require.NoError(w, two.Unlock(w.Ctx, a.held...))
		require.NoError(w, one.Release(w.Ctx))
		require.NoError(w, two.Release(w.Ctx))
		w.Settle()
		w.RequireNoWatches()
	})
}

// An acquirer waits for a lock of its own owner, without a request, until another
// goroutine of the owner releases or loses the lock.
func TestAcquirerWaitsForItsOwnersOtherCalls(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one := w.join(w.Client(), nil)
		own := w.try(one, "a", "b", "c", "d")
		w.Settle()
		first, second := w.startAcquirer(one), w.startAcquirer(one)
		require.NoError(w, first.Want("a", "b", "c"))
		w.Settle()
		require.NoError(w, second.Want("a", "d"))
		held, _ := w.awaitAnswers(first)
		require.Empty(w, held)
		require.NoError(w, own[0].Unlock(w.Ctx))
		held, _ = w.awaitAnswers(first)
		both, _ := w.awaitAnswers(second)
		require.Equal(w, []string{"a"}, append(held, both...), "one of the two acquirers gets the lock")
		require.NoError(w, w.Server.Delete(dir+"/b"))
		require.NoError(w, first.Drop("c"))
		_, dropped := w.awaitAnswers(first)
		require.Equal(w, []string{"c"}, dropped)
		require.NoError(w, own[2].Unlock(w.Ctx))
		held, _ = w.awaitAnswers(first)
		require.Contains(w, held, "b", "its loss was noticed")
		require.NotContains(w, held, "c")
		require.NoError(w, one.Release(w.Ctx))
		require.ErrorIs(w, <-first.over, session.ErrReleased)
		require.ErrorIs(w, <-second.over, session.ErrReleased)
	})
}

// An owner that goes frees its locks; the znodes of these locks do not change.
func TestAcquirerTakesWhatAnOwnerLeavesBehind(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c1 := w.Client()
		one, two := w.join(c1, nil), w.join(w.Client(), nil)
		w.try(one, lockNames(700)...)
		a := w.startAcquirer(two)
		require.NoError(w, a.Want(lockNames(700)...))
		held, _ := w.awaitAnswers(a)
		require.Empty(w, held)
		w.Expire(c1)
		held, _ = w.awaitAnswers(a)
		require.Equal(w, lockNames(700), held)
		require.NoError(w, two.Release(w.Ctx))
		require.ErrorIs(w, <-a.over, session.ErrReleased)
		require.ErrorIs(w, one.Release(w.Ctx), session.ErrLost)
	})
}

// An acquirer whose request is refused says so, and still answers.
func TestAcquirerThatIsRefusedAnswers(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			c := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("a", "b")}})
			one := w.join(w.Client(), &locktable.Options{Owners: dir + ".open"})
			hidden := w.join(c, &locktable.Options{ACL: session.CreatorACL()})
			held := w.try(hidden, "a")
			require.Len(w, held, 1)
			a := w.startAcquirer(one)
			require.NoError(w, a.Want("a", "b"))
			held1, _ := w.awaitAnswers(a)
			require.Empty(w, held1, "the first lock is not readable")
			require.ErrorIs(w, <-a.over, session.ErrNoAuth)
			require.NoError(w, a.Drop("b"))
			_, dropped := w.awaitAnswers(a)
			require.Equal(w, []string{"b"}, dropped)
			require.NoError(w, one.Release(w.Ctx))
			require.NoError(w, hidden.Release(w.Ctx))
		})
	}
}
