package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// errRejoin: the member has left, or was lost, and joins again as another client.
var errRejoin = errors.New("to be joined again")

// joinGroup becomes a client of the group: it creates the group's znodes, locks its instance,
// and stands for the election of the coordinator. If it fails, no znode is left behind.
func (g *Group) joinGroup(ctx context.Context) (*member, error) {
	g.setState(State{Phase: joining})
	s, err := g.client.Session(ctx)
	if err != nil {
		return nil, err
	}
	m, err := g.joinIn(ctx, s)
	if err != nil && ctx.Err() == nil && isOver(s, err) {
		return nil, errRejoin
	}
	return m, err
}

func (g *Group) joinIn(ctx context.Context, s *session.Session) (*member, error) {
	if err := ensureGroup(ctx, s, g.at, g.opts.Mode, g.opts.ACL); err != nil {
		return nil, err
	}
	held, err := g.lockInstance(ctx, s)
	if err != nil {
		return nil, err
	}
	m, err := g.standForElection(ctx, s, held)
	if err != nil && held != nil {
		err = unlessGone(ctx, err, g.giveAway(ctx, held.Unlock))
	}
	return m, err
}

// standForElection takes a place in the election, in the session of the lock on the instance: the
// place and the lock are lost together.
func (g *Group) standForElection(ctx context.Context, s *session.Session, held *lock.Held) (*member, error) {
	elector := election.New(g.client, g.at.dirPath(clientsDir), &election.Options{
		ID: g.opts.ID, Data: g.opts.encodeRecord(), ACL: g.opts.ACL,
		MaxQueue: -1, // the znodes in the queue are the group's clients
	})
	place, err := elector.Stand(ctx)
	if err != nil {
		return nil, err
	}
	var hold *session.Hold
	if place.Session() != s || held != nil && held.Session() != s {
		err = errRejoin
	} else {
		hold, err = s.Hold(ctx, place.Path(), nil)
	}
	if err != nil {
		return nil, unlessGone(ctx, err, g.giveAway(ctx, place.Withdraw))
	}
	return newMember(ctx, g, hold, place, held)
}

// lockInstance makes sure that no other member is this instance. It returns nil for a
// dynamic member.
func (g *Group) lockInstance(ctx context.Context, s *session.Session) (*lock.Held, error) {
	if g.opts.Instance == "" {
		return nil, nil
	}
	mu := lock.New(g.client, g.at.instancePath(g.opts.Instance), &lock.Options{ID: g.opts.ID, ACL: g.opts.ACL})
	held, err := mu.TryLock(ctx)
	if !errors.Is(err, lock.ErrBusy) {
		return held, err
	}
	g.setState(State{Phase: waiting})
	wait := g.opts.InstanceWait
	if wait == 0 {
		wait = 2 * s.Timeout()
	}
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	held, err = mu.Lock(within)
	if err == nil {
		g.setState(State{Phase: joining})
		return held, nil
	}
	if within.Err() == nil || ctx.Err() != nil {
		return nil, err
	}
	return nil, g.inUse(ctx, mu, wait)
}

// inUse returns an error that names the holder of the instance.
func (g *Group) inUse(ctx context.Context, mu *lock.Mutex, wait time.Duration) error {
	holder := "another member"
	all, err := mu.Contenders(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %q", ErrInstanceInUse, g.opts.Instance), err)
	}
	if len(all) > 0 {
		holder = fmt.Sprintf("%q, since %s", all[0].Data, all[0].Since.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%w: %q by %s; it has not gone within %v", ErrInstanceInUse, g.opts.Instance, holder, wait)
}

// leaveWait is how long a leaving member that owned nothing waits for the replies of servers
// that seem to be reachable.
const leaveWait = time.Second

// keptError says that a former member may still be present: no server has confirmed that
// the member's znodes are deleted.
type keptError struct{ err error }

func (e *keptError) Error() string {
	return "no server has confirmed that the member has left; the deletion of its znodes continues in the background: " + e.err.Error()
}

func (e *keptError) Unwrap() error { return e.err }

// isKept reports whether err says that a former member may still be present.
func isKept(err error) bool {
	var kept *keptError
	return errors.As(err, &kept)
}

// unlessGone is the reason why a member has not joined, with kept if ctx has ended:
// otherwise Run does not end with that.
func unlessGone(ctx context.Context, err, kept error) error {
	if kept == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w; %w", err, kept)
}

var errNoAnswer = fmt.Errorf("%w: no server has answered within %v", session.ErrUnknownOutcome, leaveWait)

var errNoConnection = fmt.Errorf("%w: there is no connection to a server", session.ErrUnknownOutcome)

// giveAway runs gives in this order, also if ctx has ended. A deletion that is not confirmed in
// time continues in the background, or ends with the session: away does not wait for a
// server that cannot be reached. The error is a [*keptError].
func (g *Group) giveAway(ctx context.Context, gives ...func(context.Context) error) error {
	limit, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), leaveWait, errNoAnswer)
	defer stop()
	over, cancel := context.WithCancelCause(limit)
	defer cancel(nil)
	if g.client.State().Status != session.Connected {
		cancel(errNoConnection)
	}
	return giveAll(over, gives)
}

// giveAll is away as long as over allows.
func giveAll(over context.Context, gives []func(context.Context) error) error {
	var failed error
	for _, give := range gives {
		switch err := give(over); {
		case err == nil || failed != nil: // the first failure is enough
		case over.Err() != nil && errors.Is(err, over.Err()) && !errors.Is(err, session.ErrLost):
			failed = context.Cause(over) // and not that our own context has ended
		default:
			failed = err
		}
	}
	if failed == nil {
		return nil
	}
	return &keptError{failed}
}
