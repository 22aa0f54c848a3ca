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

// errRejoin: the member has left, or was lost, and becomes another.
var errRejoin = errors.New("to be joined again")

// join becomes a client of the group: it makes what the group consists of, locks its
// instance, and stands for the election of the coordinator. When it fails nothing is
// left behind.
func (g *Group) join(ctx context.Context) (*member, error) {
	g.set(State{Phase: joining})
	s, err := g.client.Session(ctx)
	if err != nil {
		return nil, err
	}
	m, err := g.joinIn(ctx, s)
	if err != nil && ctx.Err() == nil && over(s, err) {
		return nil, errRejoin
	}
	return m, err
}

func (g *Group) joinIn(ctx context.Context, s *session.Session) (*member, error) {
	if err := ensure(ctx, s, g.at, g.opts.Mode, g.opts.ACL); err != nil {
		return nil, err
	}
	held, err := g.lockInstance(ctx, s)
	if err != nil {
		return nil, err
	}
	m, err := g.stand(ctx, s, held)
	if err != nil && held != nil {
		g.away(ctx, s, held.Unlock)
	}
	return m, err
}

// stand takes a place in the election. It must be in the session of the lock on the
// instance: the two are lost together.
func (g *Group) stand(ctx context.Context, s *session.Session, held *lock.Held) (*member, error) {
	elector := election.New(g.client, g.at.in(clientsDir), &election.Options{
		ID: g.opts.ID, Data: encode(g.opts.record()), ACL: g.opts.ACL,
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
		g.away(ctx, s, place.Withdraw)
		return nil, err
	}
	return newMember(ctx, g, hold, place, held), nil
}

// lockInstance makes sure that no other member is this instance; nil if it is none.
func (g *Group) lockInstance(ctx context.Context, s *session.Session) (*lock.Held, error) {
	if g.opts.Instance == "" {
		return nil, nil
	}
	mu := lock.New(g.client, g.at.instance(g.opts.Instance), &lock.Options{ID: g.opts.ID, ACL: g.opts.ACL})
	held, err := mu.TryLock(ctx)
	if !errors.Is(err, lock.ErrBusy) {
		return held, err
	}
	g.set(State{Phase: waiting})
	wait := g.opts.InstanceWait
	if wait == 0 {
		wait = 2 * s.Timeout()
	}
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	held, err = mu.Lock(within)
	if err == nil {
		g.set(State{Phase: joining})
		return held, nil
	}
	if within.Err() == nil || ctx.Err() != nil {
		return nil, err
	}
	return nil, g.inUse(ctx, mu, wait)
}

// inUse says who has the instance.
func (g *Group) inUse(ctx context.Context, mu *lock.Mutex, wait time.Duration) error {
	who := "another member"
	all, err := mu.Contenders(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %q", ErrInstanceInUse, g.opts.Instance), err)
	}
	if len(all) > 0 {
		who = fmt.Sprintf("%q, since %s", all[0].Data, all[0].Since.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%w: %q by %s; it has not gone within %v", ErrInstanceInUse, g.opts.Instance, who, wait)
}

// away gives something up that must go whatever becomes of ctx. It waits as long as a
// session may last that is lost; what remains goes on in the background.
func (g *Group) away(ctx context.Context, s *session.Session, give func(context.Context) error) {
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout())
	defer cancel()
	// What is left when this fails goes with the session, or in the background.
	_ = give(over)
}
