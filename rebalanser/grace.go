package rebalanser

import (
	"context"
	"time"
)

// startMembership tells the handler that a member begins: functions have no grace.
func (e *each) startMembership() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.until, e.leaving = time.Time{}, make(chan struct{})
}

// startGrace gives the functions a grace, once: the member is about to leave.
func (e *each) startGrace(grace time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if grace > 0 && e.until.IsZero() {
		e.until = time.Now().Add(grace)
		close(e.leaving)
	}
}

// graceLeft is how much of the grace is left; 0 if there is none. The channel is closed when a
// grace begins.
func (e *each) graceLeft() (grace time.Duration, leaving <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.until.IsZero() {
		return 0, e.leaving
	}
	return max(0, time.Until(e.until)), e.leaving
}

// awaitGrace waits until the functions for rs have returned by themselves, as long as the
// grace lasts, and ctx, which ends with a loss.
func (e *each) awaitGrace(ctx context.Context, rs []*Resource) {
	grace, _ := e.graceLeft()
	if grace == 0 {
		return
	}
	over := time.NewTimer(grace)
	defer over.Stop()
	for _, r := range rs {
		j := e.running[r]
		if j == nil {
			continue
		}
		select {
		case <-j.over:
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// beginGrace begins the grace of a member whose Run is to end. A member that gives everything
// up already, for another reason, has none.
func (m *member) beginGrace() {
	if e, may := m.g.handler.(*each); may && !m.quitting {
		e.startGrace(m.g.opts.Grace)
	}
}
