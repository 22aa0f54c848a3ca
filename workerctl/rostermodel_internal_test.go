package workerctl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// rosterModel is a server with a job, and the connection of one roster. Replies come in the
// order of the requests, and an event comes before each reply that shows its change; but an
// event may come before replies that are older.
type rosterModel struct {
	st      *rosterState
	zxid    int64
	members map[int]stored
	live    map[string]bool
	next    int
	muted   bool             // there is no watch
	history map[int][]string // what each worker was, in order
	at      map[int]int      // the place in history that was shown last

	events  []modelEvent
	heard   int64 // the zxid of the last event that was delivered
	asked   []modelRead
	replies []modelRead
}

type modelEvent struct {
	zxid  int64
	size  bool
	event session.Event
}

type modelRead struct {
	kind  readKind
	id    int
	zxid  int64
	names []string
	seen  session.Seen
}

func newRosterModel() *rosterModel {
	return &rosterModel{
		st: newRosterState("/r/j/x"), members: map[int]stored{}, live: map[string]bool{},
		history: map[int][]string{}, at: map[int]int{},
	}
}

func describeShown(m Member) string {
	return fmt.Sprintf("%d/%d/%d %s", m.created, m.Incarnation, m.edition, m.State)
}

// write notes the state of id after a change.
func (m *rosterModel) write(id int) {
	now := "none"
	if one, ok := m.members[id]; ok {
		now = describeShown(newMember(*one.record, one.stat, m.live[one.record.Live()]))
	}
	m.history[id] = append(m.history[id], now)
}

func (m *rosterModel) tell(kind session.EventType, name string) {
	if m.muted {
		return
	}
	m.events = append(m.events, modelEvent{m.zxid, false, session.Event{Type: kind, Path: "/r/j/x/live/" + name}})
}

// join has a new worker join, or a former one come back.
func (m *rosterModel) join(id int) {
	m.zxid++
	one, known := m.members[id]
	if !known {
		one = stored{&member{ID: id, Name: "w", Claim: "00000000-0000-4000-8000-000000000000"}, session.Stat{Czxid: m.zxid}}
		m.next = max(m.next, id+1)
	}
	record := *one.record
	if known && m.live[record.Live()] {
		delete(m.live, record.Live())
		m.tell(session.EventDeleted, record.Live())
	}
	record.Incarnation++
	record.Left, record.Edition = false, 0
	record.Claim = fmt.Sprintf("%08x-0000-4000-8000-000000000000", m.zxid)
	one.record, one.stat.Mzxid = &record, m.zxid
	m.members[id] = one
	m.live[record.Live()] = true
	m.tell(session.EventCreated, record.Live())
	m.write(id)
}

// change has a running worker leave, die or update its record.
func (m *rosterModel) change(id int, how string) {
	one, known := m.members[id]
	if !known || !m.live[one.record.Live()] {
		return
	}
	m.zxid++
	record := *one.record
	switch how {
	case "update":
		record.Edition++
		m.tell(session.EventDataChanged, record.Live())
	case "leave":
		record.Left = true
		fallthrough
	case "die":
		delete(m.live, record.Live())
		m.tell(session.EventDeleted, record.Live())
	}
	if how != "die" {
		one.stat.Mzxid = m.zxid
	}
	one.record = &record
	m.members[id] = one
	m.write(id)
}

// shrink removes the last member, if it has left.
func (m *rosterModel) shrink() {
	one, known := m.members[m.next-1]
	if !known || !one.record.Left {
		return
	}
	m.zxid++
	m.next--
	delete(m.members, m.next)
	m.events = append(m.events, modelEvent{m.zxid, true, session.Event{}})
	m.write(m.next)
}

// ask sends a round. While the roster polls, it is the next list, or again is the end of
// polling.
func (m *rosterModel) ask(again bool) bool {
	if m.st.flying > 0 || m.st.idle() {
		return false
	}
	switch {
	case m.st.pending() || !again:
	case m.zxid%2 == 0:
		m.st.readAll()
	default:
		m.muted = false
		m.st.beginLoad(false)
	}
	m.st.wantLive = m.st.wantLive || !m.st.pending()
	send := func(kind readKind, id int) {
		m.st.flying++
		m.asked = append(m.asked, modelRead{kind: kind, id: id})
	}
	if m.st.wantLive {
		m.st.sendLive()
		send(readLive, 0)
	}
	if m.st.wantMembers {
		m.st.wantMembers = false
		send(readMembers, 0)
	}
	if m.st.wantJob {
		m.st.wantJob = false
		send(readState, 0)
	}
	for _, id := range m.st.takeDirty(3) {
		send(readMember, id)
	}
	return true
}

// compute has the server carry out the next read.
func (m *rosterModel) compute() bool {
	if len(m.asked) == 0 {
		return false
	}
	r := m.asked[0]
	m.asked = m.asked[1:]
	r.zxid = m.zxid
	switch r.kind {
	case readLive:
		for name := range m.live {
			r.names = append(r.names, name)
		}
	case readMembers:
		for id := range m.members {
			r.names = append(r.names, strconv.Itoa(id))
		}
	case readState:
		r.seen = session.Seen{Exists: true, Data: encode(status{State: jobformat.Running, Workers: 8, Next: m.next})}
	case readMember:
		if one, ok := m.members[r.id]; ok {
			r.seen = session.Seen{Exists: true, Data: encode(*one.record), Stat: one.stat}
		}
	}
	m.replies = append(m.replies, r)
	return true
}

func (m *rosterModel) hearEvent() bool {
	if len(m.events) == 0 {
		return false
	}
	ev := m.events[0]
	m.events, m.heard = m.events[1:], ev.zxid
	if ev.size {
		m.st.wantJob, m.st.wantMembers = true, true
	} else {
		m.st.onEvent(ev.event)
	}
	return true
}

func (m *rosterModel) hearReply() (bool, error) {
	if len(m.replies) == 0 || len(m.events) > 0 && m.events[0].zxid <= m.replies[0].zxid {
		return false, nil
	}
	r := m.replies[0]
	m.replies = m.replies[1:]
	m.st.flying--
	m.st.loading = m.st.loading && !m.st.idle()
	var err error
	switch r.kind {
	case readLive:
		m.st.onLive(r.names)
	case readMembers:
		for _, id := range m.st.onMembers(r.names) {
			delete(m.st.shown, id)
			err = m.show(id, "none")
		}
	case readState:
		m.st.onStatus(true, r.seen.Data)
	case readMember:
		switch one, what := m.st.onMember(r.id, r.seen); what {
		case show:
			m.st.shown[r.id] = one
			err = m.show(r.id, describeShown(one))
		case remove:
			delete(m.st.shown, r.id)
			err = m.show(r.id, "none")
		}
	}
	return true, err
}

// show checks that the worker was so, and not before what was shown last.
func (m *rosterModel) show(id int, now string) error {
	if now == "none" && len(m.history[id]) == 0 {
		return nil
	}
	at := slices.Index(m.history[id][m.at[id]:], now)
	if at < 0 {
		return fmt.Errorf("worker %d is shown as %q after %q of %q", id, now, m.history[id][m.at[id]], m.history[id])
	}
	m.at[id] += at
	return nil
}

// reconnect loses the connection, and what is on it; the next connection begins.
func (m *rosterModel) reconnect() {
	m.events, m.asked, m.replies, m.muted = nil, nil, nil, false
	m.st.beginLoad(false)
}

// poll stops the watch, and the events on the way.
func (m *rosterModel) poll() {
	if m.st.flying > 0 || m.st.loading || m.muted {
		return
	}
	m.muted = true
	m.events = slices.DeleteFunc(m.events, func(ev modelEvent) bool { return !ev.size })
	m.st.beginPolling()
}

// finish lets all that is in progress come to its end, and compares.
func (m *rosterModel) finish() error {
	for more := true; more; {
		if m.st.polling && m.st.flying == 0 && !m.st.pending() {
			m.muted = false
			m.st.beginLoad(false)
		}
		more = m.ask(false) || m.compute() || m.hearEvent()
		heard, err := m.hearReply()
		if err != nil {
			return err
		}
		more = more || heard
	}
	for id := range m.history {
		want := m.history[id][len(m.history[id])-1]
		got := "none"
		if one, ok := m.st.shown[id]; ok {
			got = describeShown(one)
		}
		if got != want {
			return fmt.Errorf("worker %d is shown as %q in the end, and is %q", id, got, want)
		}
	}
	return nil
}

func (m *rosterModel) random(r *rand.Rand) error {
	m.st.beginLoad(false)
	for range r.IntN(150) {
		switch r.IntN(18) {
		case 0, 1:
			m.join(min(m.next, r.IntN(4)))
		case 2:
			m.change(r.IntN(4), "update")
		case 3, 4:
			m.change(r.IntN(4), "leave")
		case 5:
			m.change(r.IntN(4), "die")
		case 6:
			m.shrink()
		case 7, 8, 9:
			m.ask(r.IntN(4) == 0)
		case 10, 11:
			m.compute()
		case 12:
			m.hearEvent()
		case 13, 14:
			if _, err := m.hearReply(); err != nil {
				return err
			}
		case 15:
			if r.IntN(2) == 0 {
				m.reconnect()
			}
		case 16, 17:
			m.poll()
		}
	}
	return m.finish()
}

// A roster shows only what was so, never goes back, and is right in the end. ZKTEST_SEEDS
// looks harder.
func TestRosterNeverShowsAWorkerAsItWasNot(t *testing.T) {
	for _, seed := range world.SeedList(t, 100*world.Seeds(20)) {
		if err := newRosterModel().random(rand.New(rand.NewPCG(seed, 1))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// The checks must notice what they look for.
func TestRosterModelNoticesWhatItLooksFor(t *testing.T) {
	m := newRosterModel()
	m.join(0)
	m.change(0, "leave")
	require.NoError(t, m.show(0, m.history[0][1]))
	require.ErrorContains(t, m.show(0, m.history[0][0]), "after")
	require.ErrorContains(t, m.show(0, "1/1/0 dead"), "after")
	m.events = nil // lost
	require.ErrorContains(t, m.finish(), "in the end")
}
