package zktest

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// inLoop runs f in a bubble with a loop, and ends the loop afterwards.
func inLoop(t *testing.T, news func() func(), f func(l *loop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		l := newLoop(&mu, news)
		var wg sync.WaitGroup
		// wg.Wait waits for the loop; closing done ends the loop.
		wg.Go(l.run)
		f(l)
		close(l.done)
		wg.Wait()
	})
}

func noNews() func() { return nil }

func TestLoopRunsInTheOrderOfDueTimesThenOfRegistration(t *testing.T) {
	inLoop(t, noNews, func(l *loop) {
		var got []string
		note := func(s string) func() { return func() { got = append(got, s) } }
		l.mu.Lock()
		l.After(2*time.Second, note("d"))
		l.After(time.Second, note("b"))
		l.After(0, note("a"))
		l.After(time.Second, func() {
			note("c")()
			l.After(0, note("c2"))
		})
		l.mu.Unlock()
		time.Sleep(3 * time.Second)
		l.mu.Lock()
		defer l.mu.Unlock()
		require.Equal(t, []string{"a", "b", "c", "c2", "d"}, got)
	})
}

func TestLoopIsExactInVirtualTime(t *testing.T) {
	inLoop(t, noNews, func(l *loop) {
		at := make(chan time.Duration, 1)
		l.mu.Lock()
		l.After(90*time.Minute, func() { at <- l.Now() }) // longer than one nap of the loop
		l.mu.Unlock()
		require.Equal(t, 90*time.Minute, <-at)
	})
}

func TestLoopTellsNewsBeforeTheNextStep(t *testing.T) {
	var pending []string
	var told []string
	news := func() func() {
		if len(pending) == 0 {
			return nil
		}
		todo := pending
		pending = nil
		return func() { told = append(told, todo...) }
	}
	inLoop(t, news, func(l *loop) {
		l.mu.Lock()
		l.After(0, func() { pending = append(pending, "x") })
		l.After(0, func() {
			if len(told) == 0 {
				t.Error("the next step came first")
			}
		})
		l.mu.Unlock()
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		require.Equal(t, []string{"x"}, told)
	})
}

func TestLoopLeavesWhatIsDueAfterItsEnd(t *testing.T) {
	ran := false
	inLoop(t, noNews, func(l *loop) {
		l.mu.Lock()
		l.After(time.Hour, func() { ran = true })
		l.mu.Unlock()
	})
	require.False(t, ran)
}

func TestLinkFitsWhatItNames(t *testing.T) {
	for _, c := range []struct {
		link Link
		fits bool
	}{
		{Link{}, true},
		{Link{Session: 7}, true},
		{Link{Session: 8}, false},
		{Link{Server: 2}, true},
		{Link{Server: 1}, false},
		{Link{Client: "a"}, true},
		{Link{Client: "b"}, false},
		{Link{Session: 7, Server: 2, Client: "a"}, true},
		{Link{Session: 7, Server: 1}, false},
	} {
		require.Equal(t, c.fits, c.link.fits(7, 2, "a"), "%+v", c.link)
	}
}
