package rwlock

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Contender is a client that holds the lock or waits for it.
type Contender struct {
	// Name of the znode, and its place: the number.
	Name string
	Seq  int32
	// Data is the ID that the contender shows.
	Data []byte
	// Exclusive is false for a reader.
	Exclusive bool
	// Holds is false for a waiter.
	Holds bool
	// Session that owns the node; 0 for a stranger's persistent one.
	Session int64
	// Token is the holder's Held.Token; for a reader that was a writer, the zxid of the
	// downgrade instead.
	Token int64
	// Since is when the contender queued up, or was downgraded, by the server's clock.
	Since time.Time
}

// Contenders lists the holders and the waiters in order, holders first, as of one
// moment, which precedes the call if the server lags behind; the queue may have
// changed since. A majority of the servers has confirmed an empty list.
func (m *RWMutex) Contenders(ctx context.Context) ([]Contender, error) {
	m = receiver.OrZero(m)
	list, err := m.contenders(ctx)
	if err != nil {
		return nil, failure(ctx, "list", m.path, err)
	}
	return list, nil
}

func (m *RWMutex) contenders(ctx context.Context) ([]Contender, error) {
	if err := m.checkCall(ctx); err != nil {
		return nil, err
	}
	var list []contender.Listed
	err := m.client.Retry(ctx, func(s *session.Session) (err error) {
		list, err = contender.List(ctx, s, m.path, "", lockformat.RWMarkers())
		return err
	})
	if err != nil {
		return nil, err
	}
	queue := make([]znode.Entry, len(list))
	for i, e := range list {
		queue[i] = e.Entry
	}
	out, hold := make([]Contender, len(list)), holders(queue)
	for i, e := range list {
		stat := e.Node.Stat
		out[i] = Contender{
			Name: e.Name, Seq: e.Seq, Data: e.Node.Data, Exclusive: lockformat.Writes(e.Marker), Holds: i < hold,
			Session: stat.EphemeralOwner, Token: stat.Czxid, Since: time.UnixMilli(stat.Ctime),
		}
	}
	return out, nil
}

// holders is how many contenders at the head of the queue hold the lock.
func holders(queue []znode.Entry) int {
	for i, e := range queue {
		// A writer of Curator's that becomes a reader has both nodes for a while, with
		// one number, and their names do not tell the order.
		first := e.Seq == queue[0].Seq
		if !first && (lockformat.Writes(e.Marker) || lockformat.Writes(queue[i-1].Marker) || lockformat.Writes(queue[0].Marker)) {
			return i
		}
	}
	return len(queue)
}
