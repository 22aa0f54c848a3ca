package workerctl

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// Member is a worker as others see it.
type Member struct {
	ID       int
	Identity Identity
	// State is "running", "left" or "failed"; see [State].
	State State
	// Incarnation counts how often somebody has joined under the ID, from 1.
	Incarnation int64
	// Joined is when the ID was given out first, and Changed when its record
	// was changed last: somebody came back, left, or updated it. Both by the
	// servers' clock.
	Joined, Changed time.Time

	// created is the zxid of the member's znode: an id that was taken out of the
	// job and given out anew has another one. edition is the record's.
	created, edition int64
}

func newMember(m member, stat session.Stat, alive bool) Member {
	out := Member{
		ID: m.ID, Identity: m.identity(), State: failed, Incarnation: m.Incarnation,
		created: stat.Czxid, edition: m.Edition,
		Joined: time.UnixMilli(stat.Ctime), Changed: time.UnixMilli(stat.Mtime),
	}
	switch {
	case m.Left:
		out.State = left
	case alive:
		out.State = running
	}
	return out
}

// Members lists all workers that ever joined, in the order of their ids: those
// that run, those that have left, and those that have died. Each is as it was at
// one moment after the call began. It takes two requests for each of them, many
// under way together, and two more; see [Roster] for a view that is kept up to date.
// With Spec.ReuseIDs only the last one that had an id is known.
func (j *Job) Members(ctx context.Context) (list []Member, err error) {
	const op = "list the members of"
	if ctx.Err() != nil {
		return nil, failure(ctx, op, j.Path(), context.Cause(ctx))
	}
	err = persist(ctx, j.client, func(s *session.Session) error {
		list, err = j.members(ctx, s)
		return err
	})
	if err != nil {
		return nil, failure(ctx, op, j.Path(), err)
	}
	return list, nil
}

func (j *Job) members(ctx context.Context, s *session.Session) ([]Member, error) {
	r := newReading(ctx)
	synced, state := j.sync(s), s.StartGet(j.run.at(stateNode), false)
	r.Synced(synced)
	st, _ := r.status(state)
	ids := idsFrom(0, st.Next)
	var out []Member
	for chunk := range slices.Chunk(ids, together) {
		out = append(out, j.readMembers(ctx, s, r, chunk)...)
	}
	return out, r.Err
}

// readMembers reads the members ids, and then who lives. One that is seen to run
// by its record and does not live has died since, or before; or it has just left,
// or come back, and then its record, read again, says so.
func (j *Job) readMembers(ctx context.Context, s *session.Session, r *reading, ids []int) (out []Member) {
	var reads []*session.Future[session.Seen]
	for _, id := range ids {
		reads = append(reads, s.StartGet(j.run.member(id), false))
	}
	var records []*member
	var stats []session.Stat
	var lives []*session.Future[session.Seen]
	for i := range ids {
		m, stat := r.member(reads[i], ids[i])
		if m == nil {
			continue // an error, or the job has become smaller
		}
		records, stats = append(records, m), append(stats, stat)
		lives = append(lives, s.StartExists(j.run.live(*m), false))
	}
	alive, again := make([]bool, len(records)), make([]*session.Future[session.Seen], len(records))
	for i, m := range records {
		if alive[i] = r.Seen(lives[i]).Exists; !alive[i] && !m.Left {
			again[i] = s.StartGet(j.run.member(m.ID), false)
		}
	}
	for i, m := range records {
		if again[i] != nil {
			if m, stats[i] = r.member(again[i], m.ID); m == nil {
				continue
			}
			if m.live() != records[i].live() {
				alive[i] = r.Seen(s.StartExists(j.run.live(*m), false)).Exists
			}
		}
		out = append(out, newMember(*m, stats[i], alive[i]))
	}
	return out
}

// String is for people.
func (m Member) String() string {
	return fmt.Sprintf("worker %d (%s, incarnation %d): %s", m.ID, m.Identity.Name, m.Incarnation, m.State)
}
