package barrier

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// grace is how much longer than its context a call may take to find out whether
// the party was let through at the last moment.
const grace = time.Second

// errNotCounted: the party's znode has gone, and the party was not let through.
var errNotCounted = errors.New("not let through")

// withdraw withdraws v after its caller has given up with reason. It returns
// the pass if v was let through before. Otherwise the error is final, or wraps
// session.ErrUnknownOutcome.
func (v *arrival) withdraw(ctx context.Context, reason error) (pass, error) {
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	_, err := v.s.StartDelete(v.node.Path, -1).Wait(over)
	if err == nil {
		return pass{}, reason
	}
	if !errors.Is(err, session.ErrNoNode) {
		if err = v.s.EnsureDeleted(over, v.node.Path); err != nil {
			v.m.remains(v.id)
			return pass{}, unknown(v, errors.Join(reason, err))
		}
	}
	p, err := v.findOutcome(over, v.s)
	if errors.Is(err, errNotCounted) {
		err = reason
	} else if err != nil {
		err = unknown(v, errors.Join(reason, err))
	}
	return p, err
}

// recoverOutcome finds out the outcome of v after the loss of its session or
// creation. It returns the pass, errNotCounted, errUnknownRelease, or the reason for not
// finding out.
func (v *arrival) recoverOutcome(ctx context.Context) (pass, error) {
	for {
		s, err := v.deleteNode(ctx)
		if err != nil {
			return pass{}, err
		}
		p, err := v.findOutcome(ctx, s)
		if err == nil || ctx.Err() != nil || !isTransient(s, err) {
			return p, err
		}
	}
}

// isTransient reports whether err comes from a lost connection or session.
func isTransient(s *session.Session, err error) bool {
	return s.Err() != nil || session.NotSent(err) || session.Unanswered(err)
}

// deleteNode deletes v's znode, if present, in the client's present session: an
// existing znode may still be let through.
func (v *arrival) deleteNode(ctx context.Context) (*session.Session, error) {
	for lost := 0; ; lost++ {
		s, err := v.m.client.Session(ctx)
		if err != nil {
			return nil, err
		}
		if v.node.Path == "" {
			err = v.findNode(ctx, s)
		}
		if err == nil && v.node.Path != "" {
			err = s.EnsureDeleted(ctx, v.node.Path)
		}
		if err == nil || ctx.Err() != nil || !isTransient(s, err) {
			return s, err
		}
		_ = s.BackOff(ctx, lost) // as in await
	}
}

// findNode looks for a znode whose creation was not answered.
func (v *arrival) findNode(ctx context.Context, s *session.Session) error {
	// Not a sync: see Session.CreateProtected.
	if _, err := s.Txn(ctx, session.CheckOp(v.m.path, -1)); err != nil {
		if errors.Is(err, session.ErrNoNode) {
			return nil
		}
		return err
	}
	children, _, err := s.Children(ctx, v.m.path)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return err
	}
	for _, name := range children {
		if !strings.HasPrefix(name, v.name) {
			continue
		}
		path := znode.Join(v.m.path, name)
		stat, there, err := s.Exists(ctx, path)
		if err != nil {
			return err
		}
		if seq, e := session.Sequence(name); there && e == nil {
			v.node, v.seq = session.Node{Path: path, Stat: stat}, seq
		}
	}
	return nil
}

// findOutcome tells, after v's znode has gone, whether v was let through: by
// its number, if known and still in the record; otherwise by the recent rounds.
func (v *arrival) findOutcome(ctx context.Context, s *session.Session) (pass, error) {
	var now milestone
	data, stat, err := s.Get(ctx, v.m.path)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return pass{}, err
	}
	if r, bad := v.m.parseRecord(data, stat); err == nil && bad == nil {
		now = milestone{creationOf(stat), r.Round}
		if v.wasOn(now.creation) {
			switch fate, round := r.fateOf(v.seq); fate {
			case released:
				return pass{round, r.members(round)}, nil
			case pending, skipped:
				return pass{}, errNotCounted
			}
		}
	}
	// Read after the record: the recent rounds then have all of the record.
	text, _, err := s.Get(ctx, v.m.path+recentRoundsSuffix)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return pass{}, err
	}
	if round, ok := recentRounds(text).round(barrierformat.UUIDOf(v.name)); ok {
		return pass{round: round}, nil
	}
	// A path deleted and created again tells nothing about the earlier path.
	if v.node.Path == "" && !v.mayBeCreatedLate() && now.creation == v.before.creation && v.covered(recentRounds(text), now.round) {
		return pass{}, errNotCounted
	}
	return pass{}, errUnknownRelease
}

// wasOn reports whether v's znode was certainly on this path. The zxid alone does
// not tell: in an ensemble recreated empty, the path of the same name has a
// lower zxid, too, and a record with foreign numbers.
func (v *arrival) wasOn(path creation) bool {
	switch {
	case v.node.Path == "":
		return false
	case v.place == creation{}:
		return path == v.before.creation && path.czxid < v.node.Stat.Czxid
	}
	return path == v.place
}

// mayBeCreatedLate reports whether v's creation may still be carried out: it was sent in an
// abandoned session that the servers may still have. A server that was cut off
// from the others can hold the request back until all parties have looked for
// the znode.
func (v *arrival) mayBeCreatedLate() bool {
	lost := v.s.Err()
	return v.node.Path == "" && lost != nil && !errors.Is(lost, session.ErrExpired)
}

// covered reports whether the recent rounds have all rounds from v's arrival up to round.
func (v *arrival) covered(r recentRounds, round int64) bool {
	return round == v.before.round || r.covers(v.before.round, max(round, r.newest()))
}
