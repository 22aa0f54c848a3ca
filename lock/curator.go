package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Curator's InterProcessSemaphoreV2: a contender takes the lock at
// <path>/locks, creates a node below <path>/leases, waits until the number of
// leases does not exceed the number of permits, and gives the lock back.
// Several leases are taken under a single lock, so two contenders for several
// leases cannot deadlock.

func (s *Semaphore) leasesDir() string { return znode.Join(s.path, lockformat.DirLeases) }

func (s *Semaphore) takeLeases(ctx context.Context, sess *session.Session, n int, try bool, place *observing.Wait) (*Permits, error) {
	lock, err := contender.Enter(ctx, sess, contender.Spec{
		Dir: znode.Join(s.path, lockformat.DirLocks), Name: func() string { return znode.Protected(lockformat.CuratorMutex) },
		Markers: lockformat.MutexMarkers(), Data: s.opts.Data, ACL: s.opts.ACL, Rule: contender.Exclusive,
	})
	if err != nil {
		return nil, err
	}
	// The deletion is not awaited: the next steps do not depend on it.
	defer lock.LeaveBehind()
	lock.Observe(place)
	if err := awaitOrTry(ctx, lock, try); err != nil {
		return nil, err
	}
	var holds []held
	for range n {
		h, err := s.takeNext(ctx, sess, lock, holds, try)
		if err != nil {
			over, cancel := context.WithCancel(ctx)
			cancel()
			_ = releaseAll(over, holds) // goes on in the background
			return nil, goneError(err)
		}
		holds = append(holds, h)
	}
	return newPermits(s.client, s.path, n, holds), nil
}

// takeNext is takeLease in addition to held leases. It fails with ErrGone as
// soon as a held lease is lost.
func (s *Semaphore) takeNext(ctx context.Context, sess *session.Session, lock *contender.Contender, holds []held, try bool) (held, error) {
	all := make([]context.Context, len(holds))
	for i, h := range holds {
		all[i] = h.hold.Context()
	}
	waiting, cancel := session.WithHolds(ctx, all...)
	defer cancel(nil)
	h, err := s.takeLease(waiting, sess, lock, try)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		err = fmt.Errorf("%w: %w", contender.ErrGone, context.Cause(waiting))
	}
	return h, err
}

// takeLease creates a lease and waits until the lease counts. After a failure,
// takeLease leaves nothing behind.
func (s *Semaphore) takeLease(ctx context.Context, sess *session.Session, lock *contender.Contender, try bool) (held, error) {
	c, err := contender.Enter(ctx, sess, contender.Spec{
		Dir: s.leasesDir(), Name: func() string { return znode.Protected(lockformat.CuratorLease) },
		Markers: []string{lockformat.CuratorLease}, Data: s.opts.Data, ACL: s.opts.ACL, Rule: contender.Exclusive,
	})
	if err != nil {
		return held{}, err
	}
	err = s.awaitRoom(ctx, sess, c.Node().Path, lock.Node().Path, try)
	var hold *session.Hold
	if err == nil {
		hold, err = c.Hold(ctx)
	}
	if err != nil {
		c.LeaveBehind()
		return held{}, err
	}
	return held{hold, c.Node().Stat.Czxid}, nil
}

// awaitRoom waits until the number of leases does not exceed the number of
// permits. Like in Curator, every child counts. awaitRoom fails with ErrGone if
// the own lease or the lock was deleted: without the lock, other contenders create
// leases too, and contenders that count all leases might wait for each other
// indefinitely.
func (s *Semaphore) awaitRoom(ctx context.Context, sess *session.Session, own, lock string, try bool) error {
	for {
		leases, watch, locked, err := s.listLeases(ctx, sess, lock)
		if err != nil {
			return err
		}
		room := len(leases) <= s.permits
		switch {
		case !slices.Contains(leases, znode.Base(own)):
			err = fmt.Errorf("%s: %w", own, contender.ErrGone)
		case !room && try:
			err = ErrBusy
		// Before the first wait, too: if the lock went before the listing, another client
		// may have made its lease by then, and both would wait indefinitely for an event.
		case !locked:
			err = fmt.Errorf("%s: %w", lock, contender.ErrGone)
		}
		if err != nil || room {
			watch.Stop()
			return err
		}
		if _, err := watch.Wait(ctx); err != nil {
			return err
		}
	}
}

// listLeases lists the leases, and reports whether the lock exists then, or later. Both
// reads are sent at once. If the first one fails, both are repeated one after the other,
// so that the second one never tells of an earlier time.
func (s *Semaphore) listLeases(ctx context.Context, sess *session.Session, lock string) (leases []string, watch *session.Watch, locked bool, err error) {
	list, look := sess.StartChildren(s.leasesDir(), true), sess.StartExists(lock, false)
	seen, err := list.Wait(ctx)
	leases, watch = seen.Children, seen.Watch
	switch {
	case err == nil:
		if own, err := look.Wait(ctx); err == nil {
			return leases, watch, own.Exists, nil
		}
	case !errors.Is(err, session.ErrNoNode):
		optimistic.StopWatch(list)
		leases, _, watch, err = sess.ChildrenW(ctx, s.leasesDir()) // knows what to repeat
	}
	if err != nil {
		return nil, nil, false, err
	}
	if _, locked, err = sess.Exists(ctx, lock); err != nil {
		watch.Stop()
	}
	return leases, watch, locked, err
}
