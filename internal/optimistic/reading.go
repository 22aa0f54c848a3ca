package optimistic

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// Reading collects the answers to requests that were sent together. The first error
// counts: after it, nothing is sent and nothing is waited for.
type Reading struct {
	Ctx context.Context
	// Session is that of the methods that send requests.
	Session *session.Session
	Err     error

	// ahead is a sync that was sent ahead of the next reads.
	ahead *session.Future[struct{}]
}

// Seen waits for the answer to a read, if all went well before.
func (r *Reading) Seen(f *session.Future[session.Seen]) session.Seen { return answer(r, f) }

// IfThere is Seen of a znode that need not exist.
func (r *Reading) IfThere(f *session.Future[session.Seen]) (out session.Seen, there bool) {
	if r.Err != nil {
		return out, false
	}
	if out = r.Seen(f); errors.Is(r.Err, session.ErrNoNode) {
		r.Err = nil
		return out, false
	}
	return out, r.Err == nil
}

// Collect waits for the replies to reads that were sent together. A znode that does not exist
// has Exists false. If something fails, Collect returns nothing, and stops the watches of
// all reads.
func (r *Reading) Collect(reads ...*session.Future[session.Seen]) []session.Seen {
	r.await()
	out := make([]session.Seen, len(reads))
	for i, read := range reads {
		out[i], _ = r.IfThere(read)
	}
	if r.Err == nil {
		return out
	}
	for _, read := range reads {
		StopWatch(read)
	}
	return nil
}

func answer[T any](r *Reading, f *session.Future[T]) (out T) {
	if r.Err == nil {
		out, r.Err = f.Wait(r.Ctx)
	}
	return out
}

// StopWatch stops the watch that a read has set, or will have set.
func StopWatch(read *session.Future[session.Seen]) {
	read.Then(func(seen session.Seen, err error) {
		if err == nil && seen.Watch != nil {
			seen.Watch.Stop()
		}
	})
}
