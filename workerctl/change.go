package workerctl

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Change is a change of a worker's state.
type Change struct {
	// The kind of the change: "present" for the workers that exist when the iteration
	// begins; then "joined", "restarted", "left", "failed" (left by Worker.Fail),
	// "dead" or "updated".
	What string
	// Member is the worker after the change.
	Member Member
}

// The kinds of changes.
const (
	present   = "present"
	joined    = "joined"
	restarted = "restarted"
	updated   = "updated"
)

// Changes iterates over the changes of the workers: first each worker that has
// joined before, then each change. The roster must be running. Changes that
// happen while the loop's body runs may be combined: a worker that has died and
// come back is reported as restarted. The iteration never goes back. A worker
// whose live znode has gone is reported as failed only when it certainly has not
// left.
//
// The iteration ends with an error that wraps ErrOver when the job is over, and
// otherwise with ctx or when the roster cannot continue; the error is the last
// element. Before ErrOver, the iteration reports how the last workers have
// left, even if the job was removed before the view was up to date. If the job
// has finished and its records are gone, each worker not yet reported as left
// is reported as left, with the Member reported last. For other jobs such a
// worker is not reported.
func (r *Roster) Changes(ctx context.Context) iter.Seq2[Change, error] {
	r = receiver.OrZero(r)
	return func(yield func(Change, error) bool) {
		const op = "follow the members of"
		if err := r.checkCall(ctx); err != nil {
			yield(Change{}, wrapError(ctx, op, r.errorPath(), err))
			return
		}
		err := r.followChanges(ctx, func(c Change) bool { return yield(c, nil) })
		if err != nil {
			yield(Change{}, wrapError(ctx, op, r.job.Path(), err))
		}
	}
}

// followChanges passes changes to tell until tell returns false.
func (r *Roster) followChanges(ctx context.Context, tell func(Change) bool) error {
	while, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	// Waited for below; ends with while.
	watching.Go(func() { end(r.job.awaitOver(while)) })
	defer watching.Wait()
	defer end(nil)
	reader := r.view.newReader()
	defer r.view.dropReader(reader)
	b := &book{known: map[int]Member{}, forgotten: map[int]Member{}, seen: map[int]bool{}}
	for {
		select {
		case <-reader.wake:
		case <-while.Done():
			select {
			case <-reader.wake: // changes before the end are reported
			default:
				return r.reportEnd(ctx, b, tell, context.Cause(while))
			}
		}
		ids, loaded, over := r.view.takeIDs(reader)
		if loaded {
			more, err := r.reportNews(ctx, b, tell, ids)
			if err != nil || !more {
				return r.reportEnd(ctx, b, tell, err)
			}
			b.begun = true
		}
		if over != nil {
			end(over)
		}
	}
}

// book records what a reader was told.
type book struct {
	begun bool
	// known is the last reported member of each id; seen are the ids shown by
	// the view; forgotten are the members no longer shown.
	known, forgotten map[int]Member
	seen             map[int]bool
}

// reportNews reports the news of the workers ids in the view, in the order of the ids.
func (r *Roster) reportNews(ctx context.Context, b *book, tell func(Change) bool, ids []int) (more bool, err error) {
	var fresh []Member
	var died, absent []int
	for _, id := range ids {
		m, shown := r.view.get(id)
		if !shown {
			absent = append(absent, id)
			continue
		}
		b.seen[id] = true
		if before, known := b.known[id]; known && !isNewer(before, m) {
			continue
		}
		fresh = append(fresh, m)
		if m.State == dead {
			died = append(died, id)
		}
	}
	now, err := r.job.verifyMembers(ctx, died)
	if err != nil {
		return false, err
	}
	for _, m := range fresh {
		before, known := b.known[m.ID]
		if m.State == dead {
			sure, found := now[m.ID]
			if !found || known && !isNewer(before, sure) {
				continue // being removed, or already reported
			}
			m = sure
		}
		b.known[m.ID] = m
		if !tell(b.describeChange(before, known, m)) {
			return false, nil
		}
	}
	for _, id := range absent {
		b.forget(id)
	}
	return true, nil
}

// isNewer reports whether m comes after before.
func isNewer(before, m Member) bool {
	switch {
	case m.created != before.created:
		return m.created > before.created
	case m.Incarnation != before.Incarnation:
		return m.Incarnation > before.Incarnation
	case before.State != running:
		return false // the end of this incarnation was already reported
	}
	return m.State != running || m.edition > before.edition
}

func (b *book) describeChange(before Member, known bool, m Member) Change {
	switch {
	case !b.begun:
		return Change{present, m}
	case m.State != running:
		return Change{string(m.State), m}
	case !known || m.created != before.created:
		return Change{joined, m}
	case m.Incarnation > before.Incarnation && before.State.hasLeft() && m.Identity.Name != before.Identity.Name:
		return Change{joined, m} // the id is used again
	case m.Incarnation > before.Incarnation:
		return Change{restarted, m}
	}
	return Change{updated, m}
}

// forget moves a member that does not exist any more to forgotten: the job has become
// smaller, or is being removed.
func (b *book) forget(id int) {
	if m, known := b.known[id]; known && b.seen[id] {
		b.forgotten[id] = m
		delete(b.known, id)
	}
	delete(b.seen, id)
}

// reportEnd reports the remaining changes when the iteration ends with err, and returns
// err.
func (r *Roster) reportEnd(ctx context.Context, b *book, tell func(Change) bool, err error) error {
	if b.begun && errors.Is(err, ErrOver) {
		r.reportLast(ctx, b, tell)
	}
	return err
}

// reportLast reports the workers whose leaving was not reported before the job was over.
// The view may be older than the end of the job, and the members may have been removed
// meanwhile. But all workers of a finished job have left, and none has failed.
func (r *Roster) reportLast(ctx context.Context, b *book, tell func(Change) bool) {
	out, err := r.job.readOutcome(ctx)
	for id, m := range b.forgotten {
		if _, again := b.known[id]; !again {
			b.known[id] = m
		}
	}
	ids := slices.DeleteFunc(idsFrom(0, out.Joined), func(id int) bool { return b.known[id].State.hasLeft() })
	if err != nil || len(ids) == 0 {
		return
	}
	now := map[int]Member{}
	err = readFresh(ctx, r.job.client, func(s *session.Session) error {
		reading := newReading(ctx, s)
		for chunk := range slices.Chunk(ids, together) {
			for _, m := range reading.readMembers(r.job, chunk) {
				now[m.ID] = m
			}
		}
		return reading.Err
	})
	for _, id := range ids {
		before, known := b.known[id]
		m, there := now[id]
		switch {
		case err == nil && there && m.State.hasLeft() && (!known || isNewer(before, m)):
		case !there && known && out.State == finished:
			m = before
			m.State = left
		default:
			continue
		}
		b.known[id] = m
		if !tell(b.describeChange(before, known, m)) {
			return
		}
	}
}

// verifyMembers reads the present state of workers that seem to have died. If the job is
// over, it was killed: verifyMembers then returns ErrOver instead of dead workers.
func (j *Job) verifyMembers(ctx context.Context, ids []int) (now map[int]Member, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = readFresh(ctx, j.client, func(s *session.Session) error {
		now = map[int]Member{}
		r := newReading(ctx, s)
		died := false
		for chunk := range slices.Chunk(ids, together) {
			for _, m := range r.readMembers(j, chunk) {
				now[m.ID] = m
				died = died || m.State == dead
			}
		}
		st, _ := r.readStatus(j)
		if r.Err == nil && st.State.Over() && (died || len(now) < len(ids)) {
			return ErrOver
		}
		return r.Err
	})
	return now, err
}

func sortMembers(list []Member) {
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
}
