package assignor

import "context"

// ContextAssignor is an [Assignor] that stops computing when a context ends. All assignors
// of this package are. A coordinator stops the computation of an assignment when it leaves
// its group, is deposed, or when the members or resources have changed meanwhile; without
// this method, it waits until Assign returns.
type ContextAssignor interface {
	Assignor
	// AssignContext is Assign, unless ctx ends first: then AssignContext soon returns
	// the cause.
	AssignContext(ctx context.Context, members []Member, resources []Resource) ([][]string, error)
}

// stopper reports whether a computation has to stop; nil: never. Once it has to stop, that
// never changes. A computation that stops early returns something wrong: its caller must
// ask the stopper before it uses the result.
type stopper func() bool

func (s stopper) stopped() bool { return s != nil && s() }

// assignUntil calls assign with a stopper that stops at the end of ctx. assign returns
// false if it has stopped.
func assignUntil(ctx context.Context, assign func(stop stopper) ([][]string, bool)) ([][]string, error) {
	ended := func() bool { return ctx.Err() != nil }
	if ended() {
		return nil, context.Cause(ctx)
	}
	out, done := assign(ended)
	if !done {
		return nil, context.Cause(ctx)
	}
	return out, nil
}
