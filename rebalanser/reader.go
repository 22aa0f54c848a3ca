package rebalanser

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// followAssignment follows what the member is assigned: its own shard, or in global mode the
// status, and the shard after it. Of changes that are faster than it reads it sees the
// last.
func (m *member) followAssignment(ctx context.Context) error {
	path := m.at.shardPath(m.shardKey())
	if m.g.opts.Mode == GlobalBarrier {
		path = m.at.dirPath(statusNode)
	}
	var own written // as read last; in global mode for the generation of
	var of, born int64
	for {
		seen, err := optimistic.GetWatched(ctx, m.s, path)
		if err != nil {
			return err
		}
		data, stat, w := seen.Data, seen.Stat, seen.Watch
		if born == 0 {
			born = stat.Czxid
		}
		if m.g.opts.Mode == GlobalBarrier && (stat.Czxid == 0 || stat.Czxid != born) {
			// The znode was deleted. Generations may restart from a lower
			// number, which only a new client notices.
			w.Stop()
			return session.ErrNoNode
		}
		if m.g.opts.Mode == GlobalBarrier {
			err = m.readStatus(ctx, data, stat, &own, &of)
		} else {
			err = m.readOwn(ctx, data, &own)
		}
		if err == nil || errors.Is(err, ErrRecord) && !isNewer(err) || errors.Is(err, errMoved) {
			// An invalid record is ignored: the former record holds until the next one.
			// A record of a newer format ends the membership, since this version cannot
			// read it. A missing part has made way for a newer shard, whose event is on
			// its way, or was removed by hand.
			_, err = w.Wait(ctx)
		} else {
			w.Stop()
		}
		if err != nil && !session.IsConnectionLoss(err) {
			return err
		}
	}
}

// readOwn tells the machine the own shard. known is the shard before.
func (m *member) readOwn(ctx context.Context, data []byte, known *written) error {
	own, _, err := m.readShard(ctx, m.shardKey(), data, known.base)
	if err != nil {
		return err
	}
	*known = own
	s := own.shard
	m.box.Post(func() []core.Action { return m.f.Assignment(s) })
	return nil
}

// readStatus tells the machine the status, and the own shard. That of a generation is
// written before its first status, so it is read once for the generation.
func (m *member) readStatus(ctx context.Context, data []byte, stat session.Stat, known *written, of *int64) error {
	st, _, err := parseStatus(m.at.dirPath(statusNode), data)
	if err != nil {
		return err
	}
	if st.Generation == 0 || st.Generation != *of {
		r := optimistic.Reading{Ctx: ctx, Session: m.s}
		own := r.Get(m.at.shardPath(m.shardKey()))
		if r.Err != nil {
			return r.Err
		}
		now, _, err := m.readShard(ctx, m.shardKey(), own.Data, known.base)
		if err != nil {
			return err
		}
		*known, *of = now, st.Generation
	}
	s := known.shard
	m.box.Post(func() []core.Action {
		if st.State != core.Stop {
			m.token = stat.Mzxid
		}
		return m.f.Status(st, s)
	})
	return nil
}
