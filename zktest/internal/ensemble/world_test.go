package ensemble

import (
	"container/heap"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// fakeClock is a clock that moves only in advance.
type fakeClock struct {
	now   time.Duration
	seq   int
	queue alarms
}

type alarm struct {
	due time.Duration
	seq int
	run func()
}

type alarms []alarm

func (q alarms) Len() int { return len(q) }
func (q alarms) Less(i, j int) bool {
	return q[i].due < q[j].due || q[i].due == q[j].due && q[i].seq < q[j].seq
}
func (q alarms) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *alarms) Push(x any)   { *q = append(*q, x.(alarm)) }
func (q *alarms) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (c *fakeClock) Now() time.Duration { return c.now }
func (c *fakeClock) Wall() time.Time    { return time.UnixMilli(1_700_000_000_000).Add(c.now) }
func (c *fakeClock) After(d time.Duration, f func()) {
	c.seq++
	heap.Push(&c.queue, alarm{c.now + d, c.seq, f})
}

func (c *fakeClock) advance(d time.Duration) {
	end := c.now + d
	for len(c.queue) > 0 && c.queue[0].due <= end {
		a := heap.Pop(&c.queue).(alarm)
		c.now = a.due
		a.run()
	}
	c.now = end
}

// fixture is a World with a log of all commits.
type fixture struct {
	*World
	clock *fakeClock
	txns  []*tree.Txn
}

func newFixture(servers int) *fixture {
	f := &fixture{clock: &fakeClock{}}
	f.World = New(Config{
		Servers: servers, Tick: 2 * time.Second, MinTimeout: 4 * time.Second, MaxTimeout: 40 * time.Second, SyncLimit: 5,
		ElectionDelay: 200 * time.Millisecond, Latency: time.Millisecond, ContainerInterval: time.Minute,
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnCommit: func(t *tree.Txn) { f.txns = append(f.txns, t) },
	}, f.clock)
	f.clock.advance(time.Second)
	return f
}

// peer is a client with its decoded answers and events.
type peer struct {
	f       *fixture
	conn    *Conn
	session int64
	passwd  []byte
	xid     int32
	open    bool
	answers map[int32]answer
	order   []int32
	greeted bool
	sends   int
}

type answer struct {
	zxid int64
	code proto.Code
	body []byte
}

func (p *peer) Close() { p.open = false }

func (p *peer) Full() bool { return false }

func (p *peer) Answered() {}

func (p *peer) Send(records ...[]byte) {
	p.sends++
	for _, b := range records {
		p.decodeRecord(b)
	}
}

func (p *peer) decodeRecord(b []byte) {
	r := jute.NewReader(b)
	if !p.greeted {
		p.greeted = true
		_, _ = r.Int32(), r.Int32()
		p.session, p.passwd = r.Int64(), r.Buffer()
		return
	}
	xid := r.Int32()
	p.order = append(p.order, xid)
	p.answers[xid] = answer{r.Int64(), proto.Code(r.Int32()), b[16:]}
}

// connect opens a connection to server i and begins a session, or resumes the
// session of old.
func (f *fixture) connect(i int, timeout time.Duration, old *peer) *peer {
	p := &peer{f: f, open: true, answers: map[int32]answer{}}
	p.conn = f.Node(i).Accept(p, "10.0.0.1")
	if p.conn == nil {
		p.open = false
		return p
	}
	q := proto.Connect{Timeout: int32(timeout.Milliseconds())}
	if old != nil {
		q.Session, q.Password = old.session, old.passwd
	}
	p.conn.Connect(q)
	f.clock.advance(10 * time.Millisecond)
	return p
}

func (p *peer) send(op proto.Op, path string) int32 {
	p.xid++
	p.conn.Submit(proto.Request{Xid: p.xid, Op: op, Path: path, Version: -1, ACL: proto.WorldACL()}, nil)
	return p.xid
}

// call sends and lets the time of a commit pass.
func (p *peer) call(t *testing.T, op proto.Op, path string) answer {
	t.Helper()
	xid := p.send(op, path)
	p.f.clock.advance(10 * time.Millisecond)
	require.Contains(t, p.answers, xid, "no answer to %v %s", op, path)
	return p.answers[xid]
}

func TestLineIsFirstInFirstOutWhateverTheDelays(t *testing.T) {
	c := &fakeClock{}
	blocked := false
	l := NewLine(c, func() bool { return blocked })
	var got []string
	push := func(d time.Duration, s string) { l.Push(d, func() { got = append(got, fmt.Sprint(s, c.now)) }) }
	push(3*time.Second, "a")
	push(0, "b")
	c.advance(2 * time.Second)
	require.Empty(t, got)
	c.advance(time.Second)
	require.Equal(t, []string{"a3s", "b3s"}, got)
	blocked = true
	push(time.Second, "c")
	c.advance(10 * time.Second)
	require.Len(t, got, 2)
	require.True(t, l.Waiting())
	blocked = false
	l.Pump()
	require.Equal(t, "c13s", got[2])
	push(time.Second, "d")
	l.Clear()
	c.advance(time.Minute)
	require.Len(t, got, 3)
}

func TestExpiryIsTheFirstTickAfterTheTimeout(t *testing.T) {
	for _, offset := range []time.Duration{0, 1, time.Second, 1999 * time.Millisecond} {
		f := newFixture(1)
		f.clock.advance(offset)
		p := f.connect(1, 5*time.Second, nil)
		require.NotZero(t, p.session)
		heard := f.clock.now - 10*time.Millisecond
		for f.Node(1).Tree().HasSession(p.session) {
			f.clock.advance(time.Millisecond)
			require.Less(t, f.clock.now, time.Minute)
		}
		left := f.clock.now - heard
		require.GreaterOrEqual(t, left, 5*time.Second)
		require.LessOrEqual(t, left, 7*time.Second)
		require.Zero(t, f.clock.now.Truncate(time.Millisecond)%(2*time.Second))
		require.False(t, p.open)
	}
}

func TestOnlyWhatIsReceivedPutsExpiryOff(t *testing.T) {
	f := newFixture(1)
	a, b := f.connect(1, 4*time.Second, nil), f.connect(1, 4*time.Second, nil)
	for range 30 {
		a.send(proto.OpPing, "")
		f.clock.advance(time.Second)
	}
	require.True(t, a.open)
	require.False(t, b.open)
}

func TestTouchesReachTheLeaderWithinHalfATick(t *testing.T) {
	f := newFixture(3)
	p := f.connect(1, 4*time.Second, nil)
	for range 10 {
		f.clock.advance(3 * time.Second)
		p.send(proto.OpPing, "")
		before := f.Leader().lead.sessions[p.session].expiry
		f.clock.advance(time.Second + 10*time.Millisecond)
		require.Greater(t, f.Leader().lead.sessions[p.session].expiry, before)
	}
	require.True(t, p.open)
}

// N33.
func TestACommitNeedsAMajority(t *testing.T) {
	f := newFixture(5)
	require.Equal(t, 5, f.Leader().Index())
	p := f.connect(5, 10*time.Second, nil)
	require.Equal(t, proto.OK, p.call(t, proto.OpCreate, "/a").code)
	for _, i := range []int{1, 2} {
		f.CutLink(i, 5)
		f.CutLink(5, i)
	}
	require.Equal(t, proto.OK, p.call(t, proto.OpCreate, "/b").code)
	f.CutLink(3, 5) // its acknowledgements are lost
	xid := p.send(proto.OpCreate, "/c")
	f.clock.advance(time.Second)
	require.NotContains(t, p.answers, xid)
	require.Nil(t, f.Node(5).Tree().Get("/c"))
	f.Join()
	f.clock.advance(10 * time.Millisecond)
	require.Equal(t, proto.OK, p.answers[xid].code)
}

func TestWritesOfAMajoritySurviveTheLeader(t *testing.T) {
	f := newFixture(3)
	p := f.connect(3, 10*time.Second, nil)
	p.send(proto.OpCreate, "/a")
	f.clock.advance(1500 * time.Microsecond) // proposed, not yet acknowledged
	require.Nil(t, f.Node(3).Tree().Get("/a"))
	f.Node(3).Stop()
	f.clock.advance(time.Second)
	require.NotNil(t, f.Leader().Tree().Get("/a"), "the followers have the write in their logs")
	p = f.connect(1, 10*time.Second, nil)
	p.send(proto.OpCreate, "/b")
	require.Equal(t, proto.OK, p.call(t, proto.OpExists, "/a").code)

	seen := map[int64]bool{}
	for _, txn := range f.txns {
		require.False(t, seen[txn.Zxid], "announced twice")
		seen[txn.Zxid] = true
	}
}

func TestUnreplicatedTransactionsAreLostWithTheLeader(t *testing.T) {
	f := newFixture(3)
	p := f.connect(3, 10*time.Second, nil)
	for _, i := range []int{1, 2} {
		f.CutLink(3, i)
	}
	p.send(proto.OpCreate, "/a")
	f.clock.advance(time.Second)
	f.Node(3).Stop()
	f.clock.advance(30 * time.Second) // otherwise the kernel would still deliver the write
	f.Join()
	f.Node(3).Start()
	f.clock.advance(5 * time.Second)
	for i := 1; i <= 3; i++ {
		require.True(t, f.Node(i).Serving())
		require.Nil(t, f.Node(i).Tree().Get("/a"), i)
	}
}

func TestReattachingIsRevalidatedAtTheLeader(t *testing.T) {
	f := newFixture(3)
	a := f.connect(1, 10*time.Second, nil)
	b := f.connect(2, 10*time.Second, a)
	require.Equal(t, a.session, b.session)
	require.True(t, a.open)
	a.send(proto.OpCreate, "/a")
	f.clock.advance(10 * time.Millisecond)
	require.False(t, a.open, "moved")
	require.Empty(t, a.answers)
	require.NoError(t, f.Expire(a.session))
	f.clock.advance(10 * time.Millisecond)
	require.False(t, b.open)
	c := f.connect(1, 10*time.Second, a)
	require.Zero(t, c.session)
	require.Error(t, f.Expire(a.session))
}

func TestAnIsolatedFollowerCannotTakeUpASession(t *testing.T) {
	f := newFixture(3)
	a := f.connect(2, 10*time.Second, nil)
	f.CutLink(1, 3)
	b := f.connect(1, 10*time.Second, a)
	f.clock.advance(time.Second)
	require.False(t, b.greeted)
	require.True(t, b.open)
	f.clock.advance(20 * time.Second)
	require.False(t, b.open)
}

func TestRequestsSentBeforeTheSessionStandsWait(t *testing.T) {
	f := newFixture(3)
	p := &peer{f: f, open: true, answers: map[int32]answer{}}
	p.conn = f.Node(1).Accept(p, "10.0.0.1")
	p.conn.Connect(proto.Connect{Timeout: 10000})
	xid := p.send(proto.OpCreate, "/early")
	require.Empty(t, p.order)
	f.clock.advance(20 * time.Millisecond)
	require.NotZero(t, p.session)
	require.Equal(t, proto.OK, p.answers[xid].code)
}

func TestSyncWaitsForWhatWasProposedBeforeIt(t *testing.T) {
	f := newFixture(3)
	a, b := f.connect(1, 10*time.Second, nil), f.connect(3, 10*time.Second, nil)
	f.CutLink(2, 3)
	f.CutLink(1, 3) // acknowledgements, and forwarded requests, are held up
	w := b.send(proto.OpCreate, "/a")
	s := a.send(proto.OpSync, "/")
	f.clock.advance(time.Second)
	require.NotContains(t, a.answers, s)
	require.NotContains(t, b.answers, w)
	f.Join()
	f.clock.advance(10 * time.Millisecond)
	require.Contains(t, a.answers, s)
	require.NotNil(t, f.Node(1).Tree().Get("/a"), "its server is up to date when the answer comes")
}

func TestAServerRefusesClientsFromTheFuture(t *testing.T) {
	f := newFixture(3)
	p := &peer{f: f, open: true, answers: map[int32]answer{}}
	p.conn = f.Node(1).Accept(p, "10.0.0.1")
	p.conn.Connect(proto.Connect{Timeout: 10000, LastZxidSeen: f.Node(1).Tree().LastZxid() + 1})
	require.False(t, p.open)
}

// A session goes on at another server, and its first server never hears of the end of
// the old connection.
func TestConnectionThatItsSessionHasLeftIsClosedWhenIdle(t *testing.T) {
	const timeout = 6 * time.Second
	f := newFixture(3)
	old := f.connect(1, timeout, nil)
	old.conn.Submit(proto.Request{Xid: -8, Op: proto.OpSetWatches, Watches: proto.SetWatches{Exist: []string{"/missing"}}}, nil)
	require.Equal(t, 1, f.Node(1).Watches().Count())
	p := f.connect(2, timeout, old)
	ping := func(p *peer, d time.Duration) {
		for range d / time.Second {
			p.conn.Submit(proto.Request{Xid: -2, Op: proto.OpPing}, nil)
			f.clock.advance(time.Second)
		}
	}
	ping(p, timeout-time.Second)
	require.True(t, old.open)
	ping(p, SessionlessTimeout+time.Second)
	require.False(t, old.open)
	require.Zero(t, f.Node(1).Watches().Count())
	require.True(t, p.open)
	ping(p, time.Minute)
	require.True(t, p.open, "used, and not idle")
	require.Equal(t, proto.OK, p.call(t, proto.OpCreate, "/a").code)
}
