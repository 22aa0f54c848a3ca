package fence_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
)

func nothing(context.Context) error { return nil }

func TestMemoryRefusesALowerTokenOfTheSameResourceOnly(t *testing.T) {
	var m fence.Memory
	require.NoError(t, m.Do(t.Context(), "/a", at(5), nothing))
	require.NoError(t, m.Do(t.Context(), "/a", at(5), nothing))
	called := false
	err := m.Do(t.Context(), "/a", at(4), func(context.Context) error { called = true; return nil })
	var stale *fence.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, at(5), stale.Highest)
	require.False(t, called)
	require.NoError(t, m.Do(t.Context(), "/b", at(4), nothing))
}

// A failed write may have had effects: an older write must not follow.
func TestMemoryRemembersTheTokenOfAWriteThatFails(t *testing.T) {
	var m fence.Memory
	errDisk := errors.New("disk full")
	require.ErrorIs(t, m.Do(t.Context(), "/a", at(5), func(context.Context) error { return errDisk }), errDisk)
	require.ErrorIs(t, m.Do(t.Context(), "/a", at(4), nothing), fence.ErrStale)
	require.PanicsWithValue(t, "broken", func() {
		_ = m.Do(t.Context(), "/a", at(6), func(context.Context) error { panic("broken") })
	})
	require.ErrorIs(t, m.Do(t.Context(), "/a", at(5), nothing), fence.ErrStale)
	require.NoError(t, m.Do(t.Context(), "/a", at(6), nothing))
}

// An older write that has passed its check ends before a newer one begins: it cannot
// take effect behind the newer one.
func TestMemoryLetsNoWriteOvertakeACheckedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m fence.Memory
		var order []string
		checked, goOn := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		// Waited for below; ends with its write.
		wg.Go(func() {
			_ = m.Do(t.Context(), "/a", at(1), func(context.Context) error {
				close(checked)
				<-goOn
				order = append(order, "old")
				return nil
			})
		})
		<-checked
		// Waited for below; ends with its write.
		wg.Go(func() {
			_ = m.Do(t.Context(), "/a", at(2), func(context.Context) error { order = append(order, "new"); return nil })
		})
		synctest.Wait()
		require.Empty(t, order)
		require.NoError(t, m.Do(t.Context(), "/other", at(1), nothing), "other resources do not wait")
		close(goOn)
		wg.Wait()
		require.Equal(t, []string{"old", "new"}, order)
		require.ErrorIs(t, m.Do(t.Context(), "/a", at(1), nothing), fence.ErrStale)
	})
}

func TestMemoryWaitsForOtherWritesUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m fence.Memory
		begun, goOn := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		// Waited for below; ends with its write.
		wg.Go(func() {
			_ = m.Do(t.Context(), "/a", at(1), func(context.Context) error { close(begun); <-goOn; return nil })
		})
		<-begun
		errGone := errors.New("the client is gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		// Waited for below; ends with ctx.
		go func() { ended <- m.Do(ctx, "/a", at(2), nothing) }()
		synctest.Wait()
		cancel(errGone)
		err := <-ended
		require.ErrorIs(t, err, errGone)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "fence: wait for another write of /a")
		require.ErrorIs(t, m.Do(ctx, "/b", at(1), nothing), errGone, "ctx is checked first")
		close(goOn)
		wg.Wait()
		require.NoError(t, m.Do(t.Context(), "/a", at(1), nothing), "the write that gave up has left no token")
	})
}

func TestMemoryRefusesInvalidArguments(t *testing.T) {
	var m fence.Memory
	require.ErrorIs(t, m.Do(t.Context(), "", at(1), nothing), fence.ErrInvalidArgument)
	require.ErrorIs(t, m.Do(t.Context(), "/a", fence.Token{}, nothing), fence.ErrInvalidArgument)
	require.ErrorIs(t, m.Do(t.Context(), "/a", at(1), nil), fence.ErrInvalidArgument)
}

// Writers with random tokens: the accepted tokens never go down, and a write sees no
// other write of its resource.
func TestMemoryUnderStress(t *testing.T) {
	var m fence.Memory
	accepted := map[string][]fence.Token{"/a": nil, "/b": nil}
	running := map[string]*int{"/a": new(int), "/b": new(int)}
	var mapOf sync.Mutex // guards accepted, whose values belong to the write of their key
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		// Waited for below; ends after its writes.
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for n := range int64(500) {
				name := []string{"/a", "/b"}[r.IntN(2)]
				token := fence.Token{Epoch: 1 + n/200, Number: 1 + r.Int64N(n+1)}
				err := m.Do(t.Context(), name, token, func(context.Context) error {
					*running[name]++
					defer func() { *running[name]-- }()
					if *running[name] != 1 {
						return errors.New("two writes at the same time")
					}
					mapOf.Lock()
					defer mapOf.Unlock()
					accepted[name] = append(accepted[name], token)
					return nil
				})
				if err != nil && !errors.Is(err, fence.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for name, tokens := range accepted {
		require.NotEmpty(t, tokens)
		for i := range tokens[1:] {
			require.LessOrEqual(t, tokens[i].Compare(tokens[i+1]), 0, name)
		}
	}
}
