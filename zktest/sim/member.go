package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/chance"
)

// member is a process through all its lives.
type member struct {
	w       *World
	program Program
	name    string

	// The fields below are guarded by the world's mu: current, the present life, or the
	// last one; lives, their number; down, whether it is killed and not started again;
	// finished, whether the program has returned nil; freezes, those that are not over;
	// frozen, how many of them have begun; gate, closed when the last of those is over.
	current  *Process
	lives    int
	down     bool
	finished bool
	freezes  []*freezing
	frozen   int
	gate     chan struct{}
}

func newMember(w *World, p Program, name string) *member {
	gate := make(chan struct{})
	close(gate)
	return &member{w: w, program: p, name: name, gate: gate}
}

// restartDelay is the time after which a program that failed is started again.
const restartDelay = time.Second

// start begins a life, unless the run is over.
func (m *member) start() {
	w := m.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m.startLocked()
}

func (m *member) startLocked() {
	w := m.w
	if w.ctx.Err() != nil {
		return
	}
	m.lives++
	ctx, cancel := context.WithCancelCause(chance.With(w.ctx, w.source(m.name, m.lives)))
	p := &Process{
		m: m, cancel: cancel, dead: make(chan struct{}),
		rand: rand.New(rand.NewPCG(w.number(m.name, m.lives), 3)),
	}
	m.current = p
	w.recordLocked(Event{Process: m.name, Kind: Started})
	// World.finish waits for it; it ends when the program returns, as it must when ctx ends.
	w.running.Go(func() { m.live(ctx, p) })
}

// live is a life: it returns when the next one has begun, or there is none.
func (m *member) live(ctx context.Context, p *Process) {
	err := p.call(ctx)
	p.close(ctx)
	w := m.w
	w.mu.Lock()
	over := p.isDead() || w.ctx.Err() != nil
	if !p.isDead() {
		m.finished = err == nil
		text := ""
		if err != nil {
			text = err.Error()
		}
		w.recordLocked(Event{Process: m.name, Kind: Ended, Text: text})
	}
	w.mu.Unlock()
	if over || err == nil || !sleep(w.ctx, restartDelay) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.current == p && !m.down {
		m.startLocked()
	}
}

// call calls the program, and turns a panic into a failure of the run.
func (p *Process) call(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			p.m.w.fail("panic", fmt.Errorf("%s: panic: %v\n%s", p.m.name, r, debug.Stack()))
		}
	}()
	if err = p.m.program.Run(ctx, p); err != nil {
		_ = err.Error() // if that panics, so does the program
	}
	return err
}

// kill ends the present life without a goodbye. Also of a nil member.
func (m *member) kill() {
	if m == nil {
		return
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.down = true
	if p := m.current; p != nil && !p.isDead() && !m.finished {
		close(p.dead)
		p.cancel(ErrKilled)
		m.w.recordLocked(Event{Process: m.name, Kind: Killed})
	}
}

// revive starts the process again after kill. Also of a nil member.
func (m *member) revive() {
	if m == nil {
		return
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.down = false
	if !m.finished {
		m.startLocked()
	}
}

// freezing is a Freeze that is not over.
type freezing struct {
	effects int    // how many are to come before the process freezes
	hole    func() // silences the network of the process
	begun   bool
}

// freeze lets the methods of Process stand still from the nth effect on, or at once if nth
// is 0, until the returned function is called.
func (m *member) freeze(nth int, hole func()) (thaw func()) {
	f := &freezing{effects: nth, hole: hole}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.freezes = append(m.freezes, f)
	if nth == 0 {
		m.beginLocked(f)
	}
	return func() { m.thaw(f) }
}

// beginLocked freezes the process.
func (m *member) beginLocked(f *freezing) {
	f.begun = true
	f.hole()
	if m.frozen++; m.frozen == 1 {
		m.gate = make(chan struct{})
	}
	m.w.recordLocked(Event{Process: m.name, Kind: Frozen})
}

// beginEffect freezes the process if a freeze has been waiting for this effect.
func (m *member) beginEffect() {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for _, f := range m.freezes {
		if f.effects--; f.effects == 0 {
			m.beginLocked(f)
		}
	}
}

// thaw ends a freeze.
func (m *member) thaw(f *freezing) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.freezes = slices.DeleteFunc(m.freezes, func(other *freezing) bool { return other == f })
	if !f.begun {
		return
	}
	m.w.recordLocked(Event{Process: m.name, Kind: Thawed})
	if m.frozen--; m.frozen == 0 {
		close(m.gate)
	}
}
