package election

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/follow"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// AwaitPreemption waits until this leader should make way: until it has led for
// [Options.PreemptAfter], and a candidate with a higher priority waits that would lead next. It
// returns nil then, and changes nothing: end the work, and call [Leadership.Resign]. Without
// PreemptAfter, AwaitPreemption waits for the end of the leadership or of ctx. [Elector.Run] does
// all of this by itself.
//
// If the leadership ends first, the error is its cause, session.ErrReleased or one that wraps
// session.ErrLost. An error of the servers is one that a retry would not repair, such as
// session.ErrNoAuth. From the end of PreemptAfter on, AwaitPreemption takes two reads at once, and
// two more whenever a candidate comes or goes.
func (l *Leadership) AwaitPreemption(ctx context.Context) error {
	l = receiver.OrZero(l)
	const op = "await preemption"
	err := holding.BeginHeld(ctx, l.hold != nil, "election.Leadership", "election.Elector", ErrInvalidArgument)
	if err == nil {
		err = l.awaitPreemption(ctx)
	}
	if err != nil {
		return l.e.failure(ctx, op, err)
	}
	return nil
}

func (l *Leadership) awaitPreemption(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(l.hold.Context(), func() { cancel(context.Cause(l.hold.Context())) })
	defer stop()
	if l.e.opts.PreemptAfter == 0 {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	tenure := time.NewTimer(time.Until(l.since.Add(l.e.opts.PreemptAfter)))
	defer tenure.Stop()
	select {
	case <-tenure.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s := l.hold.Session()
	for lost := 0; ; {
		challenged, watches, err := l.findChallenger(ctx, s)
		if err == nil && !challenged {
			lost, err = 0, follow.AwaitAny(ctx, watches)
		}
		for _, w := range watches {
			w.Stop()
		}
		if err != nil && ctx.Err() == nil && session.IsConnectionLoss(err) {
			err = s.BackOff(ctx, lost)
			lost++
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || challenged:
			return err
		}
	}
}

// findChallenger reports whether a candidate with a higher priority waits and would lead next.
// The watches fire when that may have changed.
func (l *Leadership) findChallenger(ctx context.Context, s *session.Session) (found bool, watches []*session.Watch, err error) {
	places, watch, err := watchChildren(ctx, s, l.e.path+lockformat.RankSuffix)
	if err != nil {
		return false, nil, err
	}
	watches = append(watches, watch)
	queue, watch, err := watchChildren(ctx, s, l.e.path)
	if err != nil {
		return false, watches, err
	}
	watches = append(watches, watch)
	q := znode.Parse(queue, lockformat.ElectionMarkers()...)
	self := q.Index(znode.Base(l.hold.Path()))
	higher := slices.ContainsFunc(places, func(name string) bool {
		r, ok := lockformat.ParsePlace(name)
		return ok && r.Priority > l.e.opts.Priority
	})
	return higher && self >= 0 && givesWay(q, self), watches, nil
}

// watchChildren lists the children of a path that need not exist, with a watch.
func watchChildren(ctx context.Context, s *session.Session, path string) ([]string, *session.Watch, error) {
	for {
		names, _, watch, err := s.ChildrenW(ctx, path)
		if !errors.Is(err, session.ErrNoNode) {
			return names, watch, err
		}
		_, exists, watch, err := s.ExistsW(ctx, path)
		if err != nil || !exists {
			return nil, watch, err
		}
		watch.Stop() // it was made just now
	}
}

// preemption ends the context of the function of Run when the leader should make way.
type preemption struct {
	hold    context.Context // for the function: ends with the leadership, or for ErrPreempted
	watcher sync.WaitGroup
	end     context.CancelCauseFunc
}

// newPreemption begins to watch for candidates with a higher priority, with PreemptAfter.
func (l *Leadership) newPreemption(ctx context.Context) *preemption {
	if l.e.opts.PreemptAfter == 0 {
		return &preemption{hold: l.hold.Context(), end: func(error) {}}
	}
	p := &preemption{}
	p.hold, p.end = l.hold.Derive()
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(p.hold, stop)
	// Waited for by stop; ends with hold.
	p.watcher.Go(func() {
		defer stop()
		if l.awaitPreemption(watching) == nil {
			p.end(ErrPreempted)
		}
	})
	return p
}

// stop ends the watching, and reports whether the leader has been asked to make way.
func (p *preemption) stop() bool {
	p.end(session.ErrReleased)
	p.watcher.Wait()
	return errors.Is(context.Cause(p.hold), ErrPreempted)
}
