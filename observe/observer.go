package observe

import (
	"context"
	"errors"
)

// Observer receives the events of a client.
type Observer interface {
	// Observe receives e. ctx has the values of the context with which the operation was
	// called, such as the span of a trace; the ctx of HoldEnded has those of the call that
	// began the hold. ctx may have ended. Further types of events can come with any
	// version of the module: Observe must ignore the types that it does not know.
	Observe(ctx context.Context, e Event)
}

// Event is one of the types of this package whose documentation says that it is an event.
type Event interface {
	// Name is the event in words, such as "wait ended": the message of a log line.
	Name() string
	event()
}

// Func is a function as an [Observer].
type Func func(ctx context.Context, e Event)

// Observe calls f.
func (f Func) Observe(ctx context.Context, e Event) { f(ctx, e) }

// Join is an Observer that passes each event on to all observers, in their order. nil
// observers are left out. Join returns nil if none is left.
func Join(observers ...Observer) Observer {
	var all joined
	for _, o := range observers {
		switch o := o.(type) {
		case nil:
		case joined:
			all = append(all, o...)
		case joinedRequests:
			all = append(all, o.joined...)
		default:
			all = append(all, o)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	for _, o := range all {
		if _, ok := o.(RequestObserver); ok {
			return joinedRequests{all}
		}
	}
	return all
}

type joined []Observer

func (j joined) Observe(ctx context.Context, e Event) {
	for _, o := range j {
		o.Observe(ctx, e)
	}
}

// joinedRequests are observers of which one receives requests, or several.
type joinedRequests struct{ joined }

// ObserveRequest passes r on to the observers that receive requests.
func (j joinedRequests) ObserveRequest(ctx context.Context, r Request) {
	for _, o := range j.joined {
		if o, ok := o.(RequestObserver); ok {
			o.ObserveRequest(ctx, r)
		}
	}
}

// IsContextEnd reports whether err is, or wraps, the error of an ended context: the caller
// has given the operation up.
func IsContextEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
