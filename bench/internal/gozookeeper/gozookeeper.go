// Package gozookeeper is the peer with only go-zookeeper: its lock, a typical
// counter of its users, and plain requests, the lower bound for recipes.
package gozookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
)

// Peer is a [task.Peer].
type Peer struct {
	// Servers is a connect string without a chroot.
	Servers string
	// Timeout of sessions.
	Timeout time.Duration
}

// Version is the version of the module.
func (p Peer) Version() string {
	const name = "github.com/go-zookeeper/zk"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == name {
				return "go-zookeeper " + m.Version
			}
		}
	}
	return "go-zookeeper"
}

// silent is a logger.
type silent struct{}

func (silent) Printf(string, ...any) {}

// Measure implements [task.Peer].
func (p Peer) Measure(ctx context.Context, t task.Task, ready func() error) (task.Measured, error) {
	var conns []*zk.Conn
	for range t.Clients {
		conn, err := p.Connect(ctx)
		if err != nil {
			return task.Measured{}, err
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	switch t.Kind {
	case task.Notice:
		return measureNotice(ctx, t, conns)
	case task.Change:
		return changes(ctx, t, conns[0], ready)
	}
	circle := newRing(t.Path, conns)
	var workers, once []task.Work
	for i, conn := range conns {
		work := workOf(t, conn)
		if t.Kind == task.Ring {
			work = circle.work(i)
		}
		if work == nil {
			return task.Measured{}, fmt.Errorf("cannot measure %q", t.Kind)
		}
		once = append(once, work)
	}
	for i := range t.Workers {
		workers = append(workers, once[i%len(once)])
	}
	return task.Rate(ctx, t, workers)
}

// Connect connects, and returns once a server has made the session.
func (p Peer) Connect(ctx context.Context) (*zk.Conn, error) {
	conn, events, err := zk.Connect(strings.Split(p.Servers, ","), p.Timeout, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case ev := <-events:
			if ev.State == zk.StateHasSession {
				return conn, nil
			}
		case <-ctx.Done():
			conn.Close()
			return nil, context.Cause(ctx)
		}
	}
}

func workOf(t task.Task, conn *zk.Conn) task.Work {
	openACL := zk.WorldACL(zk.PermAll)
	switch t.Kind {
	case task.Lock:
		return func(context.Context, int) error {
			l := zk.NewLock(conn, t.Path, openACL)
			if err := l.Lock(); err != nil {
				return err
			}
			return l.Unlock()
		}
	case task.Counter:
		return func(context.Context, int) error { return increment(conn, t.Path) }
	case task.CreateDelete:
		return func(context.Context, int) error {
			path, err := conn.Create(t.Path+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence, openACL)
			if err != nil {
				return err
			}
			return conn.Delete(path, -1)
		}
	case task.Set:
		return func(context.Context, int) error {
			_, err := conn.Set(t.Path, make([]byte, 8), -1)
			return err
		}
	case task.SetTwice:
		return func(context.Context, int) error {
			set := &zk.SetDataRequest{Path: t.Path, Data: make([]byte, 8), Version: -1}
			_, err := conn.Multi(set, set)
			return err
		}
	}
	return nil
}

// increment reads and sets until no other client has changed the number in
// between.
func increment(conn *zk.Conn, path string) error {
	for {
		data, stat, err := conn.Get(path)
		if errors.Is(err, zk.ErrNoNode) {
			_, err = conn.Create(path, make([]byte, 8), 0, zk.WorldACL(zk.PermAll))
			if err == nil || errors.Is(err, zk.ErrNodeExists) {
				continue
			}
		}
		if err != nil {
			return err
		}
		next := binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(data)+1)
		if _, err = conn.Set(path, next, stat.Version); !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
	}
}
