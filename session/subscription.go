package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// Subscription is a persistent watch (ZooKeeper 3.6 and newer). It receives every
// change while the connection lasts, and EventReattached when it was set again on
// a new connection; changes in between must be read. A subscription ends with the
// session, and EventSessionOver is its last event; or with a server that refuses
// to set it again (an older or an overloaded server), and EventDisconnected is its last event.
type Subscription struct {
	set       *subscriptionSet
	path      string // the server's
	recursive bool
	notify    func(Event)
	// sent, guarded by set.mu: its request has left on the present connection. Only
	// then may a one-shot watch rely on the subscription: of two requests on one
	// connection the server carries out the first one first.
	sent bool

	// mu guards ended: the last event was notified. It is held while notify
	// runs, so that there is one event at a time and none after the last; an
	// end of the session comes from another goroutine than its events.
	mu    sync.Mutex
	ended bool
}

// deliver notifies ev, the last one or not, unless the last one was before.
func (sub *Subscription) deliver(ev Event, last bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if !sub.ended {
		sub.ended = last
		sub.notify(ev)
	}
}

// Subscribe sets a persistent watch on path, which need not exist: with recursive
// on all znodes at and below path (events: created, deleted, data changed),
// otherwise on the znode and its list of children. notify receives each event,
// one at a time and in order, on goroutines that move the session's bytes: notify
// must not block, and must not call methods that wait for a reply.
//
// On a server older than 3.6, and on servers of the Keeper family, the error wraps
// ErrUnsupported. Two subscriptions of one path must agree on recursive.
func (s *Session) Subscribe(ctx context.Context, path string, recursive bool, notify func(Event)) (*Subscription, error) {
	s.mustBeUsable(ctx)
	mustHaveFunction(notify != nil)
	const op = "subscribe"
	if err := ValidatePath(path); err != nil {
		return nil, &OpError{Op: op, Path: path, Err: err}
	}
	if s.link.Keeper() {
		return nil, &OpError{Op: op, Path: path, Err: fmt.Errorf("%w has no dependable persistent watches", errKeeper)}
	}
	sub := &Subscription{set: s.subs, path: s.serverPath(path), recursive: recursive, notify: notify}
	if err := s.subs.add(sub); err != nil {
		return nil, &OpError{Op: op, Path: path, Err: err}
	}
	_, err := doRequest(ctx, s, op, path, func() *Future[struct{}] {
		s.subs.mu.Lock()
		f := start(s, request[struct{}]{op: op, path: path, code: wire.OpAddWatch, body: sub.encode, decode: decodeNothing})
		sub.sent = !isDone(f.done) || f.err == nil // an error at once: not sent
		s.subs.mu.Unlock()
		f.Then(func(_ struct{}, err error) {
			if errors.Is(err, ErrThrottled) {
				s.subs.notSet(sub.path)
			}
		})
		return f
	}, nil)
	if err != nil {
		sub.Stop()
		return nil, err
	}
	return sub, nil
}

func (sub *Subscription) encode(e *wire.Encoder) {
	mode := wire.WatchPersistent
	if sub.recursive {
		mode = wire.WatchPersistentRecursive
	}
	e.String(sub.path)
	e.Int32(mode)
}

// Stop ends the subscription, on the client and on the server. Stop does not
// wait; it may be called at any time and more than once. An event in flight may
// still be delivered.
func (sub *Subscription) Stop() {
	sub.mustBeMade()
	sub.set.stop(sub)
}

// subscriptionSet is the session's subscriptions.
type subscriptionSet struct {
	s *Session

	// mu guards subs and, like watchSet.mu, orders registrations with
	// requests on the wire. Subscriptions of one path agree on recursive.
	mu   sync.Mutex
	subs map[string][]*Subscription
}

func newSubscriptionSet(s *Session) *subscriptionSet {
	return &subscriptionSet{s: s, subs: make(map[string][]*Subscription)}
}

// count is the number of subscriptions.
func (ss *subscriptionSet) count() (n int) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, subs := range ss.subs {
		n += len(subs)
	}
	return n
}

func (ss *subscriptionSet) add(sub *Subscription) error {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if others := ss.subs[sub.path]; len(others) > 0 && others[0].recursive != sub.recursive {
		return fmt.Errorf("%w: the path has a subscription of the other kind (recursive=%v)", ErrInvalidOption, others[0].recursive)
	}
	ss.subs[sub.path] = append(ss.subs[sub.path], sub)
	return nil
}

func (ss *subscriptionSet) stop(sub *Subscription) {
	if !ss.remove(sub) {
		return
	}
	// One-shot watches of the path relied on the subscription: let them be
	// set again.
	ss.s.watches.fireKeys(sub.path)
}

// remove reports whether sub was the last of its path.
func (ss *subscriptionSet) remove(sub *Subscription) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	subs := ss.subs[sub.path]
	for i, other := range subs {
		if other != sub {
			continue
		}
		subs = append(subs[:i:i], subs[i+1:]...)
		if len(subs) > 0 {
			ss.subs[sub.path] = subs
			return false
		}
		delete(ss.subs, sub.path)
		ss.s.removeWatches(sub.path, wire.RemoveAny)
		return true
	}
	return false
}

// covers reports whether path itself has a subscription on this connection.
func (ss *subscriptionSet) covers(path string) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.ContainsFunc(ss.subs[path], func(sub *Subscription) bool { return sub.sent })
}

// detached: no subscription is set on a server any more.
func (ss *subscriptionSet) detached() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, subs := range ss.subs {
		for _, sub := range subs {
			sub.sent = false
		}
	}
}

// reattach sets all subscriptions again on the new connection, ahead of their owners'
// next reads.
func (ss *subscriptionSet) reattach() {
	ss.mu.Lock()
	var all []*Subscription
	for _, subs := range ss.subs {
		err := ss.s.link.Send(&wire.Call{Op: wire.OpAddWatch, Done: func(a wire.Answer) {
			if a.Err == nil && a.Code != wire.CodeOK {
				ss.refused(subs)
			}
		}}, subs[0].encode)
		for _, sub := range subs {
			sub.sent = err == nil
		}
		all = append(all, subs...)
	}
	ss.mu.Unlock()
	deliverAll(all, Event{Type: EventReattached}, false)
}

// notSet: the server has not carried out the request for the watch of path, which will be
// sent again.
func (ss *subscriptionSet) notSet(path string) {
	ss.mu.Lock()
	for _, sub := range ss.subs[path] {
		sub.sent = false
	}
	ss.mu.Unlock()
	// One-shot watches of the path relied on the subscriptions.
	ss.s.watches.fireKeys(path)
}

// deliverAll notifies subscriptions of ev.
func deliverAll(subs []*Subscription, ev Event, last bool) {
	for _, sub := range subs {
		sub.deliver(ev, last)
	}
}

// refused ends subscriptions that the server of the new connection does not set.
func (ss *subscriptionSet) refused(subs []*Subscription) {
	for _, sub := range subs {
		ss.stop(sub)
		sub.deliver(Event{Type: EventDisconnected}, true)
	}
}

// endAll ends all subscriptions.
func (ss *subscriptionSet) endAll() {
	ss.mu.Lock()
	var all []*Subscription
	for _, subs := range ss.subs {
		all = append(all, subs...)
	}
	ss.subs = make(map[string][]*Subscription)
	ss.mu.Unlock()
	deliverAll(all, Event{Type: EventSessionOver}, true)
}

// fire notifies the subscriptions that ev concerns.
func (ss *subscriptionSet) fire(ev wire.Event) {
	visible, ok := ss.s.visible(ev.Path)
	if !ok {
		return
	}
	out := Event{Type: EventType(ev.Type), Path: visible}
	for _, sub := range ss.matching(ev) {
		sub.deliver(out, false)
	}
}

func (ss *subscriptionSet) matching(ev wire.Event) []*Subscription {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if len(ss.subs) == 0 {
		return nil
	}
	var out []*Subscription
	for _, sub := range ss.subs[ev.Path] {
		if !sub.recursive || EventType(ev.Type) != EventChildrenChanged {
			out = append(out, sub)
		}
	}
	if EventType(ev.Type) == EventChildrenChanged {
		return out
	}
	for at := ev.Path; at != "/"; {
		at = parent(at)
		for _, sub := range ss.subs[at] {
			if sub.recursive {
				out = append(out, sub)
			}
		}
	}
	return out
}
