package workerctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// onReply takes the reply to a read.
func (r *rosterRun) onReply(ctx context.Context, it rosterItem) error {
	switch {
	case it.gen != r.gen:
		releaseWatches([]rosterItem{it})
		return nil
	case it.of > 1 && errors.Is(it.err, session.ErrReplyTooLarge):
		r.batch = 1 // the members may fit one by one; the connection is lost
		return r.onLoss(ctx, it.gen)
	case session.NotSent(it.err), session.Unanswered(it.err):
		return r.onLoss(ctx, it.gen)
	case it.kind == readSync:
		r.synced = it.err == nil
		return it.err
	}
	r.keepWatch(it)
	denied := errors.Is(it.err, session.ErrNoAuth)
	switch {
	case denied && (it.kind == readLive || it.kind == readMembers):
		return fmt.Errorf("the members may not be read: %w", it.err)
	case it.err != nil && !denied && !errors.Is(it.err, session.ErrNoNode):
		return it.err
	}
	r.show(it)
	r.state.flying--
	if r.state.flying == 0 {
		r.onRound()
	}
	return nil
}

// onRound: the round in flight is answered.
func (r *rosterRun) onRound() {
	if r.complete {
		r.state.loading = false
		r.announceRound(r.asOf)
	}
	r.checkProofs()
	if r.ahead {
		return
	}
	now := time.Now()
	r.next = now.Add(min(max(r.state.pause(), 2*now.Sub(r.sent)), maxRoundPause, r.s.Timeout()/16))
}

// keepWatch keeps the watch that came with a reply, in place of the last one.
func (r *rosterRun) keepWatch(it rosterItem) {
	at := watchPlace{it.kind, it.id}
	if w := r.watches[at]; w != nil {
		w.Stop() // it has fired, usually
		delete(r.watches, at)
	}
	if it.seen.Watch != nil {
		r.watches[at] = it.seen.Watch
	}
}

// show takes a reply to the state, and to the view.
func (r *rosterRun) show(it rosterItem) {
	it.seen.Exists = it.err == nil && it.seen.Exists
	switch it.kind {
	case readLive:
		r.state.onLive(it.seen.Children)
		if r.state.polling {
			r.changes, r.lists = len(r.state.dirty), r.lists+1
		}
	case readMembers:
		for _, id := range r.state.onMembers(it.seen.Children) {
			r.remove(id)
		}
	case readState:
		if it.err == nil || errors.Is(it.err, session.ErrNoNode) {
			r.state.onStatus(it.seen.Exists, it.seen.Data)
		}
	case readMember:
		r.learnSize(len(it.seen.Data))
		m, what := r.state.onMember(it.id, it.seen)
		switch what {
		case show:
			r.set(m)
		case remove:
			r.remove(it.id)
		case undecided:
			return
		}
		r.noteDecided(it.id)
	}
}
