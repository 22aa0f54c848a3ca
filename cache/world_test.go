package cache_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// view is a running view of strings.
type view struct {
	*cache.View[string]
	cancel context.CancelFunc
	ended  chan error // the result of Run
}

func text(n session.Node) (string, error) {
	if strings.HasPrefix(string(n.Data), "bad") {
		return "ignored", fmt.Errorf("%w: %q", errText, n.Data)
	}
	return string(n.Data), nil
}

var errText = fmt.Errorf("no text")

// run runs v until stop, or the end of the test.
func run(w *world.World, v *cache.View[string]) *view {
	ctx, cancel := context.WithCancel(w.Ctx)
	r := &view{View: v, cancel: cancel, ended: make(chan error, 1)}
	// Waited for by stop, or the bubble; ends with ctx.
	go func() { r.ended <- v.Run(ctx) }()
	w.Cleanup(cancel)
	return r
}

// stop ends Run and returns its result.
func (v *view) stop() error {
	v.cancel()
	return <-v.ended
}

// synced waits until v is, and is as it should be.
func (v *view) synced(w *world.World) {
	w.Helper()
	require.NoError(w, v.WaitSynced(w.Within(time.Minute)))
}

// contents are a view's values, by path.
func contents(s *cache.Snapshot[string]) map[string]string {
	out := map[string]string{}
	for e := range s.All() {
		out[e.Path] = e.Value
	}
	return out
}

// shows fails unless v shows exactly that: path, value, path, value...
func (v *view) shows(w *world.World, pairs ...string) {
	w.Helper()
	want := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		want[pairs[i]] = pairs[i+1]
	}
	require.Equal(w, want, contents(v.Snapshot()))
	require.Equal(w, len(want), v.Len())
}

// put creates or sets nodes: path, data, path, data...
func put(w *world.World, pairs ...string) {
	w.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if err := w.Server.Create(pairs[i], []byte(pairs[i+1])); err != nil {
			require.ErrorIs(w, err, zktest.ErrNodeExists)
			require.NoError(w, w.Server.Set(pairs[i], []byte(pairs[i+1])))
		}
	}
}

func del(w *world.World, paths ...string) {
	w.Helper()
	for _, p := range paths {
		require.NoError(w, w.Server.Delete(p))
	}
}

// tape is the events that a reader got.
type tape struct {
	lines  []string
	shown  map[string]string // the first snapshot with all events applied
	ended  chan error
	cancel context.CancelFunc
}

// record reads v's events until its cancel.
func record(w *world.World, v *cache.View[string]) *tape {
	ctx, cancel := context.WithCancel(w.Ctx)
	w.Cleanup(cancel)
	t := &tape{ended: make(chan error, 1), cancel: cancel, shown: map[string]string{}}
	// Waited for through ended, or by the bubble; ends with ctx.
	go func() {
		for ev, err := range v.Events(ctx) {
			if err != nil {
				t.ended <- err
				return
			}
			t.lines = append(t.lines, line(ev))
			apply(t.shown, ev)
		}
	}()
	return t
}

func line(ev cache.Event[string]) string {
	switch ev.Kind {
	case cache.EventSnapshot:
		return fmt.Sprintf("snapshot of %d", ev.Snapshot.Len())
	case cache.EventAdded:
		return fmt.Sprintf("+ %s %s", ev.Path(), ev.New.Value)
	case cache.EventRemoved:
		return fmt.Sprintf("- %s %s", ev.Path(), ev.Old.Value)
	}
	return fmt.Sprintf("%s %s: %s", ev.Path(), ev.Old.Value, ev.New.Value)
}

func apply(shown map[string]string, ev cache.Event[string]) {
	switch ev.Kind {
	case cache.EventSnapshot:
		clear(shown)
		maps.Copy(shown, contents(ev.Snapshot))
	case cache.EventRemoved:
		delete(shown, ev.Path())
	default:
		shown[ev.Path()] = ev.New.Value
	}
}

// said returns the tape's events since the last call.
func (t *tape) said(w *world.World) []string {
	w.Settle()
	out := t.lines
	t.lines = nil
	return out
}

// modes are the two ways to watch.
func modes() map[string]*zktest.Options {
	return map[string]*zktest.Options{"persistent": nil, "one-shot": {OldServer: true}}
}

// requests are those made since the last ResetStats, without the session's own.
func requests(w *world.World) map[string]int {
	out := maps.Clone(w.Server.Stats().Requests)
	maps.DeleteFunc(out, func(op string, _ int) bool {
		return slices.Contains([]string{"ping", "connect", "closeSession"}, op)
	})
	return out
}
