package workerctl

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// Change is what has become of a worker.
type Change struct {
	// What is "present" for the workers that are there when the iteration
	// begins; then "joined", "restarted", "left", "failed" or "updated".
	What string
	// Member is the worker as it is then.
	Member Member
}

// What a change is.
const (
	present   = "present"
	joined    = "joined"
	restarted = "restarted"
	updated   = "updated"
)

// Changes iterates over what becomes of the workers: first each of those that have
// joined before, then each change; somebody must run the roster. What happens
// while the loop's body runs may be told as one: of a worker that has died and
// come back one hears that it was restarted. It never goes back. One whose live
// node has gone is only said to have failed when it surely has not left.
//
// It ends with an error that wraps ErrOver when the job is over, and otherwise
// with ctx or when the roster cannot go on; that is the last element.
func (r *Roster) Changes(ctx context.Context) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		const op = "follow the members of"
		err := r.follow(ctx, func(c Change) bool { return yield(c, nil) })
		if err != nil {
			yield(Change{}, failure(ctx, op, r.job.Path(), err))
		}
	}
}

// follow tells changes until tell says that it is enough.
func (r *Roster) follow(ctx context.Context, tell func(Change) bool) error {
	while, end := context.WithCancelCause(ctx)
	hints := make(chan struct{}, 1)
	var watching sync.WaitGroup
	// Waited for below; ends with while.
	watching.Go(func() { end(hint(while, hints, r.members.Events(while))) })
	// Waited for below; ends with while.
	watching.Go(func() { end(hint(while, hints, r.live.Events(while))) })
	// Waited for below; ends with while.
	watching.Go(func() { end(r.job.awaitOver(while)) })
	defer watching.Wait()
	defer end(nil)
	b := &book{known: map[int]Member{}, seen: map[int]bool{}}
	for {
		select {
		case <-hints:
		case <-while.Done():
			select {
			case <-hints: // what comes before the end is told
			default:
				return context.Cause(while)
			}
		}
		if r.members.Status().Loaded && r.live.Status().Loaded {
			more, err := r.compare(ctx, b, tell)
			if err != nil || !more {
				return err
			}
			b.begun = true
		}
	}
}

// hint tells that something has changed.
func hint[T any](ctx context.Context, hints chan<- struct{}, events iter.Seq2[T, error]) error {
	for _, err := range events {
		if err != nil {
			return err
		}
		select {
		case hints <- struct{}{}:
		default:
		}
	}
	return context.Cause(ctx)
}

// book is what a reader was told.
type book struct {
	begun bool
	// known is what was told last of each id; seen are those that the view has
	// shown.
	known map[int]Member
	seen  map[int]bool
}

// compare tells what is new in the view, in the order of the ids.
func (r *Roster) compare(ctx context.Context, b *book, tell func(Change) bool) (more bool, err error) {
	there := map[int]bool{}
	var fresh []Member
	var dead []int
	for _, m := range r.Joined() {
		there[m.ID], b.seen[m.ID] = true, true
		if before, known := b.known[m.ID]; known && !b.newer(before, m) {
			continue
		}
		fresh = append(fresh, m)
		if m.State == failed {
			dead = append(dead, m.ID)
		}
	}
	now, err := r.job.verify(ctx, dead)
	if err != nil {
		return false, err
	}
	for _, m := range fresh {
		before, known := b.known[m.ID]
		if m.State == failed {
			sure, found := now[m.ID]
			if !found || known && !b.newer(before, sure) {
				continue // it is being removed; or this was told before
			}
			m = sure
		}
		b.known[m.ID] = m
		if !tell(b.change(before, known, m)) {
			return false, nil
		}
	}
	b.forget(there)
	return true, nil
}

// newer reports whether m is something that comes after before.
func (b *book) newer(before, m Member) bool {
	switch {
	case m.created != before.created:
		return m.created > before.created
	case m.Incarnation != before.Incarnation:
		return m.Incarnation > before.Incarnation
	case before.State != running:
		return false // that was the end of this incarnation
	}
	return m.State != running || m.edition > before.edition
}

func (b *book) change(before Member, known bool, m Member) Change {
	switch {
	case !b.begun:
		return Change{present, m}
	case m.State != running:
		return Change{string(m.State), m}
	case !known || m.created != before.created:
		return Change{joined, m}
	case m.Incarnation > before.Incarnation && before.State == left && m.Identity.Name != before.Identity.Name:
		return Change{joined, m} // the id is used again
	case m.Incarnation > before.Incarnation:
		return Change{restarted, m}
	}
	return Change{updated, m}
}

// forget strikes out those that are not there any more: the job has become
// smaller, or is being removed.
func (b *book) forget(there map[int]bool) {
	for id := range b.known {
		if !there[id] && b.seen[id] {
			delete(b.known, id)
			delete(b.seen, id)
		}
	}
}

// verify reads how workers stand at this moment that seem to have died. Of a job
// that is over nobody has failed: it was killed.
func (j *Job) verify(ctx context.Context, ids []int) (now map[int]Member, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = persist(ctx, j.client, func(s *session.Session) error {
		now = map[int]Member{}
		r := newReading(ctx)
		r.Synced(j.sync(s))
		dead := false
		for chunk := range slices.Chunk(ids, together) {
			for _, m := range j.readMembers(ctx, s, r, chunk) {
				now[m.ID] = m
				dead = dead || m.State == failed
			}
		}
		st, _ := r.status(s.StartGet(j.run.at(stateNode), false))
		if r.Err == nil && st.State.Over() && (dead || len(now) < len(ids)) {
			return ErrOver
		}
		return r.Err
	})
	return now, err
}

func sortMembers(list []Member) {
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
}
