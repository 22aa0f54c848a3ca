package rebalanser

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// settleTime is how long States waits after a change before it reads the group:
	// changes that belong together, such as those of one rebalancing, are read once.
	settleTime = 50 * time.Millisecond
	// pollInterval is how often States reads the group on servers older than 3.6, which
	// have no subscriptions.
	pollInterval = time.Second
)

// States iterates over the states of the group: first the present Status, then each newer
// Status that differs. States that pass within 50 ms, or while the loop's body runs, are
// skipped, and the iteration never goes back. While the group does not exist, the element
// has Absent set; the iteration continues when the group is created. A record that cannot
// be read is listed in the Status, and does not end the iteration.
//
// The iteration continues over lost connections and sessions. It ends with ctx, with the
// client, or with an error that a retry would not mend, such as session.ErrNoAuth; the
// error is the last element. An invalid argument of Open is the only element.
//
// States holds one subscription of the group's path, and reads as [Admin.Status] does after
// changes. On servers older than 3.6, States reads every second instead.
func (a *Admin) States(ctx context.Context) iter.Seq2[Status, error] {
	const op = "follow the state of"
	a = a.orZero()
	return func(yield func(Status, error) bool) {
		f := follower{admin: a, yield: yield}
		err := checkUsable(ctx, a.client, "rebalanser.Open", a.err)
		for err == nil && !f.left {
			err = f.followSession(ctx)
		}
		if !f.left {
			yield(Status{}, failure(ctx, op, string(a.at), err))
		}
	}
}

// follower passes the states of a group to the body of a loop.
type follower struct {
	admin *Admin
	yield func(Status, error) bool
	left  bool    // the loop's body has ended the loop
	last  *Status // nil before the first one
}

// followSession follows the group until the loop ends, with nil also until the session or
// its subscription does.
func (f *follower) followSession(ctx context.Context) error {
	s, err := f.admin.client.Session(ctx)
	if err != nil {
		return err
	}
	err = f.followUntilOver(ctx, s)
	if ctx.Err() == nil && s.Err() != nil {
		return nil //nolint:nilerr // the client has the next session, or says why it has none
	}
	return err
}

// followUntilOver subscribes to the group in s. A read after the subscription sees whatever
// the subscription does not tell; this is also true of a new connection, which the
// subscription reports.
func (f *follower) followUntilOver(ctx context.Context, s *session.Session) error {
	tell, refuse := make(chan struct{}, 1), make(chan struct{})
	sub, err := s.Subscribe(ctx, string(f.admin.at), true, func(ev session.Event) {
		if ev.Type == session.EventDisconnected {
			close(refuse) // by an older server; this is the last event
		}
		select {
		case tell <- struct{}{}:
		default: // States is going to read anyway
		}
	})
	var changed, refused <-chan struct{} // while there is a subscription
	var poll <-chan time.Time            // while there is none
	switch {
	case err == nil:
		defer sub.Stop()
		changed, refused = tell, refuse
	case errors.Is(err, session.ErrUnsupported):
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		poll = ticker.C
	default:
		return err
	}
	for {
		if err := f.readState(ctx); err != nil || f.left {
			return err
		}
		select {
		case <-changed:
		case <-poll:
		case <-s.Context().Done():
			return context.Cause(s.Context())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := awaitRelatedChanges(ctx); err != nil {
			return err
		}
		select {
		case <-changed: // by changes that the next read sees
		default:
		}
		select {
		case <-refused:
			return nil
		default:
		}
	}
}

// awaitRelatedChanges waits until changes that belong together have been made.
func awaitRelatedChanges(ctx context.Context) error {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// readState reads the group, and passes on a state that differs from the last one.
func (f *follower) readState(ctx context.Context) error {
	st, err := f.admin.readStatus(ctx)
	if errors.Is(err, ErrNoGroup) {
		st, err = Status{Absent: true}, nil
	}
	if err != nil || f.last != nil && reflect.DeepEqual(*f.last, st) {
		return err
	}
	f.last = &st
	f.left = !f.yield(st, nil)
	return nil
}
