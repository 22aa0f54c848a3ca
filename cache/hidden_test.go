package cache

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestANodeThatIsFirstHeardOfByAChangeIsRead: servers keep back the events of znodes
// that the session may not read (since 3.8.4 and 3.9.2). The first that is heard of a
// znode that is opened later is that it has changed; it may have children by then.
func TestANodeThatIsFirstHeardOfByAChangeIsRead(t *testing.T) {
	p := newPlay("/r", false, -1, nil)
	p.s.create("/r", "0")
	p.begin(false)
	require.NoError(t, p.finishAll())
	p.s.watching = false // as long as it is closed
	p.s.create("/r/a", "closed")
	p.s.create("/r/a/b", "below")
	p.s.watching = true
	require.NoError(t, p.finishAll())
	p.s.set("/r/a", "open")
	require.NoError(t, p.finishAll())
	require.NoError(t, p.check())
	p.s.create("/r/a/c", "later")
	require.NoError(t, p.finishAll())
	require.NoError(t, p.check())
	p.m.onEvent(session.EventDataChanged, "/r/q/x") // of an unknown node
	require.NoError(t, p.finishAll())
	require.NoError(t, p.check())
}

// TestAQueueThatIsNeverEmptyDoesNotGrow: nodes change faster than they can be read,
// indefinitely.
func TestAQueueThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	p := newPlay("/r", true, 1, nil)
	p.s.create("/r", "")
	for i := range 10 {
		p.s.create(fmt.Sprint("/r/", i), "0")
	}
	p.begin(false)
	require.NoError(t, p.finishAll())
	for i := range 10 {
		p.m.onEvent(session.EventDataChanged, fmt.Sprint("/r/", i))
	}
	for range 10000 {
		p.send()
		p.s.compute(false)
		p.hearAnswer()
		require.NotZero(t, p.m.pending())
		for i := range 10 {
			p.m.onEvent(session.EventDataChanged, fmt.Sprint("/r/", i))
		}
	}
	require.Less(t, cap(p.m.queue), 100)
}
