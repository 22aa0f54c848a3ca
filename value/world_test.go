package value_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// path is where most tests have their value.
const path = "/values/a"

// World is a world with values.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// make makes the value's znode, and its parent, without a client.
func (w *World) make(data string) {
	w.Helper()
	if _, err := w.Server.Get("/values"); err != nil {
		require.NoError(w, w.Server.Create("/values", nil))
	}
	require.NoError(w, w.Server.Create(path, []byte(data)))
}

// wipe deletes the value's znode with all descendants, as deleteall does.
func (w *World) wipe() {
	w.Helper()
	for _, name := range w.Children(path) {
		require.NoError(w, w.Server.Delete(path+"/"+name))
	}
	require.NoError(w, w.Server.Delete(path))
}

// node is the value's znode.
func (w *World) node() zktest.Node {
	w.Helper()
	n, err := w.Server.Get(path)
	require.NoError(w, err)
	return n
}

// overwrite is another library's write.
func (w *World) overwrite(data string) {
	w.Helper()
	require.NoError(w, w.Server.Set(path, []byte(data)))
}

// holds requires the bytes in the znode.
func (w *World) holds(data string) {
	w.Helper()
	require.Equal(w, data, string(w.node().Data))
}

// set sets v within a virtual minute.
func (w *World) set(v *value.Value, data string) {
	w.Helper()
	require.NoError(w, v.Set(w.Within(time.Minute), []byte(data)))
}

// get reads v.
func (w *World) get(v *value.Value) value.State {
	w.Helper()
	now, err := v.Get(w.Within(time.Minute))
	require.NoError(w, err)
	return now
}

// swap is v.CompareAndSwap.
func (w *World) swap(v *value.Value, from, to string, want bool) {
	w.Helper()
	ok, err := v.CompareAndSwap(w.Within(time.Minute), []byte(from), []byte(to))
	require.NoError(w, err)
	require.Equal(w, want, ok)
}

// try is v.TrySet.
func (w *World) try(v *value.Value, seen value.State, to string, want bool) {
	w.Helper()
	ok, err := v.TrySet(w.Within(time.Minute), seen, []byte(to))
	require.NoError(w, err)
	require.Equal(w, want, ok)
}

// adds is a function for Update that adds text.
func adds(text string) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) { return append(data, text...), nil }
}

// add adds text to v within a virtual minute, and requires the new bytes.
func (w *World) add(v *value.Value, text, want string) {
	w.Helper()
	got, err := v.Update(w.Within(time.Minute), adds(text))
	require.NoError(w, err)
	require.Equal(w, want, string(got))
}

// slowly delays the client's messages, so changes gather.
func (w *World) slowly() { w.Server.Delay(zktest.Link{}, zktest.Both, 100*time.Millisecond) }

// startCall starts do, and returns when it waits or has ended.
func (w *World) startCall(do func() error) <-chan error {
	out := make(chan error, 1)
	// The bubble waits for the goroutine; it ends with do.
	go func() { out <- do() }()
	w.Settle()
	return out
}

// writes accepts transactions with changes of values.
func writes(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }

type fate = history.Fate

const never, once, maybe = history.Never, history.Once, history.Maybe

// errTwice and errWrong are the findings of the ledger.
var (
	errTwice = errors.New("a change was made more than once")
	errWrong = errors.New("what was reported is not what was done")
)

// ledger has the expected outcomes of additions of letters, each of its own: the bytes
// tell how often an addition was made.
type ledger struct {
	mu   sync.Mutex
	want []fate // by letter
}

func letter(n int) string { return string(rune('a' + n)) }

// add adds the next letter, and requires this letter at the end of the result.
func (l *ledger) add(ctx context.Context, v *value.Value) error {
	l.mu.Lock()
	n := len(l.want)
	l.want = append(l.want, maybe)
	l.mu.Unlock()
	got, err := v.Update(ctx, adds(letter(n)))
	l.mu.Lock()
	l.want[n] = history.FateOf(err)
	l.mu.Unlock()
	if err == nil && !strings.HasSuffix(string(got), letter(n)) {
		return fmt.Errorf("%w: adding %s gave %q", errWrong, letter(n), got)
	}
	return err
}

// check compares the bytes with the reports.
func (l *ledger) check(data string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := 0
	for n, f := range l.want {
		k := strings.Count(data, letter(n))
		known += k
		switch {
		case k > 1:
			return fmt.Errorf("%w: %s in %q", errTwice, letter(n), data)
		case f == once && k != 1, f == never && k != 0:
			return fmt.Errorf("%w: %s in %q, reported as %d", errWrong, letter(n), data, f)
		}
	}
	if known != len(data) {
		return fmt.Errorf("%w: %q", errWrong, data)
	}
	return nil
}

// The ledger must detect violations.
func TestLedgerNoticesWhatIsWrong(t *testing.T) {
	l := &ledger{want: []fate{once, maybe, never}}
	require.NoError(t, l.check("a"))
	require.NoError(t, l.check("ba"))
	require.ErrorIs(t, l.check("aa"), errTwice)
	require.ErrorIs(t, l.check("b"), errWrong)
	require.ErrorIs(t, l.check("ac"), errWrong)
	require.ErrorIs(t, l.check("ax"), errWrong)
}
