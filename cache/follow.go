package cache

import (
	"cmp"
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
	sizes   batchSizes
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
	reading, stop := v.client.ReadContext(ctx, s)
	err := r.subscribe(reading)
	stop()
	if err == nil {
		r.beginLoad()
		err = r.loop(ctx)
	}
	if ctx.Err() == nil && session.IsSessionLoss(err) {
		v.reports.reportStale(err)
		return nil
	}
	return err
}

// close frees the view's watches and requests in the session.
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
		it.release() // taken, and not handled before Run ended
	}
	clear(r.spare)
}

// subscribe sets the persistent watch, ahead of all reads. If the watch cannot be set,
// the view uses one-shot watches: on servers older than 3.6, and if this session has
// another subscription to the same path that is not recursive, since servers keep one
// kind per path.
func (r *runner[T]) subscribe(ctx context.Context) error {
	r.sub = nil
	if r.plain {
		return nil
	}
	sub, err := r.s.Subscribe(ctx, r.path, true, r.onNotification)
	switch {
	case errors.Is(err, session.ErrUnsupported), errors.Is(err, session.ErrInvalidOption):
		return nil
	case err != nil:
		return err
	}
	r.sub = sub
	return nil
}

// onNotification takes an event of the subscription, on the goroutine that reads the
// connection.
func (r *runner[T]) onNotification(ev session.Event) { r.onWatch(ev, 0) }

func (r *runner[T]) onWatch(ev session.Event, gen int) {
	it := item{event: ev, gen: gen}
	if ev.Path == "" {
		it.heard = lastHeard(r.s)
	}
	r.inbox.put(it)
}

// beginLoad compares all with the server, on a connection that may be new. In a new
// session the first reads go behind a sync: the server of the new session may not know
// yet the state that the last server has shown. A server without a quorum does, or would
// not have made the session, and refuses a sync.
func (r *runner[T]) beginLoad() {
	r.reports.reportStale(errConnectionLost)
	r.watches.stopAll()
	r.machine.beginLoad(r.sub == nil)
	r.mu.Lock()
	r.link.since, r.link.clean = time.Time{}, false
	if r.sub != nil {
		r.link.since = r.client.State().Since
	}
	r.mu.Unlock()
	if r.synced != r.s && !r.s.ReadOnly() {
		// If the sync gets no answer, the reads behind it are void, even if the next
		// connection has answered them.
		req := request{gen: r.machine.gen}
		r.s.StartSync(r.path).Then(func(_ struct{}, err error) {
			r.inbox.put(item{reply: &reply{req: req, err: err}})
		})
	}
}

// loop handles the items that come until the session is lost or the view cannot
// continue; or, while it is not up to date, until there is another session to read in.
func (r *runner[T]) loop(ctx context.Context) error {
	var reading context.Context // nil while the view is up to date: it stays as it is
	stop := func() {}
	defer func() { stop() }()
	for {
		r.send()
		var elsewhere <-chan struct{}
		switch clean := r.publishChanges(); {
		case clean:
			stop()
			reading, stop = nil, func() {}
		case reading == nil:
			reading, stop = r.client.ReadContext(ctx, r.s)
			fallthrough
		default:
			elsewhere = reading.Done()
		}
		select {
		case <-elsewhere:
			return context.Cause(reading)
		case <-r.inbox.wake:
		case <-r.reports.stateChanged():
			continue
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.s.Context().Done():
			return context.Cause(r.s.Context())
		}
		items, overrun := r.takeItems()
		for _, it := range items {
			if err := r.handleItem(ctx, it); err != nil {
				r.publishChanges()
				return err
			}
		}
		if overrun {
			r.reports.reportStale(errOverrun)
			r.beginLoad()
		}
	}
}

// takeItems takes the items that have come. From then on the view's status says that it
// is behind.
func (r *runner[T]) takeItems() ([]item, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	items, overrun := r.inbox.takeItems(r.spare)
	r.spare = items
	r.link.clean = false
	return items, overrun
}

func (r *runner[T]) handleItem(ctx context.Context, it item) error {
	if it.reply != nil {
		return r.onReply(ctx, it.reply)
	}
	if !it.heard.IsZero() && r.machine.idle() {
		r.flushChanges() // it is not known before it is shown
		r.mu.Lock()
		r.setProvenLocked(it.heard)
		r.mu.Unlock()
	}
	switch it.event.Type {
	case session.EventReattached:
		r.beginLoad()
	case session.EventSessionOver:
		return r.s.Err()
	case session.EventDisconnected:
		return r.onDetach(ctx, it.gen)
	default:
		r.machine.onEvent(it.event.Type, it.event.Path)
	}
	return nil
}

// onDetach: the persistent watch has ended, with a server that does not support
// persistent watches; or a one-shot watch has, with its connection.
func (r *runner[T]) onDetach(ctx context.Context, gen int) error {
	if r.sub == nil {
		return r.onSessionLoss(ctx, gen)
	}
	r.sub.Stop()
	if err := r.subscribe(ctx); err != nil {
		return err
	}
	r.beginLoad()
	return nil
}

// onSessionLoss: the connection on which gen began is lost. A subscription reports the
// next connection; without a subscription, the answer to a sync does.
func (r *runner[T]) onSessionLoss(ctx context.Context, gen int) error {
	if gen != r.machine.gen {
		return nil
	}
	r.reports.reportStale(cmp.Or(r.client.State().Cause, errConnectionLost))
	r.machine.stopSending()
	if r.sub != nil {
		return nil
	}
	r.publishChanges()
	if err := r.s.Sync(ctx, r.path); err != nil {
		return err
	}
	r.synced = r.s
	r.beginLoad()
	return nil
}

// onReply takes an answer to the machine.
func (r *runner[T]) onReply(ctx context.Context, rep *reply) error {
	a := answer{data: rep.seen.Data, names: rep.seen.Children, stat: rep.seen.Stat}
	switch {
	case session.NotSent(rep.err), session.Unanswered(rep.err):
		return r.onSessionLoss(ctx, rep.req.gen)
	case rep.of > 1 && errors.Is(rep.err, session.ErrReplyTooLarge):
		return r.onSessionLoss(ctx, rep.req.gen) // its connection is lost
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
	r.machine.onReply(rep.req, a)
	r.batch.onReply(rep)
	if rep.seen.Watch != nil {
		r.keepWatch(rep.req, rep.seen.Watch)
	}
	if r.machine.refused {
		return fmt.Errorf("%w: %s may not be read", session.ErrNoAuth, r.path)
	}
	return nil
}

// publishChanges shows the changes that the machine has found, and reports whether it has
// nothing left to do.
func (r *runner[T]) publishChanges() (clean bool) {
	r.watches.stop(r.machine.takeDropped())
	r.flushChanges()
	r.mu.Lock()
	r.link.clean = r.machine.idle()
	r.exists, r.pending = r.machine.root.known, r.machine.pending()
	clean = r.link.clean
	r.proveLocked()
	r.mu.Unlock()
	if clean {
		r.store.setLoaded()
	}
	r.reportCurrent(clean)
	return clean
}

// flushChanges decodes the changes and applies them. If the decoder panics, the
// changes before are applied; the rest waits for the next call.
func (r *runner[T]) flushChanges() {
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
