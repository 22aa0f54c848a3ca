package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestAsidesKeepTheirOrderAndNobodyWaiting: whoever does not read them.
func TestAsidesKeepTheirOrderAndNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a aside
		var said []int
		reader := make(chan struct{})
		begin := time.Now()
		for i := range mostAside + 2 {
			finish := a.say(func() { <-reader; said = append(said, i) })
			synctest.Wait() // the first is being written now
			if i < 3 {
				finish()
			}
		}
		assert.Equal(t, 3*asideLimit, time.Since(begin))
		a.settle()
		assert.Equal(t, 3*asideLimit+settleLimit, time.Since(begin))
		close(reader)
		a.settle()
		synctest.Wait()
		assert.Len(t, said, mostAside+1, "what is too much is not kept")
		for i, n := range said {
			assert.Equal(t, i, n)
		}
		now := time.Now()
		a.say(func() { said = nil })()
		assert.Empty(t, said)
		a.settle()
		assert.Equal(t, now, time.Now())
	})
}
