package fence

import (
	"context"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/holding"
)

// Checker makes the check of a token and a write one step. [Memory] is the Checker for
// data in the memory of a process. For other data implement Checker with a transaction
// of the store; package sqlfence has an example.
type Checker interface {
	// Do calls write if token is equal to or above the highest token that was
	// accepted for resource, and returns the error of write. The check, the new
	// highest token and the write are one step: no write of the same resource with
	// another token takes effect between them. Without a call of write, the error
	// wraps ErrStale, ErrInvalidArgument, the end of ctx, or says why the check
	// failed.
	Do(ctx context.Context, resource string, token Token, write func(ctx context.Context) error) error
}

// Memory is a [Checker] for data that lives as long as the process, such as a cache or
// the connection to a device. The zero Memory is ready for use and has seen no token.
// Do not copy a Memory.
//
// Memory forgets all tokens with its process: data that outlives the process needs a
// store for the tokens that outlives the process, too. Memory keeps the token of each
// resource, some 100 bytes, as long as it lives: a forgotten token would let old
// writers in. Clients must therefore not be free to invent names of resources.
type Memory struct {
	// mu guards the map, whose entries are never removed.
	mu        sync.Mutex
	resources map[string]*resource
}

var _ Checker = (*Memory)(nil)

// resource is the state of one resource.
type resource struct {
	turn    chan struct{} // has one element while a write runs
	highest Token         // belongs to the call whose element is in turn
}

// Do implements [Checker]: writes of one resource run one at a time, and writes of
// different resources run concurrently. ctx bounds the wait for other writes of the
// resource; write gets ctx and must return when ctx ends, because a write that hangs
// keeps all later writers of the resource waiting, whatever their tokens.
//
// Memory remembers the token before it calls write: a write that fails, or panics, may
// have had effects, and an older writer must not follow.
//
// A write that calls Do for the same resource waits for itself.
func (m *Memory) Do(ctx context.Context, name string, token Token, write func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return holding.Failure(ctx, "fence", "write", name, context.Cause(ctx))
	}
	if write == nil {
		return fmt.Errorf("fence: write %s: %w: the function is nil", name, ErrInvalidArgument)
	}
	if err := Check(name, token, Token{}); err != nil { // makes no entry for an invalid call
		return err
	}
	r := m.resource(name)
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return holding.Failure(ctx, "fence", "wait for another write of", name, context.Cause(ctx))
	}
	defer func() { <-r.turn }()
	if ctx.Err() != nil { // select chooses at random if both are ready
		return holding.Failure(ctx, "fence", "write", name, context.Cause(ctx))
	}
	if err := Check(name, token, r.highest); err != nil {
		return err
	}
	r.highest = token
	return write(ctx)
}

// resource returns the entry of a resource, and makes a missing one.
func (m *Memory) resource(name string) *resource {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.resources[name]
	if r == nil {
		if m.resources == nil {
			m.resources = map[string]*resource{}
		}
		r = &resource{turn: make(chan struct{}, 1)}
		m.resources[name] = r
	}
	return r
}
