package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// past is a memory, and a tree that changes in time.
type past struct {
	*memory
	recognize.Recognizer
	now   time.Time
	nodes map[string]*recognize.Node
	seen  bool // changes between looks are observed
}

func newPast() *past {
	now := time.Now()
	return &past{memory: newMemory(), now: now, nodes: map[string]*recognize.Node{}, seen: true}
}

// has puts a node into the tree; owner may be a session.
func (p *past) has(path string, owner int64, data string) {
	p.nodes[path] = recognize.NewNode(path, []byte(data), session.Stat{EphemeralOwner: owner, Ctime: p.now.UnixMilli()})
}

// look looks a second later.
func (p *past) look() *recognize.World {
	p.now = p.now.Add(time.Second)
	d := p.Replace(maps.Values(p.nodes), p.memory.past, p.now)
	p.remember(d, p.now, p.seen)
	return d.World
}

// feed is the list of changes, the oldest first, a line each.
func (p *past) feedLines() []string {
	var out []string
	for _, c := range p.changes() {
		out = append([]string{c.Path + " " + c.Text}, out...)
	}
	return out
}

func contender(path, marker string, n int) string {
	return fmt.Sprintf("%s/_c_%08d-0000-4000-8000-000000000000-%s-%010d", path, n, marker, n)
}

func TestMemoryHasTheBeginningOfHolds(t *testing.T) {
	p := newPast()
	p.has("/l", 0, "")
	p.has(contender("/l", "lock", 1), 1, "ann")
	p.has(contender("/l", "lock", 2), 2, "bob")
	began := p.now.Add(time.Second)
	first := p.look().Things[0].Queue
	assert.Zero(t, first[0].Since, "a holder at the first look may have held indefinitely")
	assert.Equal(t, began, first[0].AtLeast, "but has held since then")
	assert.Zero(t, first[1].AtLeast, "a waiting contender holds nothing")
	assert.Equal(t, began, p.look().Things[0].Queue[0].AtLeast, "the contender still holds")
	delete(p.nodes, contender("/l", "lock", 1))
	granted := p.look().Things[0].Queue[0]
	assert.Equal(t, "bob", granted.ID)
	assert.Equal(t, p.now, granted.Since, "granted since the last look")
	assert.Zero(t, granted.AtLeast)
	p.look()
	assert.Equal(t, granted.Since, p.look().Things[0].Queue[0].Since)
}

// TestUnobservedGrantIsDatedByItsFirstObservation: the moment of the grant stays
// unknown.
func TestUnobservedGrantIsDatedByItsFirstObservation(t *testing.T) {
	p := newPast()
	p.has("/l", 0, "")
	p.has(contender("/l", "lock", 1), 1, "ann")
	p.has(contender("/l", "lock", 2), 2, "bob")
	p.has(contender("/l", "lock", 3), 3, "cy")
	p.look()
	delete(p.nodes, contender("/l", "lock", 1))
	p.now, p.seen = p.now.Add(time.Hour), false // an hour without ZooKeeper
	after := p.look().Things[0]
	assert.Equal(t, "bob", after.Queue[0].ID)
	assert.Zero(t, after.Queue[0].Since)
	assert.Equal(t, p.now, after.Queue[0].AtLeast)
	assert.Empty(t, after.Problems, "the time at the head is unknown")
	p.seen = true
	assert.Zero(t, p.look().Things[0].Queue[0].Since, "the moment stays unknown")
	p.now = p.now.Add(11 * time.Minute)
	assert.NotEmpty(t, p.look().Things[0].Problems, "now the time at the head is known to be long")
	delete(p.nodes, contender("/l", "lock", 2))
	assert.Equal(t, p.now.Add(time.Second), p.look().Things[0].Queue[0].Since, "observed changes have a known time again")
}

// TestLongWaitIsNoLongHold when the contender gets to the head.
func TestLongWaitIsNoLongHold(t *testing.T) {
	p := newPast()
	p.has("/l", 0, "")
	for i := 1; i <= 3; i++ {
		p.has(contender("/l", "lock", i), int64(i), "")
	}
	p.look()
	p.now = p.now.Add(time.Hour)
	delete(p.nodes, contender("/l", "lock", 1))
	assert.Empty(t, p.look().Things[0].Problems)
}

// TestFirstOfAllHasHeldSinceItCame, even if unobserved: no contender was ahead.
func TestFirstOfAllHasHeldSinceItCame(t *testing.T) {
	p := newPast()
	p.seen = false
	p.has("/l", 0, "")
	p.has(contender("/l", "lock", 0), 1, "ann")
	p.has(contender("/l", "lock", 1), 2, "bob")
	came := p.now.Truncate(time.Millisecond)
	p.now = p.now.Add(time.Hour)
	held := p.look().Things[0].Queue[0]
	assert.WithinDuration(t, came, held.Since, time.Millisecond)
	assert.Zero(t, held.AtLeast)
	held = p.look().Things[0].Queue[0]
	assert.WithinDuration(t, came, held.Since, time.Millisecond)
}

// TestMemoryTrustsAConnectionThatWasThereAllTheTime, and changes received after
// the catch-up.
func TestMemoryTrustsAConnectionThatWasThereAllTheTime(t *testing.T) {
	begin := time.Now()
	first := cache.Status{Connected: true, Since: begin}
	second := cache.Status{Connected: true, Since: begin.Add(time.Minute)}
	synced := func(st cache.Status) cache.Status { st.Synced = true; return st }
	for name, c := range map[string]struct {
		looks []cache.Status
		blink bool // before the last look
		want  bool // of the last look
	}{
		"the first look":                         {looks: []cache.Status{synced(first)}},
		"the second":                             {looks: []cache.Status{synced(first), first}, want: true},
		"many, of which one had caught up":       {looks: []cache.Status{first, synced(first), first, first}, want: true},
		"before it has caught up":                {looks: []cache.Status{first, first}},
		"what it catches up with":                {looks: []cache.Status{first, synced(first)}},
		"on a new connection":                    {looks: []cache.Status{synced(first), second}},
		"on a new connection, at once":           {looks: []cache.Status{synced(first), synced(second)}},
		"on a new connection that has caught up": {looks: []cache.Status{synced(first), synced(second), second}, want: true},
		"without a connection":                   {looks: []cache.Status{synced(first), {Since: begin}}},
		"after it was late":                      {looks: []cache.Status{synced(first), synced(first)}, blink: true},
	} {
		m, got := newMemory(), false
		for i, st := range c.looks {
			if c.blink && i == len(c.looks)-1 {
				m.resetProof()
			}
			got = m.noteStatus(st)
		}
		assert.Equal(t, c.want, got, name)
	}
	m := newMemory()
	m.before = map[string]*recognize.Thing{}
	m.noteStatus(synced(first))
	assert.False(t, m.isBlind())
	m.noteStatus(second)
	assert.True(t, m.isBlind(), "a new connection has yet to catch up: look again afterwards")
}

func TestMemoryTellsWhatIsNews(t *testing.T) {
	p := newPast()
	p.has("/e", 0, "")
	p.has(contender("/e", "latch", 1), 1, "ann")
	p.has("/c", 0, "5")
	p.has("/g", 0, "")
	p.has("/g/x", 7, "")
	p.look()
	require.Empty(t, p.feedLines(), "existing things are no news")
	p.has(contender("/e", "latch", 2), 2, "bob")
	p.has("/c", 0, "6")
	p.look()
	require.Empty(t, p.feedLines(), "waiting candidates and counters are no news")
	delete(p.nodes, contender("/e", "latch", 1))
	p.look()
	p.has("/g/y", 8, "")
	p.has("/l", 0, "")
	p.has(contender("/l", "lock", 1), 0, "eve")
	p.look()
	p.has(contender("/l", "lock", 2), 0, "eve")
	p.look()
	delete(p.nodes, "/g/x")
	delete(p.nodes, "/g/y")
	p.look()
	assert.Equal(t, []string{
		"/e is now led by bob", "/g is now: 2 members",
		"/l orphan: eve is not ephemeral, so no end of a session removes it",
		"/g has gone",
	}, slices.Compact(p.feedLines()))
	for range 100 {
		p.has("/g/z", 9, "")
		p.look()
		delete(p.nodes, "/g/z")
		p.look()
	}
	assert.Len(t, p.changes(), maxFeed)
}

// TestTheSameProblemOfMoreIsNoNews.
func TestTheSameProblemOfMoreIsNoNews(t *testing.T) {
	p := newPast()
	p.has("/q", 0, "")
	p.has("/q/admission", 0, `{"format":1,"maxTasks":10}`)
	p.has("/q/admission/open", 0, "")
	p.has("/q/masters", 0, "")
	p.has(contender("/q/masters", "latch", 1), 1, "m")
	p.has("/q/tasks", 0, "")
	p.has("/q/tasks/0a", 0, "")
	p.look()
	for i := range 20 {
		p.has(fmt.Sprintf("/q/tasks/0a/%d", i), 0, string(taskformat.Encode(taskformat.Record{
			Format: taskformat.Format, ID: fmt.Sprint(i), Run: "0123456789abcdef", State: taskformat.Dead, Attempt: 3, MaxAttempts: 3,
		})))
		p.look()
	}
	assert.Equal(t, []string{"/q 1 task is dead: all attempts have failed", "/q 2 tasks are dead: all attempts have failed"}, p.feedLines())
}

func TestMemoryKeepsWhatCountersWere(t *testing.T) {
	p := newPast()
	for i := range 3 * maxPoints {
		p.has("/counter", 0, fmt.Sprint(i/2))
		p.look()
	}
	points := p.numbers()["/counter"]
	require.Len(t, points, maxPoints)
	assert.EqualValues(t, 3*maxPoints/2-1, points[len(points)-1].Value, "the newest is the last")
	for i := 1; i < len(points); i++ {
		assert.NotEqual(t, points[i-1].Value, points[i].Value)
	}
	old := slices.Clone(points)
	p.has("/counter", 0, "999")
	p.look()
	assert.Equal(t, old, points, "a view does not change")
	delete(p.nodes, "/counter")
	p.look()
	assert.Empty(t, p.numbers())
	for i := range maxHistories + 10 {
		p.has(fmt.Sprintf("/counter-%d", i), 0, "1")
	}
	p.look()
	assert.Len(t, p.numbers(), maxHistories)
}

// TestACounterThatCannotBeReadHasNoValue: not even 0.
func TestACounterThatCannotBeReadHasNoValue(t *testing.T) {
	p := newPast()
	p.has("/c", 0, "5")
	p.has("/c/_c_00000001-0000-4000-8000-000000000000-writer", 1, "")
	p.look()
	require.Len(t, p.numbers()["/c"], 1)
	p.has("/c", 0, "five")
	p.look()
	require.Len(t, p.numbers()["/c"], 2, "with a mark, four bytes are a number")
	p.has("/c", 0, "three")
	v := &View{World: p.look(), History: p.numbers(), Exists: true}
	require.Nil(t, v.Things[0].Number.Value)
	require.Empty(t, v.History["/c"])
	d := &drawing{View: v}
	html := string(d.drawThing(v.Things[0]).HTML)
	require.NoError(t, d.err)
	require.Contains(t, html, `<div class="big"><bdi>not readable</bdi></div>`)
}

// TestUnreadableContenderHasNoWaitingTime: the time of its creation is unknown.
func TestUnreadableContenderHasNoWaitingTime(t *testing.T) {
	p := newPast()
	p.has("/l", 0, "")
	p.has(contender("/l", "lock", 1), 1, "ann")
	p.nodes[contender("/l", "lock", 1)].Stat.Czxid = 7
	p.nodes[contender("/l", "lock", 2)] = &recognize.Node{Path: contender("/l", "lock", 2), Denied: true}
	d := &drawing{View: &View{World: p.look(), Exists: true}}
	require.Empty(t, d.Waits())
	html := string(d.drawThing(d.Things[0]).HTML)
	require.NoError(t, d.err)
	require.Contains(t, html, "⚿ not readable")
	require.NotContains(t, html, "token 0")
	p.has(contender("/l", "lock", 3), 3, "cy")
	d.World = p.look()
	require.Len(t, d.Waits(), 1)
	require.Equal(t, "cy", d.Waits()[0].First.ID)
	require.Equal(t, 2, d.Waits()[0].Waiting)
}

// TestNoteOfTheHolderDatesTheHold, even if the grant was not observed.
func TestNoteOfTheHolderDatesTheHold(t *testing.T) {
	p := newPast()
	p.seen = false
	p.has("/l", 0, "")
	p.has(contender("/l", "lock", 1), 1, "ann")
	first := p.look().Things[0].Queue[0]
	require.Zero(t, first.Since)
	p.has("/l.delay", 0, "held 0")
	noted := p.now
	n := p.nodes["/l.delay"]
	n.Stat.Mtime = noted.UnixMilli()
	for range 3 {
		c := p.look().Things[0].Queue[0]
		require.WithinDuration(t, noted, c.Since, time.Millisecond)
		require.Zero(t, c.AtLeast)
	}
}

func TestPicturesAreDrawnOfAnything(t *testing.T) {
	at := time.Now()
	assert.Empty(t, drawHistory(nil))
	assert.Empty(t, drawHistory([]Point{{at, 1}}))
	for _, points := range [][]Point{
		{{at, 5}, {at, 5}}, {{at, -1 << 62}, {at.Add(time.Second), 1<<62 - 1}}, {{at, 1}, {at.Add(time.Hour), 2}, {at.Add(2 * time.Hour), 0}},
	} {
		assert.NotContains(t, string(drawHistory(points)), "NaN")
		assert.NotContains(t, string(drawHistory(points)), "Inf")
	}
	assert.NotContains(t, string(drawBar(nil)), "good")
	assert.Contains(t, string(drawBar([]part{{"good", "a", 1}, {"bad", "b", 999_999}})), `class="good" x="0" width="2"`, "every share is visible")
	assert.Equal(t, "1\u202f234\u202f567", groupThousands(1_234_567))
	assert.Equal(t, []string{"-90", "086"}, splitThousands(-90086))
	assert.Equal(t, []string{"7"}, splitThousands(7))
	assert.Equal(t, "2 entries", formatCount(2, "entry"))
	assert.Equal(t, []string{"1.05 MB", "1.5 kB", "12 B"}, []string{formatSize(1 << 20), formatSize(1500), formatSize(12)})
}

func TestNamesAreOrderedAsPeopleDo(t *testing.T) {
	names := []string{"", "0", "7", "07", "10", "host-1:7000", "host-2:7000", "host-10:7000", "host-10:7001", "host-a", "web"}
	for i, a := range names {
		for k, b := range names {
			got := compareNames(a, b)
			if a != "07" && b != "07" {
				assert.Equal(t, cmp.Compare(i, k), got, "%q %q", a, b)
			}
			assert.Equal(t, -compareNames(b, a), got, "%q %q", a, b)
		}
	}
	assert.Zero(t, compareNames("7", "07"))
}
