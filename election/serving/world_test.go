package serving_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// dir is where the tests have their election.
const dir = "/election/a"

// World is a world with leaders that serve.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server.
func inWorld(t *testing.T, body func(w *World)) {
	t.Helper()
	world.In(t, nil, func(w *world.World) { body(&World{w}) })
}

// instance is a Run in progress.
type instance struct {
	*serving.Leader
	client *session.Client
	stop   context.CancelFunc
	out    chan error
}

// start runs a leader with a client of its own, called id.
func (w *World) start(id string, o serving.Options) *instance {
	w.Helper()
	i := &instance{client: w.Client(), out: make(chan error, 1)}
	i.Leader = serving.New(election.New(i.client, dir, &election.Options{ID: id}), &o)
	ctx, stop := context.WithCancel(w.Ctx)
	i.stop = stop
	// The bubble waits for it; it ends with ctx.
	go func() { i.out <- i.Run(ctx) }()
	w.Settle()
	return i
}

// end stops the instance, and requires that it ends without an error.
func (w *World) end(i *instance) {
	w.Helper()
	i.stop()
	require.NoError(w, <-i.out)
}

// admit admits a request, which must succeed.
func (w *World) admit(i *instance) (context.Context, func()) {
	w.Helper()
	ctx, done, err := i.Admit(w.Ctx)
	require.NoError(w, err)
	return ctx, done
}

// refused requires that a request is not admitted.
func (w *World) refused(i *instance) {
	w.Helper()
	_, _, err := i.Admit(w.Ctx)
	require.ErrorIs(w, err, serving.ErrNotLeading)
	require.Nil(w, i.Held())
}

// awaitAdmission waits until the instance admits requests.
func (w *World) awaitAdmission(i *instance) {
	w.Helper()
	for admits := range i.Observe(w.Within(5 * time.Minute)) {
		if admits {
			return
		}
	}
	w.Fatal("no request is admitted")
}
