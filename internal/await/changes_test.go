package await_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/await"
)

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestAnnounceWakesAllReadersOnce(t *testing.T) {
	var c await.Changes
	c.Announce() // no reader waits
	first, second := c.Next(), c.Next()
	require.False(t, isClosed(first), "a change before Next wakes no goroutine")
	c.Announce()
	require.True(t, isClosed(first))
	require.True(t, isClosed(second))
	third := c.Next()
	require.False(t, isClosed(third), "each change is announced once")
	c.Announce()
	require.True(t, isClosed(third))
}

// A reader that takes the channel together with the value sees the last value.
func TestReadersSeeTheLastValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const last = 1000
		var mu sync.Mutex
		var c await.Changes
		value := 0
		var readers sync.WaitGroup
		for range 5 {
			// Waited for below; ends with the last value.
			readers.Go(func() {
				for {
					mu.Lock()
					now, changed := value, c.Next()
					mu.Unlock()
					if now == last {
						return
					}
					<-changed
				}
			})
		}
		for range last {
			mu.Lock()
			value++
			c.Announce()
			mu.Unlock()
		}
		readers.Wait()
	})
}
