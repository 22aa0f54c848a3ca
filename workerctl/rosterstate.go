package workerctl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// rosterState decides what a roster reads, and what the replies mean. It has no clock,
// goroutine or I/O.
//
// Every change of a worker changes the folder live in the same transaction as the member,
// or changes live alone: a join and a return create a znode of live, a leave and a death
// delete one, an update sets one. So one recursive watch on live reports, with the id,
// every change of a worker, and the member is read for it. Only a smaller job and the
// removal of a job change members without live: both change the size.
//
// The state relies on ZooKeeper's promises: replies come in the order of the requests, an
// event comes before every reply that shows the change, and a read that is sent after an
// event shows the change. A reply may be older than an event before it. So an id of which
// an event comes during its read is read once more, and a worker is dead if its member has
// not left, its live znode is not in live, and no deletion was reported during the read.
type rosterState struct {
	run run
	// plain: there is no persistent watch. Each read leaves a watch behind: a watch on the
	// list of live reports joins and deaths, and a watch on a member its changes.
	plain bool
	// over: the job is over. Its members are listed with a watch, because a removal deletes
	// members without live znodes.
	over    bool
	workers int  // of the job, as of the last status
	loading bool // until the first complete view on this connection

	live map[string]struct{} // the names, as of the last event
	// shown are the members of the view. Only the goroutine of Run changes shown, and
	// holds the view's mutex for it.
	shown map[int]Member

	// The reads to send.
	wantLive, wantMembers, wantJob bool
	dirty                          map[int]struct{}

	// The reads in flight. recent has the events of live since its list was asked for: true
	// for a creation. unsure are ids of which a live znode was deleted since their members
	// were asked for.
	flying     int
	liveFlying bool
	recent     map[string]bool
	unsure     map[int]struct{}

	// polling: there is no watch for now. lists counts the lists of live. suspects are ids
	// whose live znode the last list lacks: it may be newer than the list, of which another
	// one follows. deleted has, by id, the live znode whose deletion an event has reported
	// last.
	polling  bool
	lists    int
	suspects map[int]absentee
	deleted  map[int]string
}

// absentee is a live znode that is missing in the first lists of live.
type absentee struct {
	live  string
	lists int
}

func newRosterState(r run) *rosterState {
	return &rosterState{
		run: r, live: map[string]struct{}{}, shown: map[int]Member{},
		dirty: map[int]struct{}{}, unsure: map[int]struct{}{}, suspects: map[int]absentee{}, deleted: map[int]string{},
	}
}

// beginLoad starts over on a connection that may be new: all is read again.
func (st *rosterState) beginLoad(plain bool) {
	st.plain, st.loading, st.over = plain, true, false
	st.wantLive, st.wantMembers, st.wantJob = true, true, true
	st.flying, st.liveFlying, st.recent = 0, false, nil
	clear(st.dirty)
	clear(st.unsure)
	st.endPolling()
}

// beginPolling lists live from now on: the watch is stopped.
func (st *rosterState) beginPolling() { st.polling, st.wantLive = true, true }

// readAll has all members read again, behind the lists: no list shows updates, nor workers
// that have come and gone since the last one.
func (st *rosterState) readAll() {
	st.wantLive, st.wantMembers = true, true
	for id := range st.shown {
		st.dirty[id] = struct{}{}
	}
}

func (st *rosterState) endPolling() {
	st.polling = false
	clear(st.suspects)
	clear(st.deleted)
}

// wantsLists reports whether more than members is to be read.
func (st *rosterState) wantsLists() bool { return st.wantLive || st.wantMembers || st.wantJob }

// pending reports whether there is something to read.
func (st *rosterState) pending() bool { return len(st.dirty) > 0 || st.wantsLists() }

// idle: the view is complete. There is nothing to read, and nothing in flight.
func (st *rosterState) idle() bool { return st.flying == 0 && !st.pending() && !st.polling }

// liveID is the id in the name of a live znode.
func liveID(name string) (id int, ok bool) {
	text, _, _ := strings.Cut(name, "-")
	id, err := parseID(text)
	return id, err == nil
}

// onEvent takes an event of the persistent watch on live.
func (st *rosterState) onEvent(ev session.Event) {
	name, below := strings.CutPrefix(ev.Path, st.run.at(jobformat.DirLive)+"/")
	id, ok := liveID(name)
	if !below || !ok {
		return // the folder itself, or a foreign znode
	}
	switch ev.Type {
	case session.EventCreated:
		st.live[name] = struct{}{}
	case session.EventDeleted:
		delete(st.live, name)
		st.unsure[id], st.deleted[id] = struct{}{}, name
	}
	if st.recent != nil && ev.Type != session.EventDataChanged {
		st.recent[name] = ev.Type == session.EventCreated
	}
	st.dirty[id] = struct{}{}
}

// takeDirty returns at most n of the ids to read, and expects their replies.
func (st *rosterState) takeDirty(n int) []int {
	ids := make([]int, 0, min(n, len(st.dirty)))
	for id := range st.dirty {
		if len(ids) == n {
			break
		}
		ids = append(ids, id)
		delete(st.dirty, id)
		delete(st.unsure, id)
	}
	slices.Sort(ids)
	return ids
}

// sendLive notes that the list of live is asked for.
func (st *rosterState) sendLive() {
	st.wantLive, st.liveFlying, st.recent = false, true, map[string]bool{}
}

// onLive takes the list of live. The events that came since it was asked for are newer.
func (st *rosterState) onLive(names []string) {
	now := make(map[string]struct{}, len(names))
	for _, name := range names {
		now[name] = struct{}{}
	}
	for name, created := range st.recent {
		if created {
			now[name] = struct{}{}
		} else {
			delete(now, name)
		}
	}
	st.markDifferent(st.live, now)
	st.markDifferent(now, st.live)
	st.live, st.liveFlying, st.recent = now, false, nil
	st.lists++
	for id := range st.suspects {
		st.dirty[id] = struct{}{}
	}
}

// markDifferent has the members read whose names are in a and not in b.
func (st *rosterState) markDifferent(a, b map[string]struct{}) {
	for name := range a {
		if _, both := b[name]; both {
			continue
		}
		if id, ok := liveID(name); ok {
			st.dirty[id] = struct{}{}
		}
	}
}

// onMembers takes the list of members, and returns the ids that are not there any more.
// An id that is to be read is left to that.
func (st *rosterState) onMembers(names []string) (gone []int) {
	there := make(map[int]struct{}, len(names))
	for _, name := range names {
		id, err := parseID(name)
		if err != nil {
			continue
		}
		there[id] = struct{}{}
		if _, shown := st.shown[id]; st.loading || !shown {
			st.dirty[id] = struct{}{}
		}
	}
	for id := range st.shown {
		_, listed := there[id]
		if _, dirty := st.dirty[id]; !listed && !dirty {
			gone = append(gone, id)
		}
	}
	return gone
}

// onStatus takes the status of the job: a job without a readable status is not over.
func (st *rosterState) onStatus(exists bool, data []byte) {
	over := !exists
	if exists {
		now, err := decodeStatus(data)
		over = err == nil && now.State.Over()
		st.workers = now.Workers
	}
	st.wantMembers = st.wantMembers || over && !st.over
	st.over = over
}

// memberReply is what a reply about a member means for the view.
type memberReply int

const (
	undecided memberReply = iota // another read follows
	remove
	show
)

// onMember takes the reply to a read of a member. A member that is decided is no suspect.
func (st *rosterState) onMember(id int, seen session.Seen) (Member, memberReply) {
	m, what := st.decideMember(id, seen)
	if what != undecided {
		delete(st.suspects, id)
	}
	return m, what
}

func (st *rosterState) decideMember(id int, seen session.Seen) (Member, memberReply) {
	_, again := st.dirty[id]
	if !seen.Exists {
		if again {
			return Member{}, undecided // it may have been created since
		}
		return Member{}, remove
	}
	m, known := st.shown[id]
	if !known || !m.isOf(seen.Stat) {
		record, err := memberOf(strconv.Itoa(id), seen.Data)
		if err != nil {
			return Member{}, remove
		}
		m = newMember(record, seen.Stat, true)
	}
	if m.State.hasLeft() {
		return m, show
	}
	m.State = running
	if _, alive := st.live[m.live]; !alive {
		if !st.isCertain(id, m.live) {
			return Member{}, undecided
		}
		m.State = dead
	}
	delete(st.deleted, id)
	return m, show
}

// isCertain reports whether a worker without its live znode has died. Otherwise it may have
// left, or have come just now, and is read again.
func (st *rosterState) isCertain(id int, live string) bool {
	if st.polling || st.plain && st.wantLive {
		if st.deleted[id] == live {
			return true // reported before the read
		}
		// The read that found the member was answered before a list that lacks the znode.
		at, suspect := st.suspects[id]
		if suspect && at.live == live && at.lists < st.lists {
			return true
		}
		st.suspects[id] = absentee{live, st.lists}
		return false
	}
	if _, deleted := st.unsure[id]; !deleted && !st.wantLive && !st.liveFlying {
		return true
	}
	st.dirty[id] = struct{}{}
	return false
}
