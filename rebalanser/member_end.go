package rebalanser

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// leave deletes the client's node, after it has given everything up, and then frees its
// instance.
func (m *member) leave(ctx context.Context) error {
	m.finish()
	m.hold.End(session.ErrReleased)
	return m.verdict(ctx, m.away(ctx))
}

// verdict is how the life has ended: why it could not go on, nil as it was to end and a
// server has confirmed that, or errRejoin. kept says that no server has.
func (m *member) verdict(ctx context.Context, kept error) error {
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

// lost tells the handler which resources are no longer owned, after a call in progress has
// returned. The loss is an error if ctx has ended: the held resources were not given back.
func (m *member) lost(ctx context.Context) error {
	why := context.Cause(m.hold.Context())
	m.end(why)
	m.finish()
	names := m.f.Lost()
	if m.call != nil {
		names = m.call.afterwards(names)
		m.failure = errors.Join(m.failure, m.call.err)
		m.skipped(m.call)
	}
	if rs := m.resources(names); len(rs) > 0 {
		err := isolate("the handler", func() error { m.g.handler.Lost(rs); return nil })
		m.failure = errors.Join(m.failure, err)
		m.faults() // of functions that have ended just now
	}
	if ctx.Err() != nil {
		m.failure = errors.Join(m.failure, why)
	}
	kept := m.away(ctx)
	if errors.Is(kept, session.ErrLost) {
		kept = nil // that is known
	}
	return m.verdict(ctx, kept)
}

// finish waits until no goroutine works for the member any more, handlers included.
// Failures between the handlers' calls, when the member was lost, count.
func (m *member) finish() {
	m.stop(session.ErrReleased)
	m.work.Wait()
	m.faults()
}

// faults notes failures between calls, when the mailbox is no longer read.
func (m *member) faults() {
	select {
	case err := <-m.fault: // nobody reads the mailbox any more
		m.failure = errors.Join(m.failure, err)
	default:
	}
	if h, may := m.g.handler.(failing); may {
		select {
		case err := <-h.failed():
			m.failure = errors.Join(m.failure, err)
		default:
		}
	}
}

// away deletes the client's node and the lock on its instance. The error says that no server
// has confirmed a deletion.
func (m *member) away(ctx context.Context) error {
	var gives []func(context.Context) error
	for generation := range m.acked {
		gives = append(gives, m.discard(m.at.stopped(m.client, generation)))
	}
	if e, may := m.g.handler.(*each); may && e.retry > 0 {
		gives = append(gives, m.discard(m.at.failures(m.client)))
	}
	gives = append(gives, m.place.Withdraw)
	if m.instance != nil {
		gives = append(gives, m.instance.Unlock)
	}
	if !m.busy || m.s.Err() != nil {
		return m.g.away(ctx, gives...)
	}
	over, stop := m.s.GiveBackContext(context.WithoutCancel(ctx))
	defer stop()
	return giveAll(over, gives)
}

// discard deletes a node that means nothing without the client's node, and does not report
// whether a server has confirmed the deletion.
func (m *member) discard(path string) func(context.Context) error {
	return func(ctx context.Context) error {
		_ = m.s.EnsureDeleted(ctx, path) // it goes on in the background, or goes with the session
		return nil
	}
}
