package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/provider"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// A single test recognizes an invalid argument of every package.
func TestOneErrorForInvalidArguments(t *testing.T) {
	for _, err := range []error{
		barrier.ErrInvalidArgument, cache.ErrInvalidArgument, counter.ErrInvalidArgument, discovery.ErrInvalidArgument,
		provider.ErrInvalidArgument, dispatch.ErrInvalidArgument, election.ErrInvalidArgument, lock.ErrInvalidArgument,
		rebalanser.ErrInvalidArgument, rwlock.ErrInvalidArgument, stm.ErrInvalidArgument, value.ErrInvalidArgument, workerctl.ErrInvalidArgument,
		session.ErrInvalidPath, session.ErrInvalidServers, session.ErrInvalidOption,
	} {
		assert.ErrorIs(t, err, session.ErrInvalidArgument)
	}
	assert.NotErrorIs(t, session.ErrInvalidPath, session.ErrInvalidOption)
	assert.False(t, errors.Is(session.ErrInvalidArgument, session.ErrInvalidPath))
}
