package barrier

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// Party is a party waiting at a barrier, or inside.
type Party struct {
	// ID is the ID of [Options], or unique to the call.
	ID string
	// Name of the znode, and its place: the number.
	Name string
	Seq  int32
	// Data is the party's description.
	Data []byte
	// Inside is true for a party with a seat of a [Double], false for a waiting
	// party.
	Inside bool
	// Session is the owner of the znode.
	Session int64
	// Token is the Seat.Token of the party.
	Token int64
	// Since is the time of the arrival, by the server's clock.
	Since time.Time
}

// waiting lists the parties.
func (m *core) waiting(ctx context.Context) ([]Party, error) {
	const op = "list"
	if err := m.checkCall(ctx); err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	var list []Party
	err := m.client.Retry(ctx, func(s *session.Session) (err error) {
		list, err = m.listWaiting(ctx, s)
		return err
	})
	if err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	return list, nil
}

func (m *core) listWaiting(ctx context.Context, s *session.Session) ([]Party, error) {
	found, err := contender.List(ctx, s, m.path, "", []string{partyMarker})
	if err != nil {
		return nil, err
	}
	out := make([]Party, 0, len(found))
	for _, p := range found {
		if id, ok := barrierformat.IDOf(p.Name); ok {
			out = append(out, Party{
				ID: id, Name: p.Name, Seq: p.Seq, Data: p.Node.Data, Session: p.Node.Stat.EphemeralOwner,
				Token: p.Node.Stat.Czxid, Since: time.UnixMilli(p.Node.Stat.Ctime),
			})
		}
	}
	return m.addSeated(ctx, s, out)
}

// addSeated marks the parties inside. The record is read after the listing:
// parties let through in between count as inside.
func (m *core) addSeated(ctx context.Context, s *session.Session, list []Party) ([]Party, error) {
	data, stat, err := s.Get(ctx, m.path)
	if errors.Is(err, session.ErrNoNode) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := m.parseRecord(data, stat)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Inside = m.kind == kindDouble && r.Released.Contains(list[i].Seq)
	}
	return list, nil
}
