package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// StartCreate is [Session.Create] without waiting.
func (s *Session) StartCreate(path string, data []byte, mode Mode, o *CreateOptions) *Future[Node] {
	s.mustBeMade()
	r, err := s.createRequest(path, data, mode, o)
	switch {
	case err != nil:
		return failed[Node]("create", path, err)
	case r.code == wire.OpCreate:
		return s.startPlainCreate(r)
	}
	return start(s, r)
}

func (s *Session) createRequest(path string, data []byte, mode Mode, o *CreateOptions) (request[Node], error) {
	op, err := s.createOp(path, data, mode, o)
	if err != nil {
		return request[Node]{}, err
	}
	if op.kind == wire.OpCreate && !s.link.Keeper() {
		// The reply to this request has the stat. Never in a transaction, whose reply has no
		// stat anyway: a follower of 3.8.0 under a leader of 3.9.3 does not apply it there.
		op.kind = wire.OpCreate2
	}
	return request[Node]{
		op: "create", path: path, code: op.kind, write: true,
		body: func(e *wire.Encoder) { op.encode(s, e) },
		decode: func(d *wire.Decoder) (Node, error) {
			server := d.String()
			stat := plainStat(d.Zxid, op, s.id)
			if op.kind != wire.OpCreate {
				stat = wire.DecodeStat(d)
			}
			at, ok := s.visible(server)
			if !ok && d.Err() == nil {
				return Node{}, fmt.Errorf("the server created %s, which is not below %s", server, s.chroot)
			}
			return Node{Path: at, Stat: stat}, nil
		},
		refused: func(code int32, _ *wire.Decoder) (Node, error) {
			err := codeError(code)
			if mode.sequential() && errors.Is(err, ErrNodeExists) {
				// The counter stays at its maximum, and every new znode gets
				// the same number.
				err = fmt.Errorf("%s: %w", parent(path), ErrSequenceExhausted)
			}
			return Node{}, &OpError{Op: "create", Path: path, Err: err}
		},
	}, nil
}

// Create creates a znode and returns its path, which is longer than the argument
// in a sequential mode, and its stat. Its parent must exist; see
// [Session.EnsurePath].
//
// If the reply is lost, the error is an [UnknownOutcomeError];
// [Session.CreateProtected] finds out instead.
func (s *Session) Create(ctx context.Context, path string, data []byte, mode Mode, o *CreateOptions) (Node, error) {
	return doRequest(ctx, s, "create", path, func() *Future[Node] { return s.StartCreate(path, data, mode, o) }, nil)
}

// Delete deletes the znode if its data version is version; -1 matches any. If the
// reply is lost, the error is an [UnknownOutcomeError]; for the client's own
// znode with a unique name, use [Session.EnsureDeleted].
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	_, err := doRequest(ctx, s, "delete", path, func() *Future[struct{}] { return s.StartDelete(path, version) }, nil)
	return err
}

// StartDelete is [Session.Delete] without waiting.
func (s *Session) StartDelete(path string, version int32) *Future[struct{}] {
	s.mustBeMade()
	if err := ValidatePath(path); err != nil {
		return failed[struct{}]("delete", path, err)
	}
	return start(s, request[struct{}]{
		op: "delete", path: path, code: wire.OpDelete, write: true,
		body: func(e *wire.Encoder) {
			e.String(s.serverPath(path))
			e.Int32(version)
		},
		decode: decodeNothing,
	})
}

func decodeNothing(*wire.Decoder) (struct{}, error) { return struct{}{}, nil }

// Set replaces the znode's data if its data version is version; -1 matches any.
// If the reply is lost, the error is an [UnknownOutcomeError].
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	return doRequest(ctx, s, "set", path, func() *Future[Stat] { return s.StartSet(path, data, version) }, nil)
}

// StartSet is [Session.Set] without waiting.
func (s *Session) StartSet(path string, data []byte, version int32) *Future[Stat] {
	s.mustBeMade()
	if err := ValidatePath(path); err != nil {
		return failed[Stat]("set", path, err)
	}
	return start(s, request[Stat]{
		op: "set", path: path, code: wire.OpSetData, write: true,
		body: func(e *wire.Encoder) {
			e.String(s.serverPath(path))
			e.Bytes(data)
			e.Int32(version)
		},
		decode: stat,
	})
}

func stat(d *wire.Decoder) (Stat, error) { return wire.DecodeStat(d), nil }

// Sync brings the server of this session up to date with its leader: reads that
// are sent after a sync see everything that was committed before the sync. A sync
// does not prove that the leader still leads.
func (s *Session) Sync(ctx context.Context, path string) error {
	_, err := doRequest(ctx, s, "sync", path, func() *Future[struct{}] { return s.StartSync(path) }, nil)
	return err
}

// StartSync is [Session.Sync] without waiting: a read that is started behind it
// sees its effect.
func (s *Session) StartSync(path string) *Future[struct{}] {
	s.mustBeMade()
	if err := ValidatePath(path); err != nil {
		return failed[struct{}]("sync", path, err)
	}
	return start(s, request[struct{}]{
		op: "sync", path: path, code: wire.OpSync,
		body:   func(e *wire.Encoder) { e.String(s.serverPath(path)) },
		decode: decodeNothing,
	})
}

// ACL returns the znode's access control list; [Session.SetACL] compares the
// stat's Aversion.
func (s *Session) ACL(ctx context.Context, path string) ([]ACL, Stat, error) {
	type answer struct {
		acl  []ACL
		stat Stat
	}
	a, err := doRequest(ctx, s, "get ACL", path, func() *Future[answer] {
		if err := ValidatePath(path); err != nil {
			return failed[answer]("get ACL", path, err)
		}
		return start(s, request[answer]{
			op: "get ACL", path: path, code: wire.OpGetACL,
			body:   func(e *wire.Encoder) { e.String(s.serverPath(path)) },
			decode: func(d *wire.Decoder) (answer, error) { return answer{wire.DecodeACL(d), wire.DecodeStat(d)}, nil },
		})
	}, nil)
	return a.acl, a.stat, err
}

// SetACL replaces the znode's access control list if its ACL version is version;
// -1 matches any. If the reply is lost, the error is an [UnknownOutcomeError].
func (s *Session) SetACL(ctx context.Context, path string, acl []ACL, version int32) (Stat, error) {
	return doRequest(ctx, s, "set ACL", path, func() *Future[Stat] {
		if err := ValidatePath(path); err != nil {
			return failed[Stat]("set ACL", path, err)
		}
		return start(s, request[Stat]{
			op: "set ACL", path: path, code: wire.OpSetACL, write: true,
			body: func(e *wire.Encoder) {
				e.String(s.serverPath(path))
				wire.EncodeACL(e, acl)
				e.Int32(version)
			},
			decode: stat,
		})
	}, nil)
}

// EnsurePath creates the znode path, and all missing znodes above it: the znodes
// above as persistent znodes, the last one in mode, which must not be sequential
// or ephemeral. A missing chroot is created too.
func (s *Session) EnsurePath(ctx context.Context, path string, mode Mode, o *CreateOptions) error {
	s.mustBeUsable(ctx)
	if mode.sequential() || mode.ephemeral() {
		return &OpError{Op: "ensure", Path: path, Err: fmt.Errorf("%w: mode %d cannot be repeated safely", ErrInvalidOption, mode)}
	}
	if err := ValidatePath(path); err != nil {
		return &OpError{Op: "ensure", Path: path, Err: err}
	}
	// Repeating is safe here: the caller wants a node of this path, no matter which
	// client made it.
	return s.ensure(ctx, s.serverPath(path), mode, o)
}

func validateTTL(mode Mode, ttl time.Duration) error {
	switch {
	case !mode.ttl() && ttl != 0:
		return fmt.Errorf("%w: TTL %v for a mode that has none", ErrInvalidOption, ttl)
	case mode.ttl() && (ttl < time.Millisecond || ttl > maxTTL):
		return fmt.Errorf("%w: TTL %v is outside %v to %v", ErrInvalidOption, ttl, time.Millisecond, maxTTL)
	}
	return nil
}
