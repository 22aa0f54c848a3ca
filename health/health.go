// Package health says whether a program that uses ZooKeeper is alive and ready, as functions
// and as handlers for HTTP probes.
//
//	mux.Handle("/livez", health.Handler(health.Alive(client)))
//	mux.Handle("/readyz", health.Handler(health.Connected(client, 0), health.Current("config", view, time.Minute)))
//
// # Liveness
//
// A failed liveness probe restarts the program. A restart does not repair ZooKeeper, and it
// turns an outage of a few seconds, in which every hold survives, into the loss of all of
// them. [Alive] therefore fails only when the program has closed the client.
//
// # Readiness
//
// A failed readiness probe keeps requests away. [Connected] fails while the program has no
// session, and after its session has been without a connection for a while; [Current] fails
// while a cache is older than the program can use; [Held] fails on all instances but the
// one that holds, such as the leader. A program that can serve without ZooKeeper for a
// time, from its caches, says so by longer limits.
package health

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/session"
)

// ErrUnhealthy is wrapped by all errors of checks.
var ErrUnhealthy = errors.New("unhealthy")

// Check is one condition of a probe.
type Check struct {
	// Name of the condition, in the answers of [Handler].
	Name string
	// Err returns nil if the condition is met, and otherwise says what is wrong.
	Err func() error
}

// Alive fails when the client was closed.
func Alive(client *session.Client) Check {
	return Check{Name: "client", Err: func() error {
		if client == nil {
			return noClient()
		}
		if client.State().Status == session.Closed {
			return fmt.Errorf("%w: the client is closed", ErrUnhealthy)
		}
		return nil
	}}
}

// Connected fails while the client has no session, and when its session has been without a
// connection for longer than limit; 0 is session.DefaultTimeout, 10 s.
func Connected(client *session.Client, limit time.Duration) Check {
	if limit <= 0 {
		limit = session.DefaultTimeout
	}
	return Check{Name: "session", Err: func() error {
		if client == nil {
			return noClient()
		}
		state := client.State()
		away := time.Since(state.Since)
		switch {
		case state.Status == session.Connected, state.Status == session.Suspended && away <= limit:
			return nil
		case state.Cause != nil:
			return fmt.Errorf("%w: %v for %v: %w", ErrUnhealthy, state.Status, away.Round(time.Millisecond), state.Cause)
		}
		return fmt.Errorf("%w: %v for %v", ErrUnhealthy, state.Status, away.Round(time.Millisecond))
	}}
}

// View is a cache: Children, Tree or Value of package cache.
type View interface{ Status() cache.Status }

// Current fails while the view called name was never loaded, cannot continue, or may be older
// than limit. A view on a healthy connection is at most a third of the session timeout old.
func Current(name string, view View, limit time.Duration) Check {
	return Check{Name: name, Err: func() error {
		switch st := view.Status(); {
		case st.Err != nil:
			return fmt.Errorf("%w: the view has ended: %w", ErrUnhealthy, st.Err)
		case !st.Loaded:
			return fmt.Errorf("%w: the view is being loaded: %d entries, %d reads to go", ErrUnhealthy, st.Entries, st.Pending)
		case st.Stale > limit:
			return fmt.Errorf("%w: the view is %v old; at most %v is allowed", ErrUnhealthy, st.Stale.Round(time.Millisecond), limit)
		}
		return nil
	}}
}

// Held fails while what is called name is not held. held returns the present hold, such as a
// leadership, or nil, which may be a nil pointer.
func Held(name string, held func() session.Held) Check {
	return Check{Name: name, Err: func() error {
		h := held()
		if v := reflect.ValueOf(h); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("%w: not held", ErrUnhealthy)
		}
		if ctx := h.Context(); ctx.Err() != nil {
			return fmt.Errorf("%w: not held any more: %w", ErrUnhealthy, session.ContextErr(ctx))
		}
		return nil
	}}
}

func noClient() error { return fmt.Errorf("%w: there is no client", ErrUnhealthy) }
