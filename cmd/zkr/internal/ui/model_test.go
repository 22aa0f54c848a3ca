package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestRootThatIsNotThereMayCome, and go again.
func TestRootThatIsNotThereMayCome(t *testing.T) {
	s := newStage(t)
	m, url := s.dashboard("/later")
	require.False(t, m.View().Exists)
	_, text, _ := get(t, url+"/")
	has(t, text, "There is nothing at", "overview")
	s.put("/later/counter", "5")
	s.shows(m, func(v *ui.View) bool { return v.Exists && len(v.Things) == 1 })
	require.NoError(t, s.srv.Delete("/later/counter"))
	require.NoError(t, s.srv.Delete("/later"))
	s.shows(m, func(v *ui.View) bool { return !v.Exists && v.Nodes == 0 })
}

// TestRootThatMayNotBeReadEndsTheModel with the reason.
func TestRootThatMayNotBeReadEndsTheModel(t *testing.T) {
	s := newStage(t)
	s.put("/shop", "")
	s.secrets()
	require.ErrorIs(t, ui.NewModel(s.actor("web"), "/shop/secrets").Run(s.ctx), session.ErrNoAuth)
}

// TestManyChangesAreLookedAtTogether: a permanently changing tree is shown a
// few times a second, and its last state always.
func TestManyChangesAreLookedAtTogether(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.put("/counter", "0")
	m, _ := s.dashboard("/")
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	views, done := 0, make(chan struct{})
	// Waited for through done; ends with ctx.
	go func() {
		defer close(done)
		for version := int64(0); ; views++ {
			var err error
			if version, err = m.Hub.Wait(ctx, version); err != nil {
				return
			}
		}
	}()
	begin := time.Now()
	last := 0
	for ; time.Since(begin) < time.Second || last <= 100; last++ {
		require.NoError(t, s.srv.Set("/counter", fmt.Append(nil, last)))
	}
	s.shows(m, func(v *ui.View) bool { return v.Of("/counter").State == fmt.Sprint(last-1) })
	took := time.Since(begin)
	cancel()
	<-done
	assert.LessOrEqual(t, views, 4+int(took/(150*time.Millisecond)), "of %d changes in %v", last, took)
}

// TestLossOfTheSessionEndsNothing.
func TestLossOfTheSessionEndsNothing(t *testing.T) {
	s := newStage(t)
	s.put("/counter", "1")
	m, _ := s.dashboard("/")
	require.NoError(t, s.srv.ExpireSession(s.session("dashboard /").ID()))
	require.NoError(t, s.srv.Set("/counter", []byte("2")))
	s.shows(m, func(v *ui.View) bool {
		return v.Of("/counter") != nil && v.Of("/counter").State == "2" && !v.Health.Stale
	})
}

// TestModelEndsWithItsContext.
func TestModelEndsWithItsContext(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(s.ctx)
	over := make(chan error, 1)
	m := ui.NewModel(s.actor("web"), "/")
	// Waited for through over; ends with ctx.
	go func() { over <- m.Run(ctx) }()
	s.shows(m, func(v *ui.View) bool { return v.Health.Loaded })
	cancel()
	select {
	case err := <-over:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(limit):
		t.Fatal("it goes on")
	}
}

// TestTooManyPagesAreNotKeptUpToDate: they can be read all the same.
func TestTooManyPagesAreNotKeptUpToDate(t *testing.T) {
	s := newStage(t)
	_, url := s.dashboard("/")
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	open := func() int {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/live/locks", nil)
		require.NoError(t, err)
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer.StatusCode
	}
	for range 64 {
		require.Equal(t, http.StatusOK, open())
	}
	require.Equal(t, http.StatusServiceUnavailable, open())
	code, _, _ := get(t, url+"/locks")
	assert.Equal(t, http.StatusOK, code)
	cancel()
	ctx = s.ctx
	require.Eventually(t, func() bool { return open() == http.StatusOK }, limit, 10*time.Millisecond, "a reader that leaves makes room")
}
