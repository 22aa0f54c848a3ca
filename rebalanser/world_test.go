package rebalanser_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// path is where most tests have their group.
const path = "/groups/orders"

// World is a world with a group.
type World struct {
	*world.World
	*oracle
	mode rebalanser.Mode
}

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, mode rebalanser.Mode, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) {
		ours := &World{World: w, oracle: newOracle(), mode: mode}
		body(ours)
		require.NoError(w, ours.err())
	})
}

// modes are both.
func modes() []rebalanser.Mode {
	return []rebalanser.Mode{rebalanser.ResourceBarrier, rebalanser.GlobalBarrier}
}

// inBoth runs body in a world of either mode.
func inBoth(t *testing.T, body func(w *World)) {
	t.Helper()
	for _, mode := range modes() {
		t.Run(mode.String(), func(t *testing.T) { inWorld(t, mode, nil, body) })
	}
}

// recorder is a handler that reports to the oracle, and records its calls:
// "+a,b" for assigned, "-a" for revoked, "!a" for lost.
type recorder struct {
	memberID string
	o        *oracle
	// before, if set, is called at each call with the recorded text; the handler
	// returns its result.
	before func(ctx context.Context, what string, rs []*rebalanser.Resource) error

	// mu guards the rest.
	mu    sync.Mutex
	calls []string
	rs    map[string]*rebalanser.Resource
}

func (h *recorder) note(ctx context.Context, sign string, rs []*rebalanser.Resource) error {
	var names []string
	for _, r := range rs {
		names = append(names, r.Name())
	}
	what := sign + strings.Join(names, ",")
	h.mu.Lock()
	h.calls = append(h.calls, what)
	h.mu.Unlock()
	if h.before == nil {
		return nil
	}
	return h.before(ctx, what, rs)
}

func (h *recorder) Assigned(ctx context.Context, rs []*rebalanser.Resource) error {
	for _, r := range rs {
		h.o.gain(h.memberID, r)
		h.mu.Lock()
		h.rs[r.Name()] = r
		h.mu.Unlock()
	}
	return h.note(ctx, "+", rs)
}

func (h *recorder) Revoked(ctx context.Context, rs []*rebalanser.Resource) error {
	err := h.note(ctx, "-", rs)
	for _, r := range rs {
		h.o.yield(h.memberID, r)
	}
	return err
}

func (h *recorder) Lost(rs []*rebalanser.Resource) {
	for _, r := range rs {
		h.o.lose(h.memberID, r)
	}
	_ = h.note(context.Background(), "!", rs)
}

// takeCalls returns the calls since the last time.
func (h *recorder) takeCalls() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.calls
	h.calls = nil
	return out
}

// resource is a resource known to the handler.
func (h *recorder) resource(name string) *rebalanser.Resource {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rs[name]
}

// node is a member with a client of its own.
type node struct {
	*recorder
	w      *World
	client *session.Client
	group  *rebalanser.Group
	stopIt context.CancelFunc
	done   chan error // gets the result of Run, once
	hurt   bool       // hit by a fault; its session may be lost
}

// node makes a member without running it.
func (w *World) node(memberID string, o rebalanser.Options) *node {
	w.Helper()
	return w.nodeOf(w.Client(), memberID, o)
}

func (w *World) nodeOf(c *session.Client, memberID string, o rebalanser.Options) *node {
	o.Mode = w.mode
	if o.ID == "" {
		o.ID = memberID
	}
	h := &recorder{memberID: memberID, o: w.oracle, rs: map[string]*rebalanser.Resource{}}
	return &node{recorder: h, w: w, client: c, group: rebalanser.New(c, path, h, &o)}
}

// run starts the member.
func (n *node) run() *node {
	ctx, cancel := context.WithCancel(n.w.Ctx)
	done, over := make(chan error, 1), make(chan struct{})
	n.stopIt, n.done = cancel, done
	n.w.Cleanup(func() { cancel(); <-over })
	// The clean-up waits for the goroutine; it ends with ctx.
	go func() {
		defer close(over)
		done <- n.group.Run(ctx)
	}()
	return n
}

// stop makes the member leave, and waits for its end.
func (n *node) stop() {
	n.w.Helper()
	n.stopIt()
	require.NoError(n.w, n.awaitEnd())
}

// awaitEnd waits for the end of Run.
func (n *node) awaitEnd() error {
	select {
	case err := <-n.done:
		return err
	case <-time.After(10 * time.Minute):
		return fmt.Errorf("%s does not end", n.memberID)
	}
}

// waitFor lets a handler wait.
func waitFor(hold <-chan struct{}) func(context.Context, string, []*rebalanser.Resource) error {
	return func(context.Context, string, []*rebalanser.Resource) error {
		<-hold
		return nil
	}
}

// start starts members "c1", "c2", ... with these options.
func (w *World) start(n int, o rebalanser.Options) []*node {
	w.Helper()
	var out []*node
	for i := range n {
		out = append(out, w.node(fmt.Sprintf("c%d", i+1), o).run())
	}
	return out
}

// admin is an administrator with a client of its own.
func (w *World) admin() *rebalanser.Admin {
	w.Helper()
	return rebalanser.Open(w.Client(), path, &rebalanser.Options{Mode: w.mode, ID: "admin"})
}

// stock makes the group, with resources "r00", "r01", ...
func (w *World) stock(n int) *rebalanser.Admin {
	w.Helper()
	a := w.admin()
	require.NoError(w, a.Create(w.Ctx))
	_, err := a.AddResources(w.Ctx, names(n)...)
	require.NoError(w, err)
	return a
}

func names(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("r%02d", i))
	}
	return out
}

// shared requires that the members together own all of n resources, in shares
// that differ by at most one.
func (w *World) shared(n int, among ...*node) {
	w.Helper()
	var all []string
	for _, m := range among {
		mine := w.of(m.memberID)
		require.GreaterOrEqual(w, len(mine), n/len(among), "%s owns %v", m.memberID, mine)
		require.LessOrEqual(w, len(mine), (n+len(among)-1)/len(among), "%s owns %v", m.memberID, mine)
		all = append(all, mine...)
	}
	slices.Sort(all)
	require.Equal(w, names(n), all)
}

// status reads the group's status.
func (w *World) status(a *rebalanser.Admin) rebalanser.Status {
	w.Helper()
	st, err := a.Status(w.Ctx)
	require.NoError(w, err)
	return st
}
