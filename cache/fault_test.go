package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// A view under every fault at every one of its requests: it must show the server's
// tree in the end, report it to its readers, and leave no watch behind. A fault that
// cancels ends Run; the view must then be as good as new for the next Run.

// errDiffers reports a view that differs from the server's tree.
var errDiffers = errors.New("the view differs")

// The shapes of views.
const (
	aTree     = "tree"
	children  = "children"
	justValue = "value"
)

// serverHas returns the content that a view of that shape and path should show.
func serverHas(srv *zktest.Server, root, shape string) map[string]string {
	out := map[string]string{}
	for _, n := range srv.Dump() {
		below := strings.HasPrefix(n.Path, root+"/")
		if shape == aTree && (below || n.Path == root) || shape == children && below && parent(n.Path) == root || shape == justValue && n.Path == root {
			out[n.Path] = string(n.Data)
		}
	}
	return out
}

func parent(path string) string {
	for i := len(path) - 1; ; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
}

// same waits until v and a reader of its events show the server's tree.
func same(ctx context.Context, srv *zktest.Server, v *cache.View[string], root, shape string) error {
	if err := v.WaitSynced(ctx); err != nil {
		return err
	}
	want := serverHas(srv, root, shape)
	if got := contents(v.Snapshot()); !maps.Equal(got, want) {
		return fmt.Errorf("%w: it shows %v, the server has %v", errDiffers, got, want)
	}
	for ev, err := range v.Events(ctx) {
		if err != nil {
			return err
		}
		if got := contents(ev.Snapshot); !maps.Equal(got, want) {
			return fmt.Errorf("%w: a reader is shown %v", errDiffers, got)
		}
		break
	}
	return nil
}

// during runs v, and calls do meanwhile. The next caller is the same view, run again,
// which goes on with its entries.
func during(v *cache.View[string], ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { ended <- v.Run(ctx) }()
	err := do(ctx)
	cancel()
	return errors.Join(err, ignoring(context.Canceled, <-ended))
}

func ignoring(expected, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// shapes are views of /m.
func shapes(c *session.Client) map[string]*cache.View[string] {
	return map[string]*cache.View[string]{
		aTree: cache.NewTree(c, "/m", text, nil).View, children: cache.NewChildren(c, "/m", text, nil).View,
		justValue: cache.NewValue(c, "/m/d", text, nil).View,
	}
}

// trial is a view of one shape on one kind of server, while change is made.
type trial struct {
	shape   string
	oneShot bool
	// begin, if set, is called first, with a synced view; nil means that the faults
	// hit the load.
	loaded bool
	change func(s *session.Session) error
}

func (tr trial) run(t *testing.T) int {
	t.Helper()
	root := "/m"
	if tr.shape == justValue {
		root = "/m/d"
	}
	c := world.Trial{Name: fmt.Sprintf("%s, one-shot %v", tr.shape, tr.oneShot)}
	var srv *zktest.Server
	var v *cache.View[string]
	c.Setup = func(e *matrix.Env, p *world.Party) error {
		srv, v = e.Server, shapes(p.Tested)[tr.shape]
		for _, path := range []string{"/m", "/m/a", "/m/b", "/m/b/c", "/m/d"} {
			if err := srv.Create(path, []byte(path)); err != nil {
				return err
			}
		}
		if !tr.loaded {
			return nil
		}
		return during(v, context.Background(), v.WaitSynced)
	}
	c.Op = func(ctx context.Context, p *world.Party) error {
		// Answers take longer than the time between two changes, so that the changes
		// meet the same requests in every run.
		srv.Delay(zktest.Link{Client: "tested"}, zktest.Both, oneWay)
		return during(v, ctx, func(ctx context.Context) error {
			other, err := p.Other.Session(ctx)
			if err != nil {
				return err
			}
			if tr.loaded {
				if err := v.WaitSynced(ctx); err != nil {
					return err
				}
			}
			if err := tr.change(other); err != nil {
				return err
			}
			world.Pause(10 * time.Second) // a dead connection is noticed
			return same(ctx, srv, v, root, tr.shape)
		})
	}
	c.Next = func(ctx context.Context, _ *world.Party) error {
		return during(v, ctx, func(ctx context.Context) error { return same(ctx, srv, v, root, tr.shape) })
	}
	mc := c.Case()
	if tr.oneShot {
		mc.Options = &zktest.Options{OldServer: true}
	}
	res := matrix.Run(t, mc)
	if res.Requests == 0 || res.Cases == 0 {
		t.Errorf("%s: nothing was tried", c.Name)
	}
	t.Logf("%s: %d requests, %d cases", c.Name, res.Requests, res.Cases)
	return res.Cases
}

// oneWay is how long a message of the view takes, and between how long there is from
// one change to the next. Neither is a multiple of the other.
const (
	oneWay  = 5 * time.Millisecond
	between = 7 * time.Millisecond
)

// changes touches every kind of change there is.
func changes(s *session.Session) error {
	ctx := context.Background()
	paced := func(err error) error { world.Pause(between); return err }
	set := func(path string) error { _, err := s.Set(ctx, path, []byte("new "+path), -1); return paced(err) }
	create := func(path string) error {
		_, err := s.Create(ctx, path, []byte(path), session.Persistent, nil)
		return paced(err)
	}
	del := func(path string) error { return paced(s.Delete(ctx, path, -1)) }
	return errors.Join(set("/m/a"), del("/m/b/c"), del("/m/b"), create("/m/b"), create("/m/b/e"), set("/m/d"),
		create("/m/f"), create("/m/f/g"), del("/m/d"), create("/m/d"))
}

func eachTrial(t *testing.T, run func(t *testing.T, shape string, oneShot bool)) {
	for _, shape := range []string{aTree, children, justValue} {
		for _, oneShot := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/oneShot=%v", shape, oneShot), func(t *testing.T) { run(t, shape, oneShot) })
		}
	}
}

func TestLoadUnderEveryFault(t *testing.T) {
	eachTrial(t, func(t *testing.T, shape string, oneShot bool) {
		trial{shape, oneShot, false, func(*session.Session) error { return nil }}.run(t)
	})
}

func TestChangesDuringTheLoadUnderEveryFault(t *testing.T) {
	eachTrial(t, func(t *testing.T, shape string, oneShot bool) { trial{shape, oneShot, false, changes}.run(t) })
}

func TestChangesUnderEveryFault(t *testing.T) {
	eachTrial(t, func(t *testing.T, shape string, oneShot bool) { trial{shape, oneShot, true, changes}.run(t) })
}

// The comparison must notice what it looks for.
func TestComparisonNoticesADifference(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		put(w, "/m", "1")
		v := run(w, cache.NewTree(w.Client(), "/m", text, &cache.Options{
			Filter: func(path string) bool { return path != "/m/hidden" },
		}).View)
		v.synced(w)
		if err := same(w.Ctx, w.Server, v.View, "/m", aTree); err != nil {
			w.Error(err)
		}
		put(w, "/m/hidden", "2")
		w.Settle()
		if err := same(w.Ctx, w.Server, v.View, "/m", aTree); !errors.Is(err, errDiffers) {
			w.Error("nothing was noticed:", err)
		}
	})
}
