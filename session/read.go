package session

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// Seen is the reply to a read: of [Session.StartGet] with Data, of
// [Session.StartExists] with the stat alone, of [Session.StartChildren] with
// Children, the last elements of the children's paths, unordered.
type Seen struct {
	Data     []byte
	Children []string
	Stat     Stat
	// Exists is false only in replies to StartExists.
	Exists bool
	// Watch is set if the request asked for a watch.
	Watch *Watch
}

func (a Seen) stop() {
	if a.Watch != nil {
		a.Watch.Stop()
	}
}

// Get reads a znode's data.
func (s *Session) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	a, err := s.read(ctx, "get", path, func() *Future[Seen] { return s.StartGet(path, false) })
	return a.Data, a.Stat, err
}

// GetW is [Session.Get] with a watch for changes of the data and for the znode's
// deletion. If the znode does not exist, no watch is set.
func (s *Session) GetW(ctx context.Context, path string) ([]byte, Stat, *Watch, error) {
	a, err := s.read(ctx, "get", path, func() *Future[Seen] { return s.StartGet(path, true) })
	return a.Data, a.Stat, a.Watch, err
}

// Exists reports whether a znode exists. Servers from 3.9.3 on return ErrNoAuth
// to a client that may not read the znode; older servers answer every client.
func (s *Session) Exists(ctx context.Context, path string) (Stat, bool, error) {
	a, err := s.read(ctx, "exists", path, func() *Future[Seen] { return s.StartExists(path, false) })
	return a.Stat, a.Exists, err
}

// ExistsW is [Session.Exists] with a watch for the node's creation, deletion
// and change of data.
func (s *Session) ExistsW(ctx context.Context, path string) (Stat, bool, *Watch, error) {
	a, err := s.read(ctx, "exists", path, func() *Future[Seen] { return s.StartExists(path, true) })
	return a.Stat, a.Exists, a.Watch, err
}

// Children lists a znode's children: last elements of paths, unordered.
func (s *Session) Children(ctx context.Context, path string) ([]string, Stat, error) {
	a, err := s.read(ctx, "children", path, func() *Future[Seen] { return s.StartChildren(path, false) })
	return a.Children, a.Stat, err
}

// ChildrenW is [Session.Children] with a watch for children that come and go
// and for the node's deletion.
func (s *Session) ChildrenW(ctx context.Context, path string) ([]string, Stat, *Watch, error) {
	a, err := s.read(ctx, "children", path, func() *Future[Seen] { return s.StartChildren(path, true) })
	return a.Children, a.Stat, a.Watch, err
}

func (s *Session) read(ctx context.Context, op, path string, begin func() *Future[Seen]) (Seen, error) {
	return doRequest(ctx, s, op, path, begin, Seen.stop)
}

// StartGet is [Session.Get], or GetW with watch, without waiting. Stop the watch
// of an unused reply.
func (s *Session) StartGet(path string, watch bool) *Future[Seen] {
	return s.startRead("get", path, wire.OpGetData, watch, false, decodeGet)
}

func decodeGet(d *wire.Decoder) Seen {
	return Seen{Data: d.Bytes(), Stat: wire.DecodeStat(d), Exists: true}
}

// StartExists is [Session.Exists], or ExistsW with watch, without waiting.
func (s *Session) StartExists(path string, watch bool) *Future[Seen] {
	return s.startRead("exists", path, wire.OpExists, watch, false, func(d *wire.Decoder) Seen {
		return Seen{Stat: wire.DecodeStat(d), Exists: true}
	})
}

// StartChildren is [Session.Children], or ChildrenW with watch, without
// waiting.
func (s *Session) StartChildren(path string, watch bool) *Future[Seen] {
	return s.startRead("children", path, wire.OpGetChildren2, watch, true, func(d *wire.Decoder) Seen {
		return Seen{Children: d.Strings(), Stat: wire.DecodeStat(d), Exists: true}
	})
}

func (s *Session) startRead(op, path string, code int32, watch, children bool, decode func(*wire.Decoder) Seen) *Future[Seen] {
	s.mustBeMade()
	if err := ValidatePath(path); err != nil {
		return failed[Seen](op, path, err)
	}
	return s.startReadAt(op, path, s.serverPath(path), code, watch, children, decode)
}

// startReadAt is startRead of the server's path real; path is for errors.
func (s *Session) startReadAt(op, path, real string, code int32, watch, children bool, decode func(*wire.Decoder) Seen) *Future[Seen] {
	send := func(w *Watch, onServer bool) *Future[Seen] {
		r := request[Seen]{
			op: op, path: path, code: code,
			body: func(e *wire.Encoder) {
				e.String(real)
				e.Bool(onServer)
			},
			decode: func(d *wire.Decoder) (Seen, error) {
				a := decode(d)
				if a.Watch = w; w != nil {
					s.watches.answered(w)
				}
				return a, nil
			},
		}
		r.refused = func(code int32, _ *wire.Decoder) (Seen, error) {
			if verdict := codeError(code); !errors.Is(verdict, ErrNoNode) || r.code != wire.OpExists {
				if w != nil {
					s.watches.refused(w)
				}
				return Seen{}, &OpError{Op: op, Path: path, Err: verdict}
			}
			if w != nil {
				s.watches.answered(w)
			}
			return Seen{Watch: w}, nil
		}
		return start(s, r)
	}
	if !watch {
		return send(nil, false)
	}
	return startWatchedRead(s.watches, watchKey{real, children}, func(w *Watch) *Future[Seen] {
		// A subscription of the same path serves the watch too. Before 3.9
		// a server keeps one mode per path and connection: a one-shot
		// registration would turn the subscription into one (ZOOKEEPER-4466).
		return send(w, !s.subs.covers(real))
	})
}
