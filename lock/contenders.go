package lock

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
	// Path of the znode, its name, and its place in the queue: the number in the name.
	Path, Name string
	Seq        int32
	// Outside: it waits beside the path until the queue is shorter (Options.MaxQueue).
	// The znode is in "<path>.waiting" then, and Seq is 0.
	Outside bool
	// Data is the contender's description: its ID.
	Data []byte
	// Holds is false for a waiter.
	Holds bool
	// Session that owns the node; 0 for a foreign persistent node.
	Session int64
	// Token is the Held.Token of a holder.
	Token int64
	// Since is the time of queuing up, by the server's clock.
	Since time.Time
	// Permits wanted or held; 1 for a lock.
	Permits int
}

// Contenders lists the holder and the waiters in order, the holder first, as of
// one moment, which precedes the call if the server lags behind; the queue may have
// changed since. A majority of the servers has confirmed an empty list.
func (m *Mutex) Contenders(ctx context.Context) ([]Contender, error) {
	m = receiver.OrZero(m)
	if err := m.checkCall(ctx); err != nil {
		return nil, failure(ctx, "list", m.path, err)
	}
	list, err := listContenders(ctx, m.client, m.path, lockformat.MutexMarkers())
	if err != nil {
		return nil, failure(ctx, "list", m.path, err)
	}
	for i := range list {
		list[i].Holds, list[i].Permits = i == 0, 1
	}
	return list, nil
}

// listContenders lists the contenders below dir.
func listContenders(ctx context.Context, client *session.Client, dir string, markers []string) ([]Contender, error) {
	var list []contender.Listed
	err := client.Retry(ctx, func(s *session.Session) (err error) {
		list, err = contender.List(ctx, s, dir, dir+lockformat.RoomSuffix, markers)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Contender, 0, len(list))
	for _, e := range list {
		stat := e.Node.Stat
		out = append(out, Contender{
			Path: e.Node.Path, Name: znode.Base(e.Node.Path), Seq: e.Seq, Outside: e.Outside, Data: e.Node.Data, Session: stat.EphemeralOwner,
			Token: stat.Czxid, Since: time.UnixMilli(stat.Ctime), Permits: lockformat.PermitsOf(e.Name),
		})
	}
	return out, nil
}
