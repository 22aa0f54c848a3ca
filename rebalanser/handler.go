package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Handler is told what its member owns. Its methods are called one after the other,
// never two at a time. While one of them runs nothing is begun that would need
// another, but a loss is noticed: then the contexts end at once, and Lost is called
// when the method has returned.
//
// An error or a panic ends the membership in order: everything else is revoked and
// released, the member leaves, and Run returns the error. What a failing call was
// about counts as given up: nothing of it must run when the call has returned.
type Handler interface {
	// Assigned tells of resources that are owned from now on. It returns when
	// they are at work, and not when the work is over. ctx ends when one of them
	// is lost, or to be given up again: then it should return soon. In global mode
	// nothing else moves in the whole group until it has returned.
	Assigned(ctx context.Context, rs []*Resource) error
	// Revoked tells of resources to give up. They are still owned: it finishes
	// what is under way, and returns when nothing of it runs any more. Then they
	// are released. ctx ends when they are lost, and after Options.RevokeTimeout.
	Revoked(ctx context.Context, rs []*Resource) error
	// Lost tells of resources that were lost, with the session or with the
	// client's node: they are not owned any more, and their contexts ended before
	// anybody else could own them. It returns when nothing of it runs any more.
	Lost(rs []*Resource)
}

// failing is a handler that can fail between its calls.
type failing interface {
	// failed has an element when it does.
	failed() <-chan error
}

// errGoexit: a handler has not returned, and never will.
var errGoexit = errors.New("the handler has ended its goroutine")

// protect calls f, and makes an error of a panic.
func protect(what string, f func() error) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("%s panicked: %w\n%s", what, x, debug.Stack())
		default:
			err = fmt.Errorf("%s panicked: %v\n%s", what, x, debug.Stack())
		}
	}()
	return f()
}
