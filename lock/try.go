package lock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// TryLock takes the lock if nobody holds it or waits for it; otherwise the
// error wraps ErrBusy. ctx bounds the call, which lasts as long as
// [Options.LockDelay] when the last holder has not released the lock.
func (m *Mutex) TryLock(ctx context.Context) (*Held, error) {
	const op = "try"
	if err := m.begin(ctx); err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	m.mu.Lock()
	if m.taken {
		m.mu.Unlock()
		return nil, failure(ctx, op, m.path, ErrBusy)
	}
	m.taken = true
	m.mu.Unlock()
	c, held, err := m.try(ctx)
	if err != nil {
		m.pass(turn{contender: c}) // to who has come to wait meanwhile
		return nil, failure(ctx, op, m.path, err)
	}
	return held, nil
}

// try contends once. With an error it returns the place in the queue, if there
// is one.
func (m *Mutex) try(ctx context.Context) (*contender.Contender, *Held, error) {
	s, err := m.client.Session(ctx)
	if err != nil {
		return nil, nil, err
	}
	children, _, err := s.Children(ctx, m.path)
	switch {
	case err != nil && !errors.Is(err, session.ErrNoNode):
		return nil, nil, err
	case len(znode.Parse(children, mutexMarkers()...).Entries) > 0:
		return nil, nil, ErrBusy // seen without leaving a trace
	}
	c, err := m.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	granted, err := c.Granted(ctx)
	if err == nil && !granted {
		err = ErrBusy
	}
	var got *claim
	if err == nil {
		got, err = m.claim(ctx, c)
	}
	if err != nil {
		return c, nil, err
	}
	return nil, m.hand(got), nil
}
