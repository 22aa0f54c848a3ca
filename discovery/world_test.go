package discovery_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// base is where most tests have their registry, and service what they register.
const (
	base    = "/services"
	service = "web"
	dir     = base + "/" + service
)

// World is a world with registries.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// registry makes a registry of a client.
func registry(c *session.Client) *discovery.Registry { return discovery.NewRegistry(c, base, nil) }

// instance is one of the service with that id.
func instance(id string) discovery.Instance {
	return discovery.Instance{Service: service, ID: id, Address: "10.0.0.1", Port: 8080}
}

// register registers, and must succeed within a virtual minute.
func (w *World) register(r *discovery.Registry, i discovery.Instance) *discovery.Registration {
	w.Helper()
	g, err := r.Register(w.Within(time.Minute), i)
	require.NoError(w, err)
	return g
}

// unregister must succeed within a virtual minute.
func (w *World) unregister(g *discovery.Registration) {
	w.Helper()
	require.NoError(w, g.Unregister(w.Within(time.Minute)))
}

// ids are the ids of the service's instances, in their order.
func (w *World) ids(r *discovery.Registry, service string) []string {
	w.Helper()
	list, err := r.Instances(w.Ctx, service)
	require.NoError(w, err)
	out := []string{}
	for _, i := range list {
		require.NoError(w, i.Err)
		out = append(out, i.ID)
	}
	return out
}

// node is the znode at path, which must exist.
func (w *World) node(path string) zktest.Node {
	w.Helper()
	n, err := w.Server.Get(path)
	require.NoError(w, err, path)
	return n
}

// until waits for a state that is as wanted, for a virtual minute.
func (w *World) until(states func(context.Context) func(func(discovery.State, error) bool), wanted func(discovery.State) bool) discovery.State {
	w.Helper()
	var last discovery.State
	for s, err := range states(w.Within(time.Minute)) {
		require.NoError(w, err, "the last state was %+v", last)
		if last = s; wanted(s) {
			return s
		}
	}
	w.Fatalf("the last state was %+v", last)
	return last
}

func registered(s discovery.State) bool   { return s.Registered }
func unregistered(s discovery.State) bool { return !s.Registered }

func isConflict(err error) bool { return errors.Is(err, discovery.ErrConflict) }
