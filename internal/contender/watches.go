package contender

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// predecessors is a contender's watches on other contenders, by their names. The
// watches stay during the wait: a wake-up costs new watches only for newly watched
// contenders.
type predecessors struct {
	live  map[string]*session.Watch
	fired chan struct{} // cap 1: a watch in live has fired
}

func newPredecessors() predecessors {
	return predecessors{live: make(map[string]*session.Watch), fired: make(chan struct{}, 1)}
}

// abandonAll drops the watches and leaves their ends on the server to the nodes'
// deletion: contenders come and go, and a request each to take them back would
// cost more than the event.
func (a *predecessors) abandonAll() {
	for name, w := range a.live {
		w.Abandon()
		delete(a.live, name)
	}
}

// stopAll also removes the watches from the server: a contender may give up again
// and again, while its predecessors stay.
func (a *predecessors) stopAll() {
	for name, w := range a.live {
		w.Stop()
		delete(a.live, name)
	}
}

// watchOnly makes sure that names, and no other contenders, are watched. The result
// is the names of deleted contenders.
func (a *predecessors) watchOnly(ctx context.Context, s *session.Session, dir string, names []string) (gone []string, err error) {
	for name, w := range a.live {
		if !slices.Contains(names, name) {
			w.Abandon()
			delete(a.live, name)
		}
	}
	reads := make(map[string]*session.Future[session.Seen], len(names))
	for _, name := range names {
		if a.live[name] == nil {
			// A read of data leaves no watch behind on a deleted node.
			reads[name] = s.StartGet(znode.Join(dir, name), true)
		}
	}
	for name, read := range reads {
		seen, readErr := read.Wait(ctx)
		switch {
		case readErr == nil:
			a.live[name] = seen.Watch
			seen.Watch.OnFire(func(session.Event) { a.signal() })
		case errors.Is(readErr, session.ErrNoNode):
			gone = append(gone, name)
		default:
			err = readErr
			optimistic.StopWatch(read) // no contender waits for the watch any more
		}
	}
	return gone, err
}

// areWatched reports whether all of names are watched.
func (a *predecessors) areWatched(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return a.live[name] == nil })
}

func (a *predecessors) signal() {
	select {
	case a.fired <- struct{}{}:
	default:
	}
}

// takeEvent removes a fired watch, and returns its name and its event.
func (a *predecessors) takeEvent() (string, session.Event, bool) {
	for name, w := range a.live {
		select {
		case <-w.Done():
			delete(a.live, name)
			return name, w.Event(), true
		default:
		}
	}
	return "", session.Event{}, false
}

// awaitAny waits until a contender of names may have left, and returns the
// contenders that surely have left: none if the queue must be listed again. waited
// is false if they had left before the watches were set.
//
// After a heartbeat period the contender also watches its own node. Not before: in
// a fast queue, this watch would be one request in five, and a hold finds out
// within the same period anyway.
func (c *Contender) awaitAny(ctx context.Context, names []string) (gone []string, waited bool, err error) {
	c.event = 0
	gone, err = c.predecessors.watchOnly(ctx, c.s, c.spec.Dir, names)
	switch {
	case err != nil && ctx.Err() == nil && c.s.Err() == nil && (session.NotSent(err) || session.Unanswered(err) || errors.Is(err, session.ErrThrottled)):
		c.cuts++ // on the next connection, or when the server has less to do, look again
		return nil, false, c.s.BackOff(ctx, c.cuts-1)
	case err != nil:
		return nil, false, err
	}
	c.cuts, c.waited = 0, true
	if len(gone) > 0 {
		return gone, false, nil
	}
	slow := time.NewTimer(c.s.Heartbeat())
	defer slow.Stop()
	for {
		if name, ev, ok := c.predecessors.takeEvent(); ok {
			if c.event = ev.Type; c.event == session.EventDeleted {
				gone = append(gone, name)
			}
			return gone, true, nil
		}
		select {
		case <-c.predecessors.fired:
		case <-slow.C:
			if err := c.watchSelf(ctx); err != nil {
				return nil, false, err
			}
		case <-doneOf(c.self):
			deleted := c.self.Event().Type == session.EventDeleted
			c.self = nil
			if deleted {
				return nil, false, c.goneError()
			}
			return nil, false, nil
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		case <-c.s.Context().Done():
			return nil, false, c.s.Err()
		}
	}
}

// doneOf is w's channel; nil, and never ready, without a watch.
func doneOf(w *session.Watch) <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.Done()
}

// watchSelf makes sure that the contender learns of the deletion of its own node.
func (c *Contender) watchSelf(ctx context.Context) error {
	if c.self != nil {
		return nil
	}
	_, exists, w, err := c.s.ExistsW(ctx, c.node.Path)
	if err != nil {
		return err
	}
	if !exists {
		w.Stop()
		return c.goneError()
	}
	c.self = w
	return nil
}
