package rwlock

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/contender"
)

// Contender is somebody who holds or waits.
type Contender struct {
	// Name of the znode, and its place: the number.
	Name string
	Seq  int32
	// Data is what the contender shows: its ID.
	Data []byte
	// Exclusive is false for who reads.
	Exclusive bool
	// Holds is false for who waits.
	Holds bool
	// Session that owns the node; 0 for a stranger's persistent one.
	Session int64
	// Token is what Held.Token says to a holder; to a reader that was a
	// writer, the zxid of the downgrade instead.
	Token int64
	// Since is when it queued up, or was downgraded, by the server's clock.
	Since time.Time
}

// Contenders lists who holds the lock and who waits, in order, holders first:
// as it was at one moment, which is over.
func (m *RWMutex) Contenders(ctx context.Context) ([]Contender, error) {
	list, err := m.contenders(ctx)
	if err != nil {
		return nil, failure(ctx, "list", m.path, err)
	}
	return list, nil
}

func (m *RWMutex) contenders(ctx context.Context) ([]Contender, error) {
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	s, err := m.client.Session(ctx)
	if err != nil {
		return nil, err
	}
	list, err := contender.List(ctx, s, m.path, markers())
	if err != nil {
		return nil, err
	}
	out, behindWriter := make([]Contender, 0, len(list)), false
	for _, e := range list {
		stat, exclusive := e.Node.Stat, writes(e.Marker)
		// A writer of Curator's that becomes a reader has both nodes for a
		// while, with one number, and their names say nothing of the order.
		first := e.Seq == list[0].Seq
		out = append(out, Contender{
			Name: e.Name, Seq: e.Seq, Data: e.Node.Data, Exclusive: exclusive,
			Holds:   first || !exclusive && !behindWriter,
			Session: stat.EphemeralOwner, Token: stat.Czxid, Since: time.UnixMilli(stat.Ctime),
		})
		behindWriter = behindWriter || exclusive
	}
	return out, nil
}
