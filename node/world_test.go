package node_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// folder is the parent of the znodes that most tests keep, and path is one of these.
const (
	folder = "/nodes"
	path   = folder + "/one"
)

// ttl is long enough for a keeper that lives, under any fault that its session survives.
const ttl = 30 * time.Second

// modes are all modes.
// read only
var modes = []session.Mode{
	session.Ephemeral, session.EphemeralSequential, session.Persistent, session.PersistentSequential,
	session.Container, session.PersistentTTL, session.PersistentSequentialTTL,
}

// name is the mode's, for names of tests.
func name(mode session.Mode) string {
	return []string{"persistent", "ephemeral", "persistent-sequential", "ephemeral-sequential", "container", "ttl", "ttl-sequential"}[mode]
}

// options are those that the mode needs.
func options(mode session.Mode) *node.Options {
	if expires(mode) {
		return &node.Options{TTL: ttl}
	}
	return nil
}

func expires(mode session.Mode) bool {
	return mode == session.PersistentTTL || mode == session.PersistentSequentialTTL
}

func ephemeral(mode session.Mode) bool {
	return mode == session.Ephemeral || mode == session.EphemeralSequential
}

func sequential(mode session.Mode) bool {
	return mode == session.EphemeralSequential || mode == session.PersistentSequential || mode == session.PersistentSequentialTTL
}

// World is a world with kept znodes.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// inWorlds runs body once for each mode.
func inWorlds(t *testing.T, modes []session.Mode, body func(w *World, mode session.Mode)) {
	t.Helper()
	for _, mode := range modes {
		t.Run(name(mode), func(t *testing.T) {
			needs(t, mode)
			inWorld(t, nil, func(w *World) { body(w, mode) })
		})
	}
}

// available are all modes that the servers have.
func available() []session.Mode {
	return slices.DeleteFunc(slices.Clone(modes), func(m session.Mode) bool { return expires(m) && !world.Has(world.TTLNodes) })
}

// needs skips a test of a mode that the servers do not have.
func needs(t *testing.T, mode session.Mode) {
	t.Helper()
	if expires(mode) {
		world.Needs(t, world.TTLNodes)
	}
}

// keep keeps path, and must succeed within a virtual minute.
func (w *World) keep(c *session.Client, mode session.Mode, data string) *node.Kept {
	w.Helper()
	k, err := node.New(c, path, mode, options(mode)).Keep(w.Within(time.Minute), []byte(data))
	require.NoError(w, err)
	return k
}

// release must succeed within a virtual minute.
func (w *World) release(k *node.Kept) {
	w.Helper()
	require.NoError(w, k.Release(w.Within(time.Minute)))
}

// znode is the znode at path, which must exist.
func (w *World) znode(path string) zktest.Node {
	w.Helper()
	n, err := w.Server.Get(path)
	require.NoError(w, err, path)
	return n
}

// remakes waits until k's znode is another than the one with token was, and has this data.
func (w *World) remakes(k *node.Kept, was int64, data string) {
	w.Helper()
	s, err := await(w.Within(2*time.Minute), k.States, func(s node.State) bool { return s.Exists && s.Token > was })
	require.NoError(w, err)
	require.Equal(w, data, string(w.znode(s.Path).Data))
	require.Equal(w, s.Token, w.znode(s.Path).Czxid)
}

// await waits for a state that is as wanted.
func await(ctx context.Context, states func(context.Context) iter.Seq2[node.State, error], wanted func(node.State) bool) (node.State, error) {
	var last node.State
	for s, err := range states(ctx) {
		if err != nil {
			return s, fmt.Errorf("%w; the last state is %+v", err, last)
		}
		if last = s; wanted(s) {
			return s, nil
		}
	}
	return last, fmt.Errorf("the last state is %+v", last)
}

func exists(s node.State) bool { return s.Exists }
