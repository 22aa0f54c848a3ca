package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Ledger is an observer of one client that checks whether the events add up: what begins
// ends, once.
type Ledger struct {
	// mu guards the fields below.
	mu     sync.Mutex
	waits  map[uint64]observe.WaitBegun
	grants map[uint64][]string // the znodes of the holds of the newest waits that were granted
	shared map[uint64]string   // the paths of waits that may share a hold with another wait; see ShareHolds
	held   map[string]bool     // the paths with shared holds: whether there was one
	kept   []uint64            // the waits of grants that have a hold, the oldest first
	holds  map[uint64]observe.Hold
	caches map[uint64]*cachePeriod
	passed map[uint64]bool // the waits that have passed a round, and have not ended
	status string          // of the session
	wrong  []error
	steps  []string                 // see Steps
	shows  func(observe.Event) bool // the events in steps; nil: all of the recipes
	tasks  *TaskChains              // of all clients; may be nil
	gone   map[member]string        // the workers that have gone: the last change
}

// NewLedger makes a ledger for a client that is not connected yet.
func NewLedger() *Ledger {
	return &Ledger{
		waits: map[uint64]observe.WaitBegun{}, grants: map[uint64][]string{}, shared: map[uint64]string{}, held: map[string]bool{},
		holds: map[uint64]observe.Hold{}, caches: map[uint64]*cachePeriod{}, passed: map[uint64]bool{}, gone: map[member]string{}, status: session.Connecting.String(),
	}
}

// ShareHolds allows waits on path to share a hold, as several calls of Await of one place do.
func (l *Ledger) ShareHolds(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[path] = false
}

// maxSteps and maxKept bound the memory of a ledger.
const (
	maxSteps = 200
	maxKept  = 200
)

// Observe enters an event.
func (l *Ledger) Observe(ctx context.Context, e observe.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks != nil {
		l.tasks.Observe(e)
	}
	if ctx == nil || e.Name() == "" {
		l.fault("no context or no name: %#v", e)
	}
	switch e := e.(type) {
	case observe.WaitBegun:
		if _, known := l.waits[e.ID]; known || e.ID == 0 || e.Kind == "" || e.Path == "" || e.Begun.IsZero() {
			l.fault("begins wrongly: %#v", e)
		}
		l.waits[e.ID] = e
		l.step(e)
	case observe.WaitQueued:
		if l.waits[e.ID].Wait != e.Wait || e.Ahead < 0 || e.Znode == "" {
			l.fault("queued, and does not wait: %#v", e)
		}
		l.step(e, e.Ahead)
	case observe.WaitEnded:
		if l.waits[e.ID].Wait != e.Wait || e.Took < 0 {
			l.fault("ends, and does not wait: %#v", e)
		}
		if granted := e.Err == nil; e.Kind == observe.Round && granted != l.passed[e.ID] {
			l.fault("a round was passed: %v: %#v", l.passed[e.ID], e)
		}
		delete(l.passed, e.ID)
		delete(l.waits, e.ID)
		if e.Err == nil && e.Kind.Held() {
			l.grants[e.ID] = nil
		}
		if _, shared := l.held[e.Path]; shared {
			l.shared[e.ID] = e.Path
		}
		l.step(e, classOf(e.Err))
	case observe.HoldBegun:
		_, known := l.holds[e.ID]
		if known || e.ID == 0 || e.Token == 0 || e.Session == 0 || e.Path == "" || e.Znode == "" || !l.isGrantedLocked(e.Hold) {
			l.fault("held wrongly: %#v", e)
		}
		if e.Wait != 0 {
			l.noteHoldLocked(e.Hold)
		}
		if _, shared := l.held[e.Path]; shared {
			l.held[e.Path] = true
			delete(l.shared, e.Wait)
		}
		l.holds[e.ID] = e.Hold
		l.step(e)
	case observe.HoldEnded:
		if l.holds[e.ID] != e.Hold || e.Took < 0 {
			l.fault("ends, and is not held: %#v", e)
		}
		if err := wrongEnd(e); err != nil {
			l.fault("%w: %#v", err, e)
		}
		delete(l.holds, e.ID)
		l.step(e, e.End, classOf(e.Err))
	case observe.SessionChanged:
		if e.Before != l.status || e.Took < 0 {
			l.fault("the session was %s: %#v", l.status, e)
		}
		l.status = e.Status
		l.stepOfSession(e)
	case observe.MemberChanged:
		l.enterMember(e)
	case observe.Rebalanced:
		if e.Path == "" || e.Took < 0 || e.Generation == 0 && e.Err == nil || e.Moves > e.Resources {
			l.fault("rebalanced wrongly: %#v", e)
		}
		l.step(e, classOf(e.Err))
	case observe.TaskChanged:
		if e.Path == "" || e.Task == "" || e.From == e.To || e.Took < 0 || e.Attempt < 0 {
			l.fault("a change of no task: %#v", e)
		}
		l.step(e, e.From+">"+e.To)
	case observe.HeartbeatEnded, observe.NoConnection, observe.TrustLow, observe.SessionSampled:
		l.stepOfSession(e)
	default:
		l.enterSingle(e)
	}
}

// isGrantedLocked reports whether the wait of h, if any, was granted, and has no hold of
// the same znode. A wait for several locks of a table has a hold for each of them.
func (l *Ledger) isGrantedLocked(h observe.Hold) bool {
	znodes, granted := l.grants[h.Wait]
	return h.Wait == 0 || granted && !slices.Contains(znodes, h.Znode)
}

// noteHoldLocked notes the hold of a wait, and forgets old waits that have a hold.
func (l *Ledger) noteHoldLocked(h observe.Hold) {
	if len(l.grants[h.Wait]) == 0 {
		l.kept = append(l.kept, h.Wait)
	}
	l.grants[h.Wait] = append(l.grants[h.Wait], h.Znode)
	if len(l.kept) > maxKept {
		delete(l.grants, l.kept[0])
		l.kept = slices.Delete(l.kept, 0, 1)
	}
}

func (l *Ledger) fault(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Errorf(format, args...)) //nolint:err113 // a test's
}

// step notes an event of a recipe, with what tells it from others of its type.
func (l *Ledger) step(e observe.Event, more ...any) {
	if len(l.steps) == maxSteps || l.shows != nil && !l.shows(e) {
		return
	}
	text := e.Name()
	for _, m := range more {
		if s := fmt.Sprint(m); s != "" {
			text += " " + s
		}
	}
	l.steps = append(l.steps, text)
}

// stepOfSession notes an event of the session, if the ledger shows such events.
func (l *Ledger) stepOfSession(e observe.Event) {
	if l.shows != nil {
		l.step(e)
	}
}

// classOf is what is certain about an error under a fault.
func classOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "given up"
	case errors.Is(err, session.ErrLost):
		return "(lost)"
	}
	return "failed"
}

// Steps are the first events of the recipes, in one line.
func (l *Ledger) Steps() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.steps, ", ")
}

// Check reports what does not add up, after the client was closed and everything has come
// to rest.
func (l *Ledger) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	wrong := l.wrong
	if l.status != session.Closed.String() {
		wrong = append(wrong, fmt.Errorf("the session ends as %q", l.status)) //nolint:err113 // a test's
	}
	for _, w := range l.waits {
		wrong = append(wrong, fmt.Errorf("never ends: %#v", w)) //nolint:err113 // a test's
	}
	for id, znodes := range l.grants {
		if len(znodes) == 0 && !l.held[l.shared[id]] {
			wrong = append(wrong, fmt.Errorf("granted, and never held: wait %d", id)) //nolint:err113 // a test's
		}
	}
	for _, h := range l.holds {
		wrong = append(wrong, fmt.Errorf("held, and never ends: %#v", h)) //nolint:err113 // a test's
	}
	for id, p := range l.caches {
		if p.runs {
			wrong = append(wrong, fmt.Errorf("runs, and never ends: cache %d, current: %v", id, p.current)) //nolint:err113 // a test's
		}
	}
	return errors.Join(wrong...)
}

// String is what does not add up, and the first steps.
func (l *Ledger) String() string { return fmt.Sprintf("%v; %s", l.Check(), l.Steps()) }
