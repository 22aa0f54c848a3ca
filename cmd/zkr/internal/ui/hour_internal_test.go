package ui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// ended are the ended holds of a lock, a line each.
func (p *past) ended(path string) (out []string) {
	for _, h := range p.lately.hour.Ended[string(recognize.Mutex)+path] {
		out = append(out, h.Holder+" "+strings.SplitN(h.How, ":", 2)[0])
	}
	return out
}

// TestHourHasTheHoldsThatHaveEnded with their beginnings, ends, and reasons.
func TestHourHasTheHoldsThatHaveEnded(t *testing.T) {
	p := newPast()
	p.has("/l", 0, "")
	p.has("/other", 3, "") // a further znode of cy's session
	for i, id := range []string{"ann", "bob", "cy", "di"} {
		p.has(contender("/l", "lock", i), int64(i+1), id)
	}
	p.has("/more", 2, "")
	p.look()
	assert.Empty(t, p.ended("/l"))
	began := p.now.Add(-time.Second)
	delete(p.nodes, contender("/l", "lock", 0))
	p.look()
	granted := p.now
	delete(p.nodes, contender("/l", "lock", 1))
	p.look()
	delete(p.nodes, contender("/l", "lock", 2))
	delete(p.nodes, "/other")
	p.look()
	require.Equal(t, []string{"ann released, or its session has ended", "bob released", "cy its session has ended, or gave back everything"}, p.ended("/l"))
	first, second := p.lately.hour.Ended["mutex/l"][0], p.lately.hour.Ended["mutex/l"][1]
	assert.WithinDuration(t, began, first.From, time.Millisecond, "the first contender of all has held since it came")
	assert.Equal(t, granted, second.From)
	assert.True(t, second.Sure)
	assert.Equal(t, granted.Add(time.Second), second.Until)
	assert.Zero(t, second.After)
	p.seen = false
	looked := p.now
	p.now = p.now.Add(10 * time.Minute)
	delete(p.nodes, contender("/l", "lock", 3))
	p.look()
	last := p.lately.hour.Ended["mutex/l"][3]
	assert.Equal(t, looked, last.After, "nothing was observed for ten minutes")
	assert.Equal(t, p.now, last.Until)
	assert.Equal(t, Span{looked, p.now}, p.lately.hour.Blind[len(p.lately.hour.Blind)-1])
	p.seen = true
	p.now = p.now.Add(2 * time.Hour)
	p.look()
	assert.Empty(t, p.lately.hour.Ended, "an hour later")
	assert.Empty(t, p.lately.hour.Blind)
	assert.Len(t, p.lately.hour.Minutes, 1)
	assert.Zero(t, p.lately.total)
}

// TestHourNamesTheOperatorThatBrokeAHold.
func TestHourNamesTheOperatorThatBrokeAHold(t *testing.T) {
	r, now := newRecorder(time.Now()), time.Now()
	held := &recognize.Contender{Path: "/l/1", Session: 1, Token: 7, Holds: true, Since: now}
	r.begin(&recognize.World{})
	broken := &recognize.Thing{Kind: recognize.Mutex, Path: "/l", Breaks: []recognize.Break{{By: "eve", Reason: "it hangs", Token: 7}}}
	r.compare(&recognize.Thing{Kind: recognize.Mutex, Path: "/l", Queue: []*recognize.Contender{held}}, broken, Change{At: now}, func(recognize.Tenure) bool { return false })
	assert.Equal(t, "taken away by eve: it hangs", r.hour.Ended["mutex/l"][0].How)
}

// TestHourCountsHoldersWaitersAndGrants of each minute with a look.
func TestHourCountsHoldersWaitersAndGrants(t *testing.T) {
	p := newPast()
	p.now = p.now.Truncate(time.Minute)
	p.has("/l", 0, "")
	for i := range 4 {
		p.has(contender("/l", "lock", i), int64(i+1), "x")
	}
	p.look()
	require.Equal(t, []Minute{{At: p.now.Truncate(time.Minute), Held: 1, Waiting: 3}}, p.lately.hour.Minutes, "the first look has observed no grant")
	p.now = p.now.Add(5 * time.Minute)
	delete(p.nodes, contender("/l", "lock", 0))
	p.look()
	delete(p.nodes, contender("/l", "lock", 1))
	p.look()
	require.Equal(t, Minute{At: p.now.Truncate(time.Minute), Held: 1, Waiting: 2, Grants: 2}, p.lately.hour.Minutes[1])
	require.Len(t, p.lately.hour.Minutes, 2, "minutes without a look are unknown")
	var waiting []int64
	for _, point := range p.lately.hour.Waiting["mutex/l"] {
		waiting = append(waiting, point.Value)
	}
	assert.Equal(t, []int64{3, 2, 1}, waiting)
	delete(p.nodes, contender("/l", "lock", 2))
	delete(p.nodes, contender("/l", "lock", 3))
	p.look()
	assert.Equal(t, 0, p.lately.held)
	assert.Equal(t, 0, p.lately.waiting)
	points := p.lately.hour.Waiting["mutex/l"]
	assert.Zero(t, points[len(points)-1].Value, "the lock has no contender any more")
	assert.Contains(t, p.hourOf(t, "/l", Health{}), "released", "its last hour can be seen nevertheless")
	p.now = p.now.Add(2 * time.Hour)
	p.look()
	assert.Empty(t, p.lately.hour.Waiting)
}

// TestHourIsBounded for one lock, for all locks, and for times without observation; and says
// what it has dropped. Views keep what they have.
func TestHourIsBounded(t *testing.T) {
	r, now := newRecorder(time.Now()), time.Now()
	old := func(path string, n int) *recognize.Thing {
		return &recognize.Thing{Kind: recognize.Mutex, Path: path, Queue: []*recognize.Contender{{Path: fmt.Sprint(path, n), Holds: true, Since: now}}}
	}
	end := func(path string, n int) {
		now = now.Add(time.Millisecond)
		r.begin(&recognize.World{})
		r.compare(nil, old(path, n), Change{At: now}, nil)
		r.compare(old(path, n), nil, Change{At: now}, func(recognize.Tenure) bool { return false })
		r.finish(Span{now, now.Add(time.Microsecond)}, now)
	}
	for n := range 3 * maxEnded {
		end("/busy", n)
	}
	v := r.view()
	require.Len(t, v.Ended["mutex/busy"], maxEnded)
	assert.False(t, v.Dropped["mutex/busy"].IsZero())
	assert.LessOrEqual(t, len(v.Blind), maxBlind)
	for n := range 2 * maxHolds {
		end(fmt.Sprintf("/many/%d", n), 0)
		require.LessOrEqual(t, r.total, maxHolds)
	}
	total := 0
	for _, all := range r.hour.Ended {
		total += len(all)
	}
	assert.Equal(t, total, r.total)
	assert.False(t, r.view().Dropped[allDropped].IsZero())
	assert.Len(t, v.Ended["mutex/busy"], maxEnded, "a view does not change")
	assert.Len(t, v.Ended, 1)
}

// hourOf draws the last hour of a path.
func (p *past) hourOf(t *testing.T, path string, health Health) string {
	t.Helper()
	v := &View{World: p.world(), Exists: true, At: p.now, Hour: p.lately.view(), Health: health}
	d := &drawing{View: v, question: question{Path: path}, page: menuPages()[0], menu: menuPages()}
	blocks := append(d.drawHour(path, v.Of(path)), d.drawGraphs()...)
	require.NoError(t, d.err)
	out := ""
	for _, b := range blocks {
		out += string(b.HTML)
	}
	return out
}

// world is the world of the last look.
func (p *past) world() *recognize.World { return p.lately.world }

// TestLastHourIsDrawn as a time line and as a list, with what is not known.
func TestLastHourIsDrawn(t *testing.T) {
	p := newPast()
	p.has("/l", 0, "")
	for i, id := range []string{"ann", "<script>alert(1)</script>", "cy \u202e"} {
		p.has(contender("/l", "lock", i+1), int64(i+1), id)
	}
	p.look()
	p.now = p.now.Add(10 * time.Minute)
	delete(p.nodes, contender("/l", "lock", 1))
	p.look()
	p.now, p.seen = p.now.Add(20*time.Minute), false
	delete(p.nodes, contender("/l", "lock", 2))
	p.look()
	text := p.hourOf(t, "/l", Health{})
	for _, want := range []string{
		"ann: 10m 1s or more", "&lt;script&gt;alert(1)&lt;/script&gt;: 0s to 20m 1s", `class="faint"`, `cy \u{202e}`, ">holds<", "or before", "not observed for 20m 1s", "Not observed for 20m 1s,",
		"Observed for ", "waiters, at most <b>2</b>", `<path class="waiters" d="M`, "a hold that came and went between two looks is not shown", "released, or its session has ended", "waiters: now 0, at most 2", "57 minutes without a bar",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "<script>alert")
	assert.NotContains(t, text, "\u202e")
	text = p.hourOf(t, "/l", Health{Stale: true, AsOf: p.now.Add(-time.Minute)})
	assert.Contains(t, text, "not observed for 1m 0s", "ZooKeeper is away")
	assert.Empty(t, (&drawing{View: &View{World: p.world(), Moment: &Moment{}}}).drawHour("/l", p.world().Of("/l")), "the past has its own time line")
	p.now = p.now.Add(2 * time.Hour)
	p.look()
	text = p.hourOf(t, "/l", Health{})
	assert.NotContains(t, text, "ann", "an hour later")
}

// TestTimeLineOfABusyLockIsBounded: holds by the hundred, and many at one time.
func TestTimeLineOfABusyLockIsBounded(t *testing.T) {
	now := time.Now()
	thing := &recognize.Thing{Kind: recognize.Semaphore, Path: "/s"}
	var ended []Hold
	for i := range maxEnded {
		from := now.Add(-time.Duration(maxEnded-i) * time.Second)
		ended = append(ended, Hold{Holder: strings.Repeat("\U000e0001", 80), From: from, Sure: true, Until: from.Add(30 * time.Second), How: strings.Repeat("<", 900)})
	}
	for i := range 50 {
		thing.Queue = append(thing.Queue, &recognize.Contender{ID: fmt.Sprint("holder-", i), Holds: true, Since: now.Add(-time.Minute)})
	}
	line := newHourLine(thing, Hour{Ended: map[string][]Hold{keyOf(thing): ended}, Dropped: map[string]time.Time{keyOf(thing): now}}, now)
	assert.Equal(t, maxLanes*laneHeight, line.Height)
	assert.Positive(t, line.Hidden)
	assert.Len(t, line.Holds, shownHolds)
	assert.Equal(t, 50+maxEnded-shownHolds, line.More)
	assert.Equal(t, now, line.Dropped)
	for _, s := range line.Stretches {
		assert.True(t, s.X >= 0 && s.X <= lineWidth && s.X+s.Width <= lineWidth+1, s)
	}
	for i, a := range line.Stretches {
		for _, b := range line.Stretches[i+1:] {
			assert.False(t, a.Y == b.Y && a.X+a.Width > b.X+1.5 && b.X+b.Width > a.X+1.5, "%v and %v", a, b)
		}
	}
	d := &drawing{View: &View{World: &recognize.World{}}}
	html := d.renderBlock("hour", "", line).HTML
	require.NoError(t, d.err)
	assert.Less(t, len(html), 100_000)
	assert.Contains(t, html, "concurrent holds not drawn")
	assert.Contains(t, html, "too many to be kept")
	line = newHourLine(thing, Hour{Waiting: map[string][]Point{keyOf(thing): {{now.Add(-2 * time.Hour), 9}, {now.Add(-90 * time.Minute), 4}, {now.Add(-time.Minute), 2}}}}, now)
	assert.EqualValues(t, 4, line.MostWaiting, "nine waited before the line begins")
	assert.True(t, strings.HasPrefix(line.Waiting, "M0.0 30H0.0V0.0H0.0V0.0H"), line.Waiting)
}

// TestHourIsKeptWithoutAReader by an attentive model; by another one, the end of a hold has the
// time of its notification.
func TestHourIsKeptWithoutAReader(t *testing.T) {
	for _, attentive := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			srv, err := zktest.Start(&zktest.Options{InMemory: true})
			require.NoError(t, err)
			defer func() { _ = srv.Close() }()
			require.NoError(t, srv.Create("/l", nil))
			for i := range 4 {
				require.NoError(t, srv.Create(contender("/l", "lock", i), nil))
			}
			c, err := session.Connect(t.Context(), srv.Addr(), &session.Options{Dialer: srv.Dial})
			require.NoError(t, err)
			m, over := NewModel(c, "/"), make(chan error, 1)
			m.Attentive = attentive
			// Waited for below; ends when the client is closed.
			go func() { over <- m.Run(t.Context()) }()
			for !m.View().Health.Loaded || len(m.View().Things) == 0 {
				time.Sleep(3 * time.Second)
			}
			var ended []time.Time
			for i := range 3 {
				time.Sleep(10 * time.Minute)
				require.NoError(t, srv.Delete(contender("/l", "lock", i)))
				ended = append(ended, time.Now())
			}
			time.Sleep(10 * time.Minute)
			hour := m.View().Hour
			holds := hour.Ended["mutex/l"]
			if !attentive {
				require.Len(t, holds, 1, "the holds between two looks are not known")
				_ = c.Close(t.Context())
				<-over
				return
			}
			require.Len(t, holds, 3)
			for i, h := range holds {
				assert.WithinDuration(t, ended[i], h.Until, idle)
				assert.Zero(t, h.After, "observed")
			}
			assert.Empty(t, hour.Blind)
			_ = c.Close(t.Context())
			<-over
		})
	}
}
