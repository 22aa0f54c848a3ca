package lock

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Contender is somebody who holds or waits.
type Contender struct {
	// Name of the znode, and its place: the number.
	Name string
	Seq  int32
	// Data is what the contender shows: its ID.
	Data []byte
	// Holds is false for who waits.
	Holds bool
	// Session that owns the node; 0 for a stranger's persistent one.
	Session int64
	// Token is what Held.Token says to a holder.
	Token int64
	// Since is when it queued up, by the server's clock.
	Since time.Time
	// Permits that it wants; 1 for a lock.
	Permits int
}

// Contenders lists who holds the lock and who waits, in order, the holder
// first: as it was at one moment, which is over.
func (m *Mutex) Contenders(ctx context.Context) ([]Contender, error) {
	if err := m.begin(ctx); err != nil {
		return nil, failure(ctx, "list", m.path, err)
	}
	list, err := contenders(ctx, m.client, m.path, mutexMarkers())
	if err != nil {
		return nil, failure(ctx, "list", m.path, err)
	}
	for i := range list {
		list[i].Holds, list[i].Permits = i == 0, 1
	}
	return list, nil
}

// contenders lists the contenders below dir.
func contenders(ctx context.Context, client *session.Client, dir string, markers []string) ([]Contender, error) {
	s, err := client.Session(ctx)
	if err != nil {
		return nil, err
	}
	children, _, err := s.Children(ctx, dir)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries := znode.Parse(children, markers...).Entries
	reads := make([]*session.Future[session.Seen], len(entries))
	for i, e := range entries {
		reads[i] = s.StartGet(znode.Join(dir, e.Name), false)
	}
	out := make([]Contender, 0, len(entries))
	for i, e := range entries {
		seen, err := reads[i].Wait(ctx)
		if session.NotSent(err) || session.Unanswered(err) {
			seen.Data, seen.Stat, err = s.Get(ctx, znode.Join(dir, e.Name))
		}
		switch {
		case errors.Is(err, session.ErrNoNode):
			continue // it left meanwhile
		case err != nil:
			return nil, err
		}
		out = append(out, Contender{
			Name: e.Name, Seq: e.Seq, Data: seen.Data, Session: seen.Stat.EphemeralOwner,
			Token: seen.Stat.Czxid, Since: time.UnixMilli(seen.Stat.Ctime),
		})
	}
	return out, nil
}
