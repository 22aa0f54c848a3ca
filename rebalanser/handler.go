package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/zkrecipes/zkrecipes/internal/usererror"
)

// Handler is told which resources its member owns. Its methods are called one
// after the other, never concurrently. While a method runs, nothing is begun that
// would need another method. A loss is noticed nevertheless: the contexts end at
// once, and Lost is called when the method has returned.
//
// An error, a panic or a call of runtime.Goexit ends the membership gracefully:
// all other resources are revoked and released, the member leaves, and Run
// returns the error, or joins again after Options.RestartDelay. The resources of
// the failing call count as given up: no work on them may run when the call has
// returned.
type Handler interface {
	// Assigned tells of resources that are owned from now on. It returns when
	// they are at work, and not when the work is over. ctx ends when one of them
	// is lost, or to be given up again: then it should return soon. In global mode
	// nothing else moves in the whole group until it has returned.
	Assigned(ctx context.Context, rs []*Resource) error
	// Revoked tells of resources to give up, which are still owned. The handler
	// finishes the work in progress, and returns when no work on the resources runs
	// any more. Then the resources are released. ctx ends when they are lost, and
	// after Options.RevokeTimeout.
	Revoked(ctx context.Context, rs []*Resource) error
	// Lost tells of resources that were lost, with the session or with the client's
	// znode. The resources are not owned any more, and their contexts ended before
	// another client could own them. The handler returns when no work on the
	// resources runs any more.
	Lost(rs []*Resource)
}

// failing is a handler that can fail between its calls.
type failing interface {
	// failed has an element when it does.
	reportedFailures() <-chan error
}

// errGoexit: the called function has not returned, and never will.
var errGoexit = errors.New("it has ended its goroutine with runtime.Goexit instead of returning")

// callProtected calls f, and makes an error of a panic. When f ends the goroutine, as
// runtime.Goexit does, it does not return: see callIsolated.
func callProtected(what string, f func() error) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("%s panicked: %w\n%s", what, usererror.Usable(x), debug.Stack())
		default:
			err = fmt.Errorf("%s panicked: %v\n%s", what, x, debug.Stack())
		}
	}()
	return usererror.Usable(f())
}

// callIsolated is protect in a goroutine of its own: f cannot end that of the caller.
func callIsolated(what string, f func() error) error { return <-startIsolated(what, f) }

// startIsolated begins what isolate does.
func startIsolated(what string, f func() error) <-chan error {
	out := make(chan error, 1)
	// The caller waits for it; it ends with f.
	go func() {
		err := fmt.Errorf("%s: %w", what, errGoexit)
		defer func() { out <- err }()
		err = callProtected(what, f)
	}()
	return out
}
