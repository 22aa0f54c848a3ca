package gozookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
)

// ring is a queue of clients in a circle: when the znode of a client's predecessor
// goes, the client deletes its own. Nothing else is on the way of the turn: the
// znode of the next round exists before the turn comes, so a missing znode has
// been deleted.
type ring struct {
	path  string
	conns []*zk.Conn
	ready sync.WaitGroup
}

func newRing(path string, conns []*zk.Conn) *ring {
	r := &ring{path: path, conns: conns}
	r.ready.Add(len(conns))
	return r
}

// node is the znode of client i in a round.
func (r *ring) node(i, round int) string {
	return fmt.Sprintf("%s/%d-%d", r.path, i, round)
}

func (r *ring) create(i, round int) error {
	_, err := r.conns[i].Create(r.node(i, round), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	return err
}

// work is the work of client i: an operation is a turn. The first client has the
// first turn without a deletion before.
func (r *ring) work(i int) task.Work {
	round, before := 0, (i+len(r.conns)-1)%len(r.conns)
	// The predecessor of the first client is one round behind.
	behind := 0
	if i == 0 {
		behind = 1
	}
	return func(ctx context.Context, _ int) error {
		if round == 0 {
			err := errors.Join(r.create(i, 0), r.create(i, 1))
			r.ready.Done()
			if err != nil {
				return err
			}
			r.ready.Wait()
		}
		if round >= behind {
			if err := awaitGone(ctx, r.conns[i], r.node(before, round-behind)); err != nil {
				return err
			}
		}
		if err := r.conns[i].Delete(r.node(i, round), -1); err != nil {
			return err
		}
		round++
		return r.create(i, round+1)
	}
}

// awaitGone waits until path does not exist.
func awaitGone(ctx context.Context, conn *zk.Conn, path string) error {
	exists, _, gone, err := conn.ExistsW(path)
	if err != nil || !exists {
		return err
	}
	select {
	case ev := <-gone:
		return ev.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// measureNotice measures from a deletion by the first client until the second knows.
func measureNotice(ctx context.Context, t task.Task, conns []*zk.Conn) (task.Measured, error) {
	writer, watcher := conns[0], conns[1]
	path := t.Path + "/n"
	samples := t.StartSamples()
	for !samples.Over() {
		if _, err := writer.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
			return task.Measured{}, err
		}
		_, _, gone, err := watcher.ExistsW(path)
		if err != nil {
			return task.Measured{}, err
		}
		deleted := make(chan error, 1)
		began := time.Now()
		// Waited for below; ends with the reply.
		go func() { deleted <- writer.Delete(path, -1) }()
		select {
		case <-gone:
		case <-ctx.Done():
			return task.Measured{}, context.Cause(ctx)
		}
		took := time.Since(began)
		if err := <-deleted; err != nil {
			return task.Measured{}, err
		}
		samples.Add(float64(took.Microseconds()))
	}
	return samples.Median(), nil
}

// changes measures the age of each change of a znode when it has been read.
func changes(ctx context.Context, t task.Task, conn *zk.Conn, ready func() error) (task.Measured, error) {
	path := t.Path + "/" + task.ChangedChild
	_, _, changed, err := conn.GetW(path)
	if err == nil {
		err = ready()
	}
	samples := t.StartSamples()
	for err == nil && !samples.Over() {
		select {
		case <-changed:
		case <-ctx.Done():
			return task.Measured{}, context.Cause(ctx)
		}
		var data []byte
		var us float64
		if data, _, changed, err = conn.GetW(path); err == nil {
			us, err = task.Since(data)
		}
		if err == nil {
			samples.Add(us)
		}
	}
	return samples.Median(), err
}
