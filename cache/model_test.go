package cache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// model is a server as the machine may see it, with the weakest order that
// ZooKeeper promises: answers in the order of the requests, an event before any
// answer that shows its change. An answer that is older than an event may come
// after it.
type model struct {
	zxid     int64
	nodes    map[string]*modelNode
	secret   map[string]bool // may not be read
	history  map[string]bool // every state that a path has had: see version
	asked    []request       // requests that the server has not carried out
	answers  []modelAnswer
	events   []modelEvent
	watching bool                 // the persistent watch is set
	oneShot  map[watchOf]struct{} // set by answers
	answered int                  // how many answers were handed over, or lost, so far
	computed int
}

type modelNode struct {
	stat session.Stat
	data string
}

type modelAnswer struct {
	req  request
	a    answer
	zxid int64 // the server had got so far
	nth  int
}

type modelEvent struct {
	kind session.EventType
	path string
	zxid int64
	// after is the number of the answer that set the watch, if it was a
	// one-shot one. echo: the server has not sent it once more.
	after int
	echo  bool
}

type watchOf struct {
	path string
	list bool
	nth  int
}

func newModel() *model {
	s := &model{nodes: map[string]*modelNode{"/": {}}, secret: map[string]bool{}, history: map[string]bool{}, oneShot: map[watchOf]struct{}{}}
	s.note("/")
	return s
}

func version(path string, stat session.Stat, data string) string {
	return fmt.Sprint(path, " ", stat.Czxid, " ", stat.Mzxid, " ", data)
}

func parentOf(path string) string { return max(path[:strings.LastIndexByte(path, '/')], "/") }

func (s *model) childrenOf(path string) []string {
	var out []string
	for p := range s.nodes {
		if p != "/" && parentOf(p) == path {
			out = append(out, znode.Base(p))
		}
	}
	slices.Sort(out)
	return out
}

// touch notes a change of path's children.
func (s *model) touch(path string) {
	n := s.nodes[path]
	n.stat.Pzxid = s.zxid
	n.stat.Cversion++
	n.stat.NumChildren = int32(len(s.childrenOf(path)))
}

func (s *model) note(path string) {
	n := s.nodes[path]
	s.history[version(path, n.stat, n.data)] = true
}

func (s *model) create(path, data string) bool {
	if s.nodes[path] != nil || s.nodes[parentOf(path)] == nil {
		return false
	}
	s.zxid++
	s.nodes[path] = &modelNode{data: data, stat: session.Stat{
		Czxid: s.zxid, Mzxid: s.zxid, Pzxid: s.zxid, Ctime: s.zxid, Mtime: s.zxid, DataLength: int32(len(data)),
	}}
	s.note(path)
	s.touch(parentOf(path))
	s.fire(session.EventCreated, path)
	return true
}

func (s *model) set(path, data string) bool {
	n := s.nodes[path]
	if n == nil {
		return false
	}
	s.zxid++
	n.data = data
	n.stat.Mzxid, n.stat.Mtime, n.stat.DataLength = s.zxid, s.zxid, int32(len(data))
	n.stat.Version++
	s.note(path)
	s.fire(session.EventDataChanged, path)
	return true
}

func (s *model) delete(path string) bool {
	if s.nodes[path] == nil || path == "/" || len(s.childrenOf(path)) > 0 {
		return false
	}
	s.zxid++
	delete(s.nodes, path)
	s.touch(parentOf(path))
	s.fire(session.EventDeleted, path)
	return true
}

// fire sends events to the persistent watch, and to one-shot watches.
func (s *model) fire(kind session.EventType, path string) {
	if s.watching {
		s.events = append(s.events, modelEvent{kind: kind, path: path, zxid: s.zxid})
	}
	s.fireOnce(kind, path, func(w watchOf) bool {
		return w.path == path && (!w.list || kind == session.EventDeleted)
	})
	if kind != session.EventDataChanged {
		s.fireOnce(session.EventChildrenChanged, parentOf(path), func(w watchOf) bool {
			return w.path == parentOf(path) && w.list
		})
	}
}

func (s *model) fireOnce(kind session.EventType, path string, concerned func(watchOf) bool) {
	for w := range s.oneShot {
		if concerned(w) {
			delete(s.oneShot, w)
			s.events = append(s.events, modelEvent{kind: kind, path: path, zxid: s.zxid, after: w.nth})
		}
	}
}

// compute carries out the oldest request. With oneShot it leaves a watch.
func (s *model) compute(oneShot bool) bool {
	if len(s.asked) == 0 {
		return false
	}
	req := s.asked[0]
	s.asked = s.asked[1:]
	s.computed++
	out := modelAnswer{req: req, zxid: s.zxid, nth: s.computed}
	n := s.nodes[req.n.path]
	switch {
	case n == nil:
		out.a.outcome = missing
	case s.secret[req.n.path] && req.op != opStat:
		out.a.outcome = denied
	default:
		out.a.stat = n.stat
		switch req.op {
		case opGet:
			out.a.data = []byte(n.data)
		case opList:
			out.a.names = s.childrenOf(req.n.path)
		}
	}
	if oneShot && out.a.outcome != denied && (n != nil || req.op == opStat) {
		s.watch(watchOf{req.n.path, req.op == opList, s.computed})
	}
	s.answers = append(s.answers, out)
	return true
}

// watch sets a one-shot watch. An event of an earlier watch that is still in flight
// uses up the new watch as well, since a session passes an event to all waiting
// watches of its path; such an event arrives behind the answer, however old it is.
func (s *model) watch(w watchOf) {
	for _, ev := range s.events {
		if !ev.echo && ev.path == w.path && (ev.kind == session.EventDeleted || w.list == (ev.kind == session.EventChildrenChanged)) {
			s.events = append(s.events, modelEvent{kind: ev.kind, path: ev.path, zxid: s.zxid + 1, after: w.nth, echo: true})
			return
		}
	}
	s.oneShot[w] = struct{}{}
}

// hangUp loses the connection and all that is in progress on it.
func (s *model) hangUp() {
	s.asked, s.answers, s.events, s.watching = nil, nil, nil, false
	s.answered = s.computed
	clear(s.oneShot)
}

// nextAnswer is the next answer, unless an event has to come before it.
func (s *model) nextAnswer() (modelAnswer, bool) {
	if len(s.answers) == 0 || len(s.events) > 0 && s.events[0].zxid <= s.answers[0].zxid {
		return modelAnswer{}, false
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	s.answered = a.nth
	return a, true
}

// nextEvent is the next event, unless the watch that it fires is not set yet.
func (s *model) nextEvent() (modelEvent, bool) {
	if len(s.events) == 0 || s.events[0].after > s.answered {
		return modelEvent{}, false
	}
	ev := s.events[0]
	s.events = s.events[1:]
	return ev, true
}

// shown is a view that changes are applied to, and that checks the rules which every
// view keeps.
type shown struct {
	root    string
	bare    bool
	entries map[string]change
	newest  map[string]session.Stat // of each path, whether it is still there or not
}

func newShown(root string, bare bool) *shown {
	return &shown{root: root, bare: bare, entries: map[string]change{}, newest: map[string]session.Stat{}}
}

var errView = errors.New("the view breaks its word")

func (v *shown) apply(c change, history map[string]bool) error {
	fail := func(why string) error {
		return fmt.Errorf("%w: %s: %v %s %+v, before: %+v", errView, why, c.kind, c.path, c.stat, v.entries[c.path].stat)
	}
	old, there := v.entries[c.path]
	switch {
	case c.kind == EventAdded && there, c.kind != EventAdded && !there:
		return fail("it is there, or not")
	case c.kind == EventRemoved:
		for p := range v.entries {
			if within(c.path, p) {
				return fail("removed before its child " + p)
			}
		}
		delete(v.entries, c.path)
		return nil
	case c.kind == EventUpdated && old.err == nil && c.err == nil && old.stat.Czxid != c.stat.Czxid:
		return fail("another znode")
	}
	dir := parentOf(c.path)
	if _, ok := v.entries[dir]; !ok && c.path != v.root && !(v.bare && dir == v.root) {
		return fail("added before its parent")
	}
	if c.err == nil {
		last := v.newest[c.path]
		if c.stat.Czxid < last.Czxid || c.stat.Mzxid < last.Mzxid {
			return fail("it goes back")
		}
		if !history[version(c.path, c.stat, string(c.data))] {
			return fail("it never was like that: " + string(c.data))
		}
		v.newest[c.path] = c.stat
	}
	v.entries[c.path] = c
	return nil
}

// expected is the content that a view should show: the deliberately simple twin of
// the machine.
func (s *model) expected(root string, bare bool, depth int, filter func(string) bool) map[string]string {
	out := map[string]string{}
	for path, n := range s.nodes {
		if path != root && !within(root, path) || bare && path == root {
			continue
		}
		ok := true
		for p := path; p != root; p = parentOf(p) {
			ok = ok && (filter == nil || filter(p)) && !(p != path && s.secret[p])
		}
		rest := strings.Trim(strings.TrimPrefix(path, root), "/")
		if level := len(strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })); depth >= 0 && level > depth || !ok {
			continue
		}
		out[path] = n.data + " " + strconv.FormatInt(n.stat.Mzxid, 10)
		if s.secret[path] {
			out[path] = "secret"
		}
	}
	return out
}

func (v *shown) summary() map[string]string {
	out := map[string]string{}
	for path, c := range v.entries {
		out[path] = string(c.data) + " " + strconv.FormatInt(c.stat.Mzxid, 10)
		if c.err != nil {
			out[path] = "secret"
		}
	}
	return out
}

func (v *shown) compare(want map[string]string) error {
	if got := v.summary(); !maps.Equal(got, want) {
		return fmt.Errorf("%w: it shows %v, the server has %v", errView, got, want)
	}
	return nil
}
