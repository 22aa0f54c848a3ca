package rebalanser

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// leaveGroup deletes the client's node, after it has given everything up, and then frees its
// instance.
func (m *member) leaveGroup(ctx context.Context) error {
	m.finishCalls()
	m.hold.End(session.ErrReleased)
	return m.endError(ctx, m.giveAway(ctx))
}

// endError is how the life has ended: why it could not go on, nil as it was to end and a
// server has confirmed that, or errRejoin. kept says that no server has.
func (m *member) endError(ctx context.Context, kept error) error {
	if kept != nil && (ctx.Err() != nil || m.failure != nil) {
		m.failure = errors.Join(m.failure, kept)
	}
	if m.failure != nil {
		return m.failure
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was to end
	}
	return errRejoin
}

// endLost tells the handler which resources are no longer owned, after a call in progress has
// returned. The loss is an error if ctx has ended: the held resources were not given back.
func (m *member) endLost(ctx context.Context) error {
	why := context.Cause(m.hold.Context())
	m.end(why)
	m.finishCalls()
	names := m.f.Lost()
	if m.call != nil {
		names = m.call.withoutFailed(names)
		m.failure = errors.Join(m.failure, m.call.err)
		m.noteSkipped(m.call)
	}
	if rs := m.resourcesOf(names); len(rs) > 0 {
		err := callIsolated("the handler", func() error { m.g.handler.Lost(rs); return nil })
		m.failure = errors.Join(m.failure, err)
		m.noteFailures() // of functions that have ended just now
	}
	if ctx.Err() != nil {
		m.failure = errors.Join(m.failure, why)
	}
	kept := m.giveAway(ctx)
	if errors.Is(kept, session.ErrLost) {
		kept = nil // that is known
	}
	return m.endError(ctx, kept)
}

// finishCalls waits until no goroutine works for the member any more, handlers included.
// Failures between the handlers' calls, when the member was lost, count.
func (m *member) finishCalls() {
	m.stop(session.ErrReleased)
	m.work.Wait()
	m.noteFailures()
}

// noteFailures notes failures between calls, when the mailbox is no longer read.
func (m *member) noteFailures() {
	select {
	case err := <-m.fault: // the mailbox is not read any more
		m.failure = errors.Join(m.failure, err)
	default:
	}
	if h, may := m.g.handler.(failing); may {
		select {
		case err := <-h.reportedFailures():
			m.failure = errors.Join(m.failure, err)
		default:
		}
	}
}

// giveAway deletes the client's node and the lock on its instance. The error says that no server
// has confirmed a deletion.
func (m *member) giveAway(ctx context.Context) error {
	var gives []func(context.Context) error
	for generation := range m.acked {
		gives = append(gives, m.ensureDeleted(m.at.stoppedPath(m.client, generation)))
	}
	if e, may := m.g.handler.(*each); may && e.retry > 0 {
		gives = append(gives, m.ensureDeleted(m.at.failuresPath(m.client)))
	}
	gives = append(gives, m.place.Withdraw)
	if m.instance != nil {
		gives = append(gives, m.instance.Unlock)
	}
	if !m.busy || m.s.Err() != nil {
		return m.g.giveAway(ctx, gives...)
	}
	over, stop := m.s.GiveBackContext(context.WithoutCancel(ctx))
	defer stop()
	return giveAll(over, gives)
}

// ensureDeleted deletes a node that means nothing without the client's node, and does not report
// whether a server has confirmed the deletion.
func (m *member) ensureDeleted(path string) func(context.Context) error {
	return func(ctx context.Context) error {
		_ = m.s.EnsureDeleted(ctx, path) // it goes on in the background, or goes with the session
		return nil
	}
}
