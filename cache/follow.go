package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// runner is a view in one session: it carries items from the session to the
// machine, and requests and changes from there to the session and the store.
type runner[T any] struct {
	*View[T]
	s       *session.Session
	inbox   *inbox
	sub     *session.Subscription // nil: one-shot watches only
	batch   batch
	watches watches
}

// follow keeps the view up to date as long as s lives. It returns nil when s is
// lost.
func (v *View[T]) follow(ctx context.Context, s *session.Session) error {
	r := &runner[T]{View: v, s: s, inbox: newInbox(), watches: make(watches), batch: newBatch()}
	v.mu.Lock()
	v.link = &link{s: s, inbox: r.inbox}
	v.mu.Unlock()
	defer r.close()
	err := r.subscribe(ctx)
	if err == nil {
		r.begin()
		err = r.loop(ctx)
	}
	if ctx.Err() == nil && session.Passing(err) {
		return nil
	}
	return err
}

// close lets go of the session.
func (r *runner[T]) close() {
	r.mu.Lock()
	r.proveLocked()
	r.link = nil
	r.mu.Unlock()
	if r.sub != nil {
		r.sub.Stop()
	}
	r.inbox.close()
	r.watches.stopAll()
	for _, it := range r.spare {
		it.release() // what was taken, and Run ended before its turn
	}
	clear(r.spare)
}

// subscribe sets the persistent watch, ahead of all reads. Where there can be
// none the view has one-shot watches: on servers older than 3.6, and if
// somebody in this session has a subscription to the same path that is not
// recursive, since servers keep one kind per path.
func (r *runner[T]) subscribe(ctx context.Context) error {
	r.sub = nil
	if r.plain {
		return nil
	}
	sub, err := r.s.Subscribe(ctx, r.path, true, r.notified)
	switch {
	case errors.Is(err, session.ErrUnsupported), errors.Is(err, session.ErrInvalidOption):
		return nil
	case err != nil:
		return err
	}
	r.sub = sub
	return nil
}

// notified takes an event of the subscription, on the goroutine that reads the
// connection.
func (r *runner[T]) notified(ev session.Event) { r.fired(ev, 0) }

func (r *runner[T]) fired(ev session.Event, gen int) {
	it := item{event: ev, gen: gen}
	if ev.Path == "" {
		it.heard = heard(r.s)
	}
	r.inbox.put(it)
}

// begin compares all with the server, on a connection that may be new. In a new
// session the first reads go behind a sync: the server that it is made on may
// not know yet what the last one has shown.
func (r *runner[T]) begin() {
	r.watches.stopAll()
	r.machine.begin(r.sub == nil)
	r.mu.Lock()
	r.link.since, r.link.clean = time.Time{}, false
	if r.sub != nil {
		r.link.since = r.client.State().Since
	}
	r.mu.Unlock()
	if r.synced != r.s {
		// If it gets no answer, the reads behind it are void, also those that
		// the next connection was fast enough to answer.
		req := request{gen: r.machine.gen}
		r.s.StartSync(r.path).Then(func(_ struct{}, err error) {
			r.inbox.put(item{reply: &reply{req: req, err: err}})
		})
	}
}

// loop deals with what comes until the session is lost or the view cannot go
// on.
func (r *runner[T]) loop(ctx context.Context) error {
	for {
		r.send()
		r.publish()
		select {
		case <-r.inbox.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.s.Context().Done():
			return context.Cause(r.s.Context())
		}
		items, overrun := r.take()
		for _, it := range items {
			if err := r.handle(ctx, it); err != nil {
				r.publish()
				return err
			}
		}
		if overrun {
			r.begin()
		}
	}
}

// take takes what has come. From then on the view is behind, for all to see.
func (r *runner[T]) take() ([]item, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	items, overrun := r.inbox.take(r.spare)
	r.spare = items
	r.link.clean = false
	return items, overrun
}

func (r *runner[T]) handle(ctx context.Context, it item) error {
	if it.reply != nil {
		return r.replied(ctx, it.reply)
	}
	if !it.heard.IsZero() && r.machine.idle() {
		r.flush() // it is not known before it is shown
		r.mu.Lock()
		r.provenLocked(it.heard)
		r.mu.Unlock()
	}
	switch it.event.Type {
	case session.EventReattached:
		r.begin()
	case session.EventSessionOver:
		return r.s.Err()
	case session.EventDisconnected:
		return r.detached(ctx, it.gen)
	default:
		r.machine.event(it.event.Type, it.event.Path)
	}
	return nil
}

// detached: the persistent watch has ended with a server that does not know of
// such; or a one-shot watch has, with its connection.
func (r *runner[T]) detached(ctx context.Context, gen int) error {
	if r.sub == nil {
		return r.lost(ctx, gen)
	}
	r.sub.Stop()
	if err := r.subscribe(ctx); err != nil {
		return err
	}
	r.begin()
	return nil
}

// lost: the connection on which gen began is. A subscription tells when there is
// the next; without one, the answer to a sync does.
func (r *runner[T]) lost(ctx context.Context, gen int) error {
	if gen != r.machine.gen {
		return nil
	}
	r.machine.stall()
	if r.sub != nil {
		return nil
	}
	r.publish()
	if err := r.s.Sync(ctx, r.path); err != nil {
		return err
	}
	r.synced = r.s
	r.begin()
	return nil
}

// replied takes an answer to the machine.
func (r *runner[T]) replied(ctx context.Context, rep *reply) error {
	a := answer{data: rep.seen.Data, names: rep.seen.Children, stat: rep.seen.Stat}
	switch {
	case session.NotSent(rep.err), session.Unanswered(rep.err):
		return r.lost(ctx, rep.req.gen)
	case rep.of > 1 && errors.Is(rep.err, session.ErrReplyTooLarge):
		r.batch.alone() // one by one they may fit; their connection is lost
		return r.lost(ctx, rep.req.gen)
	case errors.Is(rep.err, session.ErrNoNode), rep.err == nil && rep.req.op == opStat && !rep.seen.Exists:
		a.outcome = missing
	case errors.Is(rep.err, session.ErrNoAuth):
		a.outcome = denied
	case rep.err != nil:
		return rep.err
	}
	if rep.req.op == opNone {
		r.synced = r.s
		return nil
	}
	r.machine.answer(rep.req, a)
	r.batch.answered(rep)
	if rep.seen.Watch != nil {
		r.keep(rep.req, rep.seen.Watch)
	}
	if r.machine.refused {
		return fmt.Errorf("%w: %s may not be read", session.ErrNoAuth, r.path)
	}
	return nil
}

// publish shows what the machine has found out.
func (r *runner[T]) publish() {
	r.watches.stop(r.machine.takeDropped())
	r.flush()
	r.mu.Lock()
	r.link.clean = r.machine.idle()
	r.exists, r.pending = r.machine.root.known, r.machine.pending()
	clean := r.link.clean
	r.proveLocked()
	r.mu.Unlock()
	if clean {
		r.store.complete()
	}
}

// flush decodes the changes and applies them. What comes before a decoder that
// panics is applied; the rest waits for the next time.
func (r *runner[T]) flush() {
	changes := r.machine.changes
	if len(changes) == 0 {
		return
	}
	steps := make([]step[T], 0, len(changes))
	defer func() {
		r.store.apply(steps)
		r.machine.changes = slices.Delete(changes, 0, len(steps))
	}()
	for _, c := range changes {
		steps = append(steps, decoded(c, r.decode))
	}
}
