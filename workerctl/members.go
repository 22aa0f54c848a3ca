package workerctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Member is a worker as other clients see it.
type Member struct {
	ID       int
	Identity Identity
	// State is "running", "left", "failed" or "dead"; see [State].
	State State
	// Incarnation counts the joins under the ID, from 1.
	Incarnation int64
	// Failure is the reason of a worker that has left by Worker.Fail.
	Failure string
	// Joined is the time of the first assignment of the ID. Changed is the time
	// of the last change of its record: the worker came back, left, or updated
	// the record. Both are by the servers' clock.
	Joined, Changed time.Time

	// created is the zxid at which the member's znode was created: created
	// differs if the id was removed from the job and assigned again. modified is the
	// zxid of the last change, edition the record's, and live the name of the live znode.
	created, modified, edition int64
	live                       string
}

func newMember(m member, stat session.Stat, alive bool) Member {
	return Member{
		ID: m.ID, Identity: identityOf(m), State: State(m.State(alive)), Incarnation: m.Incarnation, Failure: m.Failure,
		created: stat.Czxid, modified: stat.Mzxid, edition: m.Edition, live: m.Live(),
		Joined: time.UnixMilli(stat.Ctime), Changed: time.UnixMilli(stat.Mtime),
	}
}

// isOf reports whether m shows the data that came with stat.
func (m Member) isOf(stat session.Stat) bool {
	return m.created == stat.Czxid && m.modified == stat.Mzxid && m.Changed.Equal(time.UnixMilli(stat.Mtime))
}

// Members lists all workers that ever joined, in the order of their ids:
// running, left, and dead workers. Each worker is shown as of one moment after
// the call began. Members takes two requests per worker, many in flight
// together, and two more; see [Roster] for a view that is kept up to date. With
// Spec.ReuseIDs, only the last worker of each id is known. If members of a
// running job were deleted, the list has the other members; the error wraps
// ErrRecord and names the first missing member.
func (j *Job) Members(ctx context.Context) (list []Member, err error) {
	j = receiver.OrZero(j)
	const op = "list the members of"
	if err := j.checkCall(ctx); err != nil {
		return nil, wrapError(ctx, op, j.Path(), err)
	}
	err = readFresh(ctx, j.client, func(s *session.Session) (err error) {
		if list, err = j.listMembers(ctx, s); err != nil && !errors.Is(err, ErrRecord) {
			list = nil
		}
		return err
	})
	if err != nil {
		return list, wrapError(ctx, op, j.Path(), err)
	}
	return list, nil
}

func (j *Job) listMembers(ctx context.Context, s *session.Session) ([]Member, error) {
	r := newReading(ctx, s)
	st, version := r.readStatus(j)
	ids := idsFrom(0, st.Next)
	var out []Member
	for chunk := range slices.Chunk(ids, together) {
		out = append(out, r.readMembers(j, chunk)...)
	}
	if r.Err != nil || len(out) == len(ids) || st.State.Over() {
		return out, r.Err
	}
	// The job has become smaller, or is over, or members were deleted by hand.
	switch now, v := r.readStatus(j); {
	case r.Err != nil:
		return nil, r.Err
	case v != version && !now.State.Over():
		return nil, optimistic.ErrChanged
	case v == version:
		return out, j.lostMember(j.run.memberPath(firstMissing(out)))
	}
	return out, nil
}

// firstMissing is the lowest id missing in list, which must be in the order of
// the ids.
func firstMissing(list []Member) int {
	for i, m := range list {
		if m.ID != i {
			return i
		}
	}
	return len(list)
}

// readMembers reads the members ids, and then their live nodes. A member running by
// its record, but without a live node, has died, or has just left or come back.
// Reading its record again tells which.
func (r *reading) readMembers(j *Job, ids []int) (out []Member) {
	list := r.readRecords(j, ids)
	alive := r.readAlive(j, list)
	var doubtful []int // the places in list of members that seem to have died
	var again []int    // their ids
	for i, one := range list {
		if !alive[i] && !one.record.Left {
			doubtful, again = append(doubtful, i), append(again, one.record.ID)
		}
	}
	now, gone := r.readRecords(j, again), map[int]bool{}
	var restarted []stored
	for _, i := range doubtful {
		if len(now) == 0 || now[0].record.ID != list[i].record.ID {
			gone[i] = true // the job has become smaller
			continue
		}
		if now[0].record.Live() != list[i].record.Live() {
			restarted = append(restarted, now[0])
		}
		list[i], now = now[0], now[1:]
	}
	running := map[string]bool{}
	for i, lives := range r.readAlive(j, restarted) {
		running[restarted[i].record.Live()] = lives
	}
	for i, one := range list {
		if !gone[i] {
			out = append(out, newMember(*one.record, one.stat, alive[i] || running[one.record.Live()]))
		}
	}
	if r.Err != nil {
		return nil
	}
	return out
}

// stored is a member with its stat.
type stored struct {
	record *member
	stat   session.Stat
}

// readRecords reads the existing members among ids.
func (r *reading) readRecords(j *Job, ids []int) (out []stored) {
	where := make([]string, len(ids))
	for i, id := range ids {
		where[i] = j.run.memberPath(id)
	}
	for i, seen := range r.GetAll(where...) {
		if m := r.decodeMember(j, seen, ids[i]); m != nil {
			out = append(out, stored{m, seen.Stat})
		}
	}
	return out
}

// readAlive reports which of the members have a live node.
func (r *reading) readAlive(j *Job, list []stored) []bool {
	where := make([]string, len(list))
	for i, one := range list {
		where[i] = j.run.livePath(*one.record)
	}
	out := make([]bool, len(list))
	for i, seen := range r.StatAll(where...) {
		out[i] = seen.Exists
	}
	return out
}

// String describes the member to people.
func (m Member) String() string {
	return fmt.Sprintf("worker %d (%s, incarnation %d): %s", m.ID, m.Identity.Name, m.Incarnation, m.State)
}
