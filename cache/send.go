package cache

import (
	"errors"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// send sends the requests of the machine, in their order.
func (r *runner[T]) send() {
	for r.hasRoom() {
		req, ok := r.machine.nextRequest()
		if !ok {
			break
		}
		if req.op == opGet && r.sub != nil {
			if r.batch.add(req) {
				r.sendBatch()
			}
			continue
		}
		r.sendBatch()
		r.sendOne(req)
	}
	r.sendBatch()
}

func (r *runner[T]) sendOne(req request) {
	r.start(req).Then(func(seen session.Seen, err error) {
		r.inbox.put(item{reply: &reply{req: req, seen: seen, err: err}})
		if seen.Watch != nil {
			// Here, and not when the answer is handled: an event must not come after
			// answers to later requests. A deletion that came after a list would take
			// out a node that the list has found to exist again.
			seen.Watch.OnFire(func(ev session.Event) { r.onWatch(ev, req.gen) })
		}
	})
}

// hasRoom reports whether to send one more request. A batch is not sent before there is
// room for all of it: otherwise each answer would lead to one small request.
func (r *runner[T]) hasRoom() bool {
	free := r.window - r.machine.flying
	if r.sub == nil || !r.batch.empty() {
		return free > 0
	}
	return free >= min(r.batch.size, r.machine.queued(), r.window)
}

func (r *runner[T]) start(req request) *session.Future[session.Seen] {
	watch := r.sub == nil
	switch req.op {
	case opStat:
		return r.s.StartExists(req.n.path, watch)
	case opList:
		return r.s.StartChildren(req.n.path, watch)
	default:
		return r.s.StartGet(req.n.path, watch)
	}
}

// sendBatch sends the gathered reads.
func (r *runner[T]) sendBatch() {
	reqs, paths := r.batch.takeRequests()
	if len(reqs) > 1 {
		if f := r.startBatch(paths); f != nil {
			r.awaitBatch(reqs, f)
			return
		}
		r.batch.sendAlone()
	}
	for _, req := range reqs {
		r.sendOne(req)
	}
}

// startBatch sends one request for all of paths; after an answer was too large it sends
// none and returns nil: one by one the answers may fit.
func (r *runner[T]) startBatch(paths []string) *session.Future[[]session.Result] {
	r.sizes.mu.Lock()
	defer r.sizes.mu.Unlock()
	if r.sizes.exceeded {
		return nil
	}
	return r.s.StartGets(paths...)
}

// awaitBatch passes on the answer to each of reqs.
func (r *runner[T]) awaitBatch(reqs []request, f *session.Future[[]session.Result]) {
	f.Then(func(all []session.Result, err error) {
		if errors.Is(err, session.ErrReplyTooLarge) {
			// Here, before there is a next connection, and not when the answer is
			// handled, which may be after the next batch.
			r.sizes.exceed()
		}
		items := make([]item, len(reqs))
		for i, req := range reqs {
			rep := &reply{req: req, err: err, of: len(reqs)}
			if err == nil {
				rep.seen, rep.err = session.Seen{Data: all[i].Data, Stat: all[i].Stat, Exists: true}, all[i].Err
			}
			items[i] = item{reply: rep}
		}
		r.inbox.put(items...)
	})
}

// batchSizes has the findings of the goroutine that reads the connection about the
// length of answers.
type batchSizes struct {
	// mu guards exceeded: the answer to a batch was too large. A batch is sent
	// with mu held, which takes no time, as Start methods do not wait. Without mu a
	// batch could be sent on the next connection by a goroutine that has looked at
	// exceeded before the answer came, and would cost that connection too.
	mu       sync.Mutex
	exceeded bool
}

func (b *batchSizes) exceed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exceeded = true
}
