package batchwrite

import (
	"context"
	"errors"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/follow"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// State is a znode as a read, or a write of our own, has shown it.
type State struct {
	Data    []byte
	Version int32
	// Node identifies the znode, and Mzxid its state: neither ever comes again, as a
	// version does after a deletion or 2^32 changes. In an ensemble that was recreated
	// empty, an Mzxid can come again, in another node.
	Node  Identity
	Mzxid int64
}

// Identity tells znodes under one path apart, also znodes of two ensembles, whose zxids
// can be the same.
type Identity struct{ Czxid, Ctime int64 }

// Is reports whether now is the state with mzxid, of node; any node's with the zero
// Identity.
func (now State) Is(mzxid int64, node Identity) bool {
	return now.Mzxid == mzxid && (now.Node == node || node == Identity{})
}

func stateOf(data []byte, stat session.Stat) State {
	return State{Data: data, Version: stat.Version, Node: Identity{stat.Czxid, stat.Ctime}, Mzxid: stat.Mzxid}
}

// readFresh is the state of path, nil without a znode, including everything
// committed before the call.
func readFresh(ctx context.Context, s *session.Session, path string) (now *State, err error) {
	err = s.ReadFresh(ctx, path, func() error {
		data, stat, err := s.Get(ctx, path)
		if errors.Is(err, session.ErrNoNode) {
			now = nil
			return nil
		}
		seen := stateOf(data, stat)
		now = &seen
		return err
	})
	return now, err
}

// Read is the present state, nil if there is no znode, in whatever session. Read sees all
// changes committed before the call.
func (r *Batcher[T]) Read(ctx context.Context) (*State, error) {
	if err := r.CheckCall(ctx); err != nil {
		return nil, err
	}
	for {
		s, err := r.client.Session(ctx)
		var now *State
		if err == nil {
			now, err = readFresh(ctx, s, r.path)
		}
		if err == nil || ctx.Err() != nil || !session.IsSessionLoss(err) {
			return now, err
		}
	}
}

// ReadOrCreate is Read; a missing znode is created with the initial data.
func (r *Batcher[T]) ReadOrCreate(ctx context.Context) (State, error) {
	for {
		now, err := r.Read(ctx)
		if err != nil {
			return State{}, err
		}
		if now != nil {
			return *now, nil
		}
		s, err := r.client.Session(ctx)
		if err == nil {
			err = r.ensureNode(ctx, s)
		}
		if err != nil && !session.IsSessionLoss(err) {
			return State{}, err
		}
	}
}

// ensureNode makes the znode with the initial data unless present, and its parents.
// ensureNode is safe to repeat: a repetition changes nothing, no matter which
// client made the node.
func (r *Batcher[T]) ensureNode(ctx context.Context, s *session.Session) error {
	for {
		_, err := s.Create(ctx, r.path, r.o.Initial, session.Persistent, &session.CreateOptions{ACL: r.o.ACL})
		switch {
		case err == nil, errors.Is(err, session.ErrNodeExists):
			return nil
		case errors.Is(err, session.ErrNoNode):
			above := znode.Parent(r.path)
			if err := s.EnsurePath(ctx, above, session.Persistent, nil); err != nil {
				return err
			}
		case errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil:
			// Ask again; in a lost session the next request fails.
		default:
			return err
		}
	}
}

// readAndWatch reads the state and sets a watch for its next change, the znode's creation
// included; create makes a missing znode with the initial data.
func (r *Batcher[T]) readAndWatch(ctx context.Context, s *session.Session, create bool) (now State, exists bool, w *session.Watch, err error) {
	for {
		seen, err := optimistic.GetWatched(ctx, s, r.path)
		switch {
		case err != nil:
			return State{}, false, seen.Watch, err
		case seen.Exists:
			return stateOf(seen.Data, seen.Stat), true, seen.Watch, nil
		case !create:
			return State{}, false, seen.Watch, nil
		}
		seen.Watch.Stop()
		if err := r.ensureNode(ctx, s); err != nil {
			return State{}, false, nil, err
		}
	}
}

// View makes what a caller follows of the znode's state. Its error ends the caller's wait.
type View[S any] func(now State, exists bool) (S, error)

// Reading is the read of view for package follow. create makes a missing znode with the
// initial data.
func Reading[S, T any](r *Batcher[T], create bool, view View[S]) follow.Read[S] {
	return func(ctx context.Context, s *session.Session) (out S, _ *session.Watch, err error) {
		now, exists, w, err := r.readAndWatch(ctx, s, create)
		if err != nil {
			return out, w, err
		}
		if out, err = view(now, exists); err != nil {
			w.Stop()
			return out, nil, err
		}
		return out, w, nil
	}
}

// Watch iterates over states that view makes of the znode's; first the present one, then
// each newer one that is not the same. The errors are those of pkg, the user of r. create
// makes a missing znode with the initial data.
func Watch[S, T any](ctx context.Context, r *Batcher[T], pkg string, create bool, view View[S], same func(a, b S) bool) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		if err := r.CheckCall(ctx); err != nil {
			var none S
			yield(none, holding.Failure(ctx, pkg, "watch", r.path, err))
			return
		}
		for now, err := range follow.States(ctx, follow.Sessions{Client: r.client, WithoutQuorum: true}, r.path, Reading(r, create, view), same) {
			if err != nil {
				err = holding.Failure(ctx, pkg, "watch", r.path, err)
			}
			if !yield(now, err) {
				return
			}
		}
	}
}
