//go:build unix

package democmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// idleCrew is a crew without workers, for events of the server.
func idleCrew() *crew {
	show := &timeline{out: io.Discard, begun: time.Now(), states: map[string]byte{}, tokens: map[string]int64{}}
	return newCrew("x", 3*time.Second, os.Stderr, newJudge(), show)
}

// contend reports another contender, like the server does.
func (c *crew) contend(n int) {
	c.judge.applied(zktest.Txn{Op: "create2", Session: int64(n), Zxid: int64(n), Paths: []string{fmt.Sprintf("%s/x-%010d", demoLock, n)}})
}

// TestQueueIsThereWhenTheServerHasAllContenders, and not when workers report
// their wait: the report comes before the request for the place.
func TestQueueIsThereWhenTheServerHasAllContenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := idleCrew()
		c.contend(1)
		require.NoError(t, c.queue(t.Context(), 1), "it is there already")
		over := make(chan error, 1)
		// Is waited for below; ends with the second contender.
		go func() { over <- c.queue(t.Context(), 2) }()
		c.events <- Event{At: time.Now(), Worker: "w2", Event: "waits"}
		<-time.After(c.timeout) // of the bubble
		synctest.Wait()
		select {
		case err := <-over:
			t.Fatalf("the second contender has no place yet: %v", err)
		default:
		}
		c.contend(2)
		require.NoError(t, <-over)
		require.Len(t, c.past, 1, "what workers say meanwhile is kept")
	})
}

// TestQueueThatDoesNotFormIsSaid, once the limit of a scene has passed.
func TestQueueThatDoesNotFormIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begun := idleCrew(), time.Now()
		c.contend(1)
		require.EqualError(t, c.queue(t.Context(), 2), "2 workers did not queue up within 12s")
		assert.InDelta(t, 12, time.Since(begun).Seconds(), 0.1)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errDisturbed)
		require.ErrorIs(t, c.queue(ctx, 2), errDisturbed, "the end of the context is reported")
	})
}
