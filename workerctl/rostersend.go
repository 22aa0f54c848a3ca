package workerctl

import (
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// How many members a round and a request read. The reply to a request is to have at most
// some batchBytes; the first round is small, since the size of the members is unknown.
const (
	roundReads = 4096
	firstBatch = 16
	maxBatch   = 128
	batchBytes = 256 << 10
)

// sendRound sends the next round of reads, if there is one and none is in flight. If the
// round is to wait, sendRound returns how long.
func (r *rosterRun) sendRound() (pause time.Duration) {
	st := r.state
	if r.stalled || st.flying > 0 || st.idle() {
		return 0
	}
	st.wantLive = st.wantLive || !st.pending() // polling
	now := time.Now()
	atOnce := st.loading || st.polling && !st.wantsLists()
	if pause = r.next.Sub(now); pause > 0 && !atOnce {
		if r.ahead = r.awaitsMembers(); r.ahead {
			r.complete = false
			r.sendMembers(st.takeDirty(roundReads))
			return 0
		}
		return pause
	}
	r.sent, r.ahead = now, false
	if !st.polling || st.wantLive {
		r.changes, r.window, r.since = 0, now.Sub(r.since), now
	}
	// A list may bring more to read: only a round without lists is complete.
	limit := roundReads
	if r.longest == 0 {
		limit = firstBatch
	}
	r.complete, r.asOf = !st.polling && !st.wantsLists() && len(st.dirty) <= limit, r.heard
	r.beginProof()
	run := r.job.run
	if st.wantLive {
		st.sendLive()
		r.sendRead(readLive, 0, r.s.StartChildren(run.at(jobformat.DirLive), st.plain))
	}
	if st.wantMembers {
		st.wantMembers = false
		r.sendRead(readMembers, 0, r.s.StartChildren(run.at(jobformat.DirMembers), st.over))
	}
	if st.wantJob {
		st.wantJob = false
		r.sendRead(readSize, 0, r.s.StartExists(run.at(jobformat.NodeSize), true))
		r.sendRead(readState, 0, r.s.StartGet(run.statePath(), false))
	}
	r.sendMembers(st.takeDirty(limit))
	return 0
}

// sendMembers sends the reads of members.
func (r *rosterRun) sendMembers(ids []int) {
	size := r.batch
	if r.state.plain {
		size = 1 // each read leaves a watch
	}
	for chunk := range slices.Chunk(ids, size) {
		if len(chunk) == 1 {
			r.sendRead(readMember, chunk[0], r.s.StartGet(r.job.run.memberPath(chunk[0]), r.state.plain))
			continue
		}
		r.sendBatch(chunk)
	}
}

// sendRead expects the reply to one read.
func (r *rosterRun) sendRead(kind readKind, id int, f *session.Future[session.Seen]) {
	r.state.flying++
	gen := r.gen
	f.Then(func(seen session.Seen, err error) {
		r.inbox.put(rosterItem{kind: kind, gen: gen, reply: true, id: id, seen: seen, err: err})
		if seen.Watch != nil {
			// Here, and not when the reply is handled: an event must not come after replies
			// to later reads.
			seen.Watch.OnFire(func(ev session.Event) {
				r.inbox.put(rosterItem{kind: kind, gen: gen, id: id, event: ev})
			})
		}
	})
}

// sendBatch reads the members ids in one request.
func (r *rosterRun) sendBatch(ids []int) {
	r.state.flying += len(ids)
	gen := r.gen
	paths := make([]string, len(ids))
	for i, id := range ids {
		paths[i] = r.job.run.memberPath(id)
	}
	r.s.StartGets(paths...).Then(func(all []session.Result, err error) {
		items := make([]rosterItem, len(ids))
		for i, id := range ids {
			items[i] = rosterItem{kind: readMember, gen: gen, reply: true, id: id, err: err, of: len(ids)}
			if err == nil {
				items[i].seen, items[i].err = session.Seen{Data: all[i].Data, Stat: all[i].Stat, Exists: true}, all[i].Err
			}
		}
		r.inbox.put(items...)
	})
}

// learnSize adapts the size of requests to the longest member so far.
func (r *rosterRun) learnSize(length int) {
	r.longest = max(r.longest, length)
	if r.batch > 1 && r.longest > 0 {
		r.batch = max(2, min(maxBatch, batchBytes/r.longest))
	}
}
