package workerctl

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/session"
)

// rosterView is the content of a roster, with its readers.
type rosterView struct {
	job *Job

	// mu guards the fields below, and state.shown. loaded: shown was complete once. over
	// is the reason why nothing will change any more. The view shows everything that was
	// known to the servers at asOf.
	mu      sync.Mutex
	state   *rosterState
	running bool
	link    *rosterLink // nil while Run is in no session
	readers map[*rosterReader]struct{}
	loaded  bool
	over    error
	asOf    time.Time
	changes await.Changes // of what WaitSynced waits for
}

// rosterLink tells whether a view follows the present connection. Guarded by the view's mu.
type rosterLink struct {
	s     *session.Session
	inbox *rosterInbox
	// since is the start of the connection that the persistent watch follows; zero without
	// a persistent watch. clean: all items that were taken from the inbox are handled, and
	// nothing is to be read.
	since time.Time
	clean bool
}

// rosterReader follows a view. The fields but wake are guarded by the view's mu.
type rosterReader struct {
	wake chan struct{} // cap 1
	ids  map[int]struct{}
	all  bool // the reader has taken nothing yet
}

func newRosterView(j *Job) *rosterView {
	return &rosterView{job: j, state: newRosterState(j.run), readers: map[*rosterReader]struct{}{}}
}

// newReader adds a reader, whose first ids are all.
func (v *rosterView) newReader() *rosterReader {
	r := &rosterReader{wake: make(chan struct{}, 1), ids: map[int]struct{}{}, all: true}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.readers[r] = struct{}{}
	r.wakeUp()
	return r
}

func (v *rosterView) dropReader(r *rosterReader) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.readers, r)
}

func (r *rosterReader) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// takeIDs returns, in order, the ids whose members have changed since the last call: none
// before the view was complete once. over is the reason why no more will come.
func (v *rosterView) takeIDs(r *rosterReader) (ids []int, loaded bool, over error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.loaded {
		return nil, false, v.over
	}
	if r.all {
		for id := range v.state.shown {
			r.ids[id] = struct{}{}
		}
		r.all = false
	}
	ids = slices.Sorted(maps.Keys(r.ids))
	clear(r.ids)
	return ids, true, v.over
}

// get returns a member of the view.
func (v *rosterView) get(id int) (Member, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m, ok := v.state.shown[id]
	return m, ok
}

// list returns the members in the order of their ids.
func (v *rosterView) list() []Member {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := slices.AppendSeq(make([]Member, 0, len(v.state.shown)), maps.Values(v.state.shown))
	sortMembers(out)
	return out
}

// set shows m.
func (v *rosterView) set(m Member) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if was := v.state.shown[m.ID]; was.State == m.State && was.created == m.created && was.modified == m.modified && was.Changed.Equal(m.Changed) {
		return
	}
	v.state.shown[m.ID] = m
	v.noteLocked(m.ID)
}

// remove removes a member, if the view has it.
func (v *rosterView) remove(id int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, shown := v.state.shown[id]; shown {
		delete(v.state.shown, id)
		v.noteLocked(id)
	}
}

func (v *rosterView) noteLocked(id int) {
	for r := range v.readers {
		if !r.all {
			r.ids[id] = struct{}{}
		}
	}
}

// announce wakes all that wait for the view. idle: nothing is to be read, so the view is
// complete.
func (v *rosterView) announce(idle bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.link.clean = idle
	v.loaded = v.loaded || idle
	v.proveLocked()
	v.wakeLocked()
}

// announceRound notes that the view shows everything that was known at asOf.
func (v *rosterView) announceRound(asOf time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.loaded = true
	if asOf.After(v.asOf) {
		v.asOf = asOf
	}
}

func (v *rosterView) wakeLocked() {
	for r := range v.readers {
		if v.over != nil || v.loaded && (r.all || len(r.ids) > 0) {
			r.wakeUp()
		}
	}
	v.changes.Announce()
}

// beginRun notes that Run begins, unless the view is running.
func (v *rosterView) beginRun() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running {
		return cache.ErrRunning
	}
	v.running, v.over = true, nil
	return nil
}

// end notes that Run has ended. err is nil if the view can be continued.
func (v *rosterView) end(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running, v.over = false, err
	v.wakeLocked()
}

// proveLocked moves asOf on, and reports whether all events that have come are handled and
// nothing is to be read. The connection may be lost: replies on the last connection are a
// proof until the next one begins, which the first item in the inbox then reports.
func (v *rosterView) proveLocked() bool {
	if v.link == nil {
		return false
	}
	// In this order: the events that the server sent before the newest reply are in the
	// inbox, or have been handled.
	heard := v.link.s.LastHeard()
	if !v.link.clean || !v.link.inbox.empty() {
		return false
	}
	if heard.After(v.asOf) {
		v.asOf = heard
	}
	return true
}

// isLoaded reports whether the view was complete once, and as of when it is.
func (v *rosterView) isLoaded() (loaded bool, asOf time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.proveLocked()
	return v.loaded, v.asOf
}

// stale is the age of the view.
func (v *rosterView) stale() time.Duration {
	loaded, asOf := v.isLoaded()
	if !loaded || asOf.IsZero() {
		return math.MaxInt64
	}
	return time.Since(asOf)
}

// waitSynced waits until the view equals the state of the connected server, or shows
// everything that a server knew when the call began.
func (v *rosterView) waitSynced(ctx context.Context) error {
	began := time.Now()
	for {
		state := v.job.client.State()
		v.mu.Lock()
		changed, over := v.changes.Next(), v.over
		synced := v.proveLocked() && v.link.follows(state) || v.loaded && !v.asOf.Before(began)
		v.mu.Unlock()
		switch {
		case over != nil:
			return over
		case synced:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// follows reports whether the view follows the connection that the client has in state.
func (l *rosterLink) follows(state session.State) bool {
	same := state.Session == l.s.ID() && (l.since.IsZero() || state.Since.Equal(l.since))
	return same && state.Status == session.Connected
}
