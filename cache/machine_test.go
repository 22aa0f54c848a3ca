package cache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// play is a machine with a model server.
type play struct {
	s      *model
	m      *machine
	v      *shown
	filter func(string) bool
	void   []modelAnswer // answers of lost connections
}

func newPlay(root string, bare bool, depth int, filter func(string) bool) *play {
	return &play{s: newModel(), m: newMachine(root, bare, depth, filter), v: newShown(root, bare), filter: filter}
}

func (p *play) begin(oneShot bool) {
	p.s.watching = !oneShot
	p.m.beginLoad(oneShot)
}

func (p *play) hangUp() {
	p.void = append(p.void, p.s.answers...)
	p.s.hangUp()
	p.m.stopSending()
}

func (p *play) send() bool {
	req, ok := p.m.nextRequest()
	if ok {
		p.s.asked = append(p.s.asked, req)
	}
	return ok
}

func (p *play) hearAnswer() bool {
	a, ok := p.s.nextAnswer()
	if ok {
		p.m.onReply(a.req, a.a)
	}
	return ok
}

func (p *play) hearEvent() bool {
	ev, ok := p.s.nextEvent()
	if ok {
		p.m.onEvent(ev.kind, ev.path)
	}
	return ok
}

// show applies the machine's changes.
func (p *play) show() error {
	changes := p.m.changes
	p.m.changes = nil
	for _, c := range changes {
		if err := p.v.apply(c, p.s.history); err != nil {
			return err
		}
	}
	return nil
}

// finishAll lets all that is in progress come to its end.
func (p *play) finishAll() error {
	for more := true; more; {
		more = p.send() || p.s.compute(p.m.oneShot) || p.hearEvent() || p.hearAnswer()
		if err := p.show(); err != nil {
			return err
		}
	}
	if !p.m.idle() && !p.m.refused {
		return fmt.Errorf("%w: %d reads are pending, and nothing is in progress", errView, p.m.pending())
	}
	return nil
}

func (p *play) check() error {
	return p.v.compare(p.s.expected(p.m.path, p.m.bare, p.m.depth, p.filter))
}

// Few, so that they collide.
var somePaths = []string{"/r", "/r/a", "/r/b", "/r/a/a", "/r/a/b", "/r/b/a", "/r/a/a/a", "/r/x", "/r/x/a", "/q", "/rr"} // read only

// TestViewIsTheServersInTheEnd_CH41_CH44_CH45_CH46 drives a machine and a model
// through random changes, deliveries and lost connections: no change may break the
// view's promises on the way, and in the end the view equals that of the simple twin.
// N12, N35: the model's order of events and answers is the weakest that ZooKeeper
// promises.
func TestViewIsTheServersInTheEnd_CH41_CH44_CH45_CH46(t *testing.T) {
	shapes := map[string]struct {
		bare  bool
		depth int
	}{"value": {false, 0}, "children": {true, 1}, "two levels": {false, 2}, "tree": {false, -1}}
	for name, sh := range shapes {
		for _, oneShot := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/oneShot=%v", name, oneShot), func(t *testing.T) {
				rapid.Check(t, func(rt *rapid.T) { // -rapid.checks=100000 looks harder
					var filter func(string) bool
					if rapid.Bool().Draw(rt, "filtered") {
						filter = func(path string) bool { return !strings.HasSuffix(path, "x") }
					}
					p := newPlay("/r", sh.bare, sh.depth, filter)
					if rapid.Bool().Draw(rt, "secrets") {
						p.s.secret["/r/a"] = true
					}
					if err := p.random(rt, oneShot); err != nil {
						rt.Fatal(err)
					}
				})
			})
		}
	}
}

func (p *play) random(rt *rapid.T, oneShot bool) error {
	path := rapid.SampledFrom(somePaths)
	p.begin(oneShot)
	for i := range rapid.IntRange(0, 120).Draw(rt, "steps") {
		switch rapid.IntRange(0, 20).Draw(rt, "what") {
		case 0, 1, 2, 3:
			p.s.create(path.Draw(rt, "create"), fmt.Sprint(i))
		case 4, 5:
			p.s.set(path.Draw(rt, "set"), fmt.Sprint(i))
		case 6, 7, 8:
			p.s.delete(path.Draw(rt, "delete"))
		case 9, 10, 11:
			p.send()
		case 12, 13:
			p.s.compute(p.m.oneShot)
		case 14, 15:
			p.hearAnswer()
		case 16, 17:
			p.hearEvent()
		case 18:
			p.hangUp()
			for range rapid.IntRange(0, 5).Draw(rt, "missed") {
				at := path.Draw(rt, "at")
				_ = p.s.delete(at) || p.s.create(at, "missed "+fmt.Sprint(i)) || p.s.set(at, "missed "+fmt.Sprint(i))
			}
			p.begin(oneShot)
		case 19:
			if len(p.void) > 0 { // an answer from before
				p.m.onReply(p.void[0].req, p.void[0].a)
				p.void = p.void[1:]
			}
		case 20: // no event reports a change of an access list; a later write shows the change
			at := rapid.SampledFrom([]string{"/r/a", "/r/a/a", "/r/b"}).Draw(rt, "opened or closed")
			p.s.secret[at] = !p.s.secret[at]
			p.s.set(at, fmt.Sprint(i))
		}
		if err := p.show(); err != nil {
			return err
		}
	}
	if err := p.finishAll(); err != nil {
		return err
	}
	return p.check()
}

// The checker must notice what it looks for.
func TestCheckerNoticesAViewThatBreaksItsWord(t *testing.T) {
	history := map[string]bool{}
	add := func(path string, czxid, mzxid int64) change {
		st := session.Stat{Czxid: czxid, Mzxid: mzxid}
		history[version(path, st, "d")] = true
		return change{kind: EventAdded, path: path, data: []byte("d"), stat: st}
	}
	update := func(c change) change { c.kind = EventUpdated; return c }
	remove := func(path string) change { return change{kind: EventRemoved, path: path} }
	invented := add("/r", 1, 1)
	invented.data = []byte("invented")
	bad := map[string][]change{
		"added twice":        {add("/r", 1, 1), add("/r", 1, 2)},
		"updated unseen":     {update(add("/r", 1, 1))},
		"removed unseen":     {remove("/r")},
		"child first":        {add("/r/a", 2, 2)},
		"parent goes first":  {add("/r", 1, 1), add("/r/a", 2, 2), remove("/r")},
		"updated to another": {add("/r", 1, 1), update(add("/r", 5, 5))},
		"data goes back":     {add("/r", 1, 3), update(add("/r", 1, 2))},
		"from the dead":      {add("/r", 5, 5), remove("/r"), add("/r", 1, 1)},
		"invented":           {invented},
	}
	for name, changes := range bad {
		t.Run(name, func(t *testing.T) {
			v := newShown("/r", false)
			var err error
			for _, c := range changes {
				require.NoError(t, err, "too early")
				err = v.apply(c, history)
			}
			require.ErrorIs(t, err, errView)
		})
	}
	s := newModel()
	s.create("/r", "1")
	require.ErrorIs(t, newShown("/r", false).compare(s.expected("/r", false, -1, nil)), errView)
	require.NoError(t, newShown("/r", true).compare(s.expected("/r", true, 1, nil)))
}

// On a new connection the root is another node. Its child, which may have one of
// the same name before it, is heard of before the answer that shows the root without
// children; that must not be the last of it.
func TestChildOfARecreatedNodeIsNotForgotten(t *testing.T) {
	for _, before := range []bool{false, true} {
		p := newPlay("/r", false, -1, nil)
		p.s.create("/r", "")
		if before {
			p.s.create("/r/a", "old")
		}
		p.begin(false)
		require.NoError(t, p.finishAll())
		p.hangUp()
		p.s.delete("/r/a")
		p.s.delete("/r")
		p.s.create("/r", "")
		p.begin(false)
		require.True(t, p.send(), "the root is read")
		require.True(t, p.s.compute(false))
		p.s.create("/r/a", "new")
		for p.hearEvent() {
		}
		require.True(t, p.hearAnswer())
		require.NoError(t, p.finishAll())
		require.NoError(t, p.check())
	}
}

// A znode that may not be read is opened and written to between a read that is refused again
// and the watch of the next one: the watch before it has fired already.
func TestZnodeThatIsOpenedBehindAFormerEventIsRead(t *testing.T) {
	p := newPlay("/r", false, 2, nil)
	p.s.create("/r", "")
	p.s.create("/r/a", "closed")
	p.s.secret["/r/a"] = true
	p.begin(true)
	step := func() {
		require.True(t, p.send())
		require.True(t, p.s.compute(true))
		require.True(t, p.hearAnswer())
	}
	step() // the root
	step() // its children
	step() // the child is refused
	step() // its stat leaves a watch, and it is read again
	p.s.set("/r/a", "still closed")
	require.True(t, p.hearEvent())
	require.True(t, p.send())
	require.True(t, p.s.compute(true)) // refused again, without a watch
	p.s.secret["/r/a"] = false
	p.s.set("/r/a", "open")
	require.NoError(t, p.finishAll())
	require.NoError(t, p.check())
}

// A child is heard of while its parent, which is opened and read, is still shown as one that may
// not be read.
func TestChildOfAZnodeThatIsOpenedIsNotForgotten(t *testing.T) {
	p := newPlay("/r", false, 2, nil)
	p.s.create("/r", "")
	p.s.create("/r/a", "closed")
	p.s.secret["/r/a"] = true
	p.begin(false)
	require.NoError(t, p.finishAll())
	p.s.secret["/r/a"] = false
	p.s.set("/r/a", "open")
	require.True(t, p.hearEvent())
	require.True(t, p.send())
	require.True(t, p.s.compute(false))
	p.s.create("/r/a/b", "child")
	require.True(t, p.hearEvent())
	require.True(t, p.hearAnswer())
	require.NoError(t, p.finishAll())
	require.NoError(t, p.check())
}
