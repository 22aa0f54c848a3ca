package discoverycmd

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// told is a registration whose states are given.
type told struct {
	states []discovery.State
	end    chan struct{}
}

func (r told) State() discovery.State { return r.states[0] }

func (r told) States(context.Context) iter.Seq2[discovery.State, error] {
	return func(yield func(discovery.State, error) bool) {
		defer close(r.end)
		for _, s := range r.states {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// States may skip the moment without a registration: the token tells.
func TestRegistrationThatWasLostForAMomentIsNoted(t *testing.T) {
	pipe, stderr, err := os.Pipe()
	require.NoError(t, err)
	a := &app{&cli.App{Stderr: stderr}}
	lost := errors.New("lost")
	r := told{end: make(chan struct{}), states: []discovery.State{
		{Registered: true, Token: 5}, {Registered: true, Token: 5, Path: "/moved"}, {Registered: true, Token: 7},
		{Token: 7, Err: lost}, {Token: 7, Err: session.ErrLost}, {Registered: true, Token: 9},
	}}
	g := holdRegistered(t.Context(), a, r, "web/a", nil, func(context.Context) error { return nil })
	<-r.end
	require.NoError(t, g.Release(t.Context()))
	written := make(chan struct{})
	a.Async.Enqueue(func() { close(written) }) // behind the notes, which no caller waits for
	<-written
	require.NoError(t, stderr.Close())
	notes, err := io.ReadAll(pipe)
	require.NoError(t, err)
	assert.Equal(t, "zkr: web/a is registered again\nzkr: web/a is temporarily not registered: lost\nzkr: web/a is registered again\n", string(notes))
}
