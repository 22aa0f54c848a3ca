package heldtest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// data is the znode that guarded transactions write to.
const data = "/data"

// env is where a kind is tested: client is the client under test, connect makes more.
type env struct {
	*testing.T
	ctx     context.Context
	client  *session.Client
	connect func() *session.Client
	admin   *session.Client
}

func newEnv(t *testing.T, ctx context.Context, connect func() *session.Client) *env {
	e := &env{T: t, ctx: ctx, client: connect(), connect: connect, admin: connect()}
	_, err := e.session(e.admin).Create(ctx, data, nil, session.Persistent, nil)
	require.NoError(t, err)
	return e
}

// inWorld runs body in a bubble with a server.
func inWorld(t *testing.T, body func(w *world.World, e *env)) {
	world.In(t, nil, func(w *world.World) { body(w, newEnv(w.T, w.Ctx, w.Client)) })
}

func (e *env) session(c *session.Client) *session.Session {
	e.Helper()
	s, err := c.Session(e.ctx)
	require.NoError(e, err)
	return s
}

// beside runs run until the function that it returns is called, which waits for its end.
func (e *env) beside(run func(context.Context) error) (end func()) {
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan struct{})
	// Waited for by end; ends with ctx.
	go func() { defer close(done); _ = run(ctx) }()
	end = func() { cancel(); <-done }
	e.Cleanup(end)
	return end
}

// write sends a transaction of the client under test, with the guard of something held.
func (e *env) write(guard session.Op) error {
	return e.client.Retry(e.ctx, func(s *session.Session) error {
		_, err := s.Txn(e.ctx, session.CheckOp(data, -1), guard, session.SetOp(data, nil, -1))
		return err
	})
}

// refused requires that the guard has made the transaction fail.
func (e *env) refused(guard session.Op) {
	e.Helper()
	var failed *session.TxnError
	require.ErrorAs(e, e.write(guard), &failed)
	require.Equal(e, 1, failed.Index, "the guard counts as one operation")
	require.ErrorIs(e, failed, session.ErrNoNode)
}

// isGone reports whether there is no znode at path.
func (e *env) isGone(path string) bool {
	e.Helper()
	s := e.session(e.admin)
	require.NoError(e, s.Sync(e.ctx, path)) // its server may be behind
	_, exists, err := s.Exists(e.ctx, path)
	require.NoError(e, err)
	return !exists
}

// remove deletes the znode at path, as an administrator would.
func (e *env) remove(path string) {
	e.Helper()
	require.NoError(e, e.session(e.admin).Delete(e.ctx, path, -1))
}

// znode is the path of the znode, or of one of the znodes, that stand for h.
func (e *env) znode(h session.Held) string {
	e.Helper()
	switch h := h.(type) {
	case interface{ Path() string }:
		return h.Path()
	case interface{ State() discovery.State }:
		return h.State().Path
	case *lock.HeldGroup:
		return h.Held()[1].Path()
	case *rebalanser.Resource:
		require.NoError(e, e.session(e.admin).Sync(e.ctx, groupPath))
		names, _, err := e.session(e.admin).Children(e.ctx, groupPath+"/clients")
		require.NoError(e, err)
		require.Len(e, names, 1)
		return groupPath + "/clients/" + names[0]
	}
	e.Fatalf("unknown znode of a %T", h)
	return ""
}

// awaitEnd waits for the end of the hold, and returns the cause.
func (e *env) awaitEnd(h context.Context) error {
	e.Helper()
	select {
	case <-h.Done():
	case <-e.ctx.Done():
		require.NoError(e, errors.New("the context does not end"))
	}
	return context.Cause(h)
}
