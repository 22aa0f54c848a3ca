package cache

import "github.com/zkrecipes/zkrecipes/session"

// send sends what the machine wants to know, in its order.
func (r *runner[T]) send() {
	for r.room() {
		req, ok := r.machine.next()
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
			// Here, and not when the answer is dealt with: an event must
			// not come after answers to later requests. A deletion that
			// came after a list would take out a node that the list has
			// found to be there again.
			seen.Watch.OnFire(func(ev session.Event) { r.fired(ev, req.gen) })
		}
	})
}

// room reports whether to send one more. Rather than a part of a batch it sends
// nothing before there is room for all of it: else each answer would make for one
// small request.
func (r *runner[T]) room() bool {
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

// sendBatch sends what was gathered.
func (r *runner[T]) sendBatch() {
	reqs, paths := r.batch.take()
	switch len(reqs) {
	case 0:
	case 1:
		r.sendOne(reqs[0])
	default:
		r.s.StartGets(paths...).Then(func(all []session.Result, err error) {
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
}
