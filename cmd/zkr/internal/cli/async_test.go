package cli

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestNotesKeepTheirOrderAndDelayNoCaller, also without a reader of stderr.
func TestNotesKeepTheirOrderAndDelayNoCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a asyncWriter
		var said []int
		reader := make(chan struct{})
		begin := time.Now()
		for i := range maxQueued + 2 {
			finish := a.Enqueue(func() { <-reader; said = append(said, i) })
			synctest.Wait() // the first is being written now
			if i < 3 {
				finish()
			}
		}
		assert.Equal(t, 3*writeLimit, time.Since(begin))
		a.flush()
		assert.Equal(t, 3*writeLimit+flushLimit, time.Since(begin))
		close(reader)
		a.flush()
		synctest.Wait()
		assert.Len(t, said, maxQueued+1, "further notes are dropped")
		for i, n := range said {
			assert.Equal(t, i, n)
		}
		now := time.Now()
		a.Enqueue(func() { said = nil })()
		assert.Empty(t, said)
		a.flush()
		assert.Equal(t, now, time.Now())
	})
}
