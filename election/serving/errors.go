package serving

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrNotLeading: this process does not lead, or is about to give the leadership back.
	ErrNotLeading = errors.New("this instance does not lead")
	// ErrDrainTimeout is the cause of the end of a request's context when the request has
	// taken longer than Options.DrainTimeout, and is wrapped by the error of Run then.
	ErrDrainTimeout = errors.New("not drained in time")
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
)
