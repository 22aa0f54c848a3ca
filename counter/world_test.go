package counter_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// path is where most tests have their counter.
const path = "/counters/a"

// World is a world with counters.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// long is v in the default format.
func long(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

// make makes the counter's znode, and its parent, without a client.
func (w *World) make(data []byte) {
	w.Helper()
	if _, err := w.Server.Get("/counters"); err != nil {
		require.NoError(w, w.Server.Create("/counters", nil))
	}
	require.NoError(w, w.Server.Create(path, data))
}

// wipe deletes the counter's znode with all descendants, as deleteall does.
func (w *World) wipe() {
	w.Helper()
	for _, name := range w.Children(path) {
		require.NoError(w, w.Server.Delete(path+"/"+name))
	}
	require.NoError(w, w.Server.Delete(path))
}

// node is the counter's znode.
func (w *World) node() zktest.Node {
	w.Helper()
	n, err := w.Server.Get(path)
	require.NoError(w, err)
	return n
}

// value is the number in the counter's znode.
func (w *World) value() int64 {
	w.Helper()
	n := w.node()
	if len(n.Data) == 0 {
		return 0
	}
	require.Len(w, n.Data, 8)
	return int64(binary.BigEndian.Uint64(n.Data))
}

// add adds delta within a virtual minute.
func (w *World) add(c *counter.Counter, delta int64) int64 {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	v, err := c.Add(ctx, delta)
	require.NoError(w, err)
	return v
}

// added is the outcome of an Add running concurrently with the test.
type added struct {
	value int64
	err   error
}

// startAdd starts c.Add and returns when it waits or has ended.
func (w *World) startAdd(ctx context.Context, c *counter.Counter, delta int64) <-chan added {
	out := make(chan added, 1)
	// The bubble waits for the goroutine; it ends with ctx at the latest.
	go func() {
		v, err := c.Add(ctx, delta)
		out <- added{v, err}
	}()
	w.Settle()
	return out
}

// writes accepts transactions with changes of counters.
func writes(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }

// parentOf is the path above path.
func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// ledger has the expected outcomes of additions of 1, 10, 100, ...: each digit
// of the counter tells how often an addition was made.
type ledger struct {
	mu   sync.Mutex
	want []fate // by digit
}

type fate = history.Fate

const never, once, maybe = history.Never, history.Once, history.Maybe

// errTwice and errWrong are the findings of the ledger.
var (
	errTwice = errors.New("a change was made more than once")
	errWrong = errors.New("what was reported is not what was done")
)

// add adds the next digit, and requires this digit in the result.
func (l *ledger) add(ctx context.Context, c *counter.Counter) error {
	l.mu.Lock()
	digit := len(l.want)
	l.want = append(l.want, maybe)
	l.mu.Unlock()
	delta := int64(1)
	for range digit {
		delta *= 10
	}
	v, err := c.Add(ctx, delta)
	l.mu.Lock()
	l.want[digit] = history.FateOf(err)
	l.mu.Unlock()
	if err == nil && v/delta%10 != 1 {
		return fmt.Errorf("%w: adding %d gave %d", errWrong, delta, v)
	}
	return err
}

// check compares the counter with the reports.
func (l *ledger) check(value int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for digit, f := range l.want {
		n := value % 10
		value /= 10
		switch {
		case n > 1:
			return fmt.Errorf("%w: digit %d is %d", errTwice, digit, n)
		case f == once && n != 1, f == never && n != 0:
			return fmt.Errorf("%w: digit %d is %d, reported as %d", errWrong, digit, n, f)
		}
	}
	if value != 0 {
		return fmt.Errorf("%w: %d remains", errWrong, value)
	}
	return nil
}

// The ledger must detect violations.
func TestLedgerNoticesWhatIsWrong(t *testing.T) {
	l := &ledger{want: []fate{once, maybe, never}}
	require.NoError(t, l.check(1))
	require.NoError(t, l.check(11))
	require.ErrorIs(t, l.check(2), errTwice)
	require.ErrorIs(t, l.check(21), errTwice)
	require.ErrorIs(t, l.check(10), errWrong)
	require.ErrorIs(t, l.check(101), errWrong)
	require.ErrorIs(t, l.check(1001), errWrong)
}
