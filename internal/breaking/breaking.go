// Package breaking takes a hold away from a client that does not give it back: a lock,
// permits, a leadership. A record with the name of the operator and the reason is written
// with the deletion of the holder's znode, in one transaction.
package breaking

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Errors of [Break].
var (
	// ErrGone: the holder has no znode any more.
	ErrGone = errors.New("the holder has gone")
	// ErrWaits: the contender waits, and others hold.
	ErrWaits = fmt.Errorf("%w: the contender does not hold", session.ErrInvalidArgument)
)

// Queue is a queue whose first contenders hold something.
type Queue struct {
	// Dir is the path of the queue, and Markers are those of its contenders.
	Dir     string
	Markers []string
	// Records is the path that "<Records>.breaks" belongs to.
	Records string
	// Holders returns how many contenders at the head of the queue hold.
	Holders func(queue []znode.Entry) int
}

// FirstHolds is the Holders of a queue whose first contender holds alone.
func FirstHolds(queue []znode.Entry) int { return min(1, len(queue)) }

// Target is a hold: a znode near the head of a queue.
type Target struct {
	Queue
	// Path is that of the holder's znode, and Token its czxid.
	Path  string
	Token int64
}

func (t Target) name() string   { return znode.Base(t.Path) }
func (t Target) record() string { return lockformat.BreakPath(t.Records, t.Token) }

// holds reports whether the target's contender holds, among the children of the queue.
func (t Target) holds(children []string) bool {
	queue := znode.Parse(children, t.Markers...).Entries
	i := slices.IndexFunc(queue, func(e znode.Entry) bool { return e.Name == t.name() })
	return i >= 0 && i < t.Holders(queue)
}

// isOutside reports whether the target's contender waits beside the queue, until the queue is
// shorter or it is the next by its priority.
func (t Target) isOutside() bool {
	dir := znode.Parent(t.Path)
	return dir == t.Dir+lockformat.RoomSuffix || dir == t.Dir+lockformat.RankSuffix
}

// check reports what is wrong with the target, and the reason.
func (t Target) check(reason string) error {
	switch name, below := strings.CutPrefix(t.Path, t.Dir+"/"); {
	case !t.isOutside() && (!below || name == "" || strings.Contains(name, "/")):
		return fmt.Errorf("%w: %q is not in the queue", session.ErrInvalidArgument, t.Path)
	case reason == "":
		return fmt.Errorf("%w: the reason is empty", session.ErrInvalidArgument)
	}
	return nil
}

// Break deletes the znode of the holder, and writes the record, both or none. If the reply is
// lost, the record tells whether it was done. Without by, the record names this process.
func Break(ctx context.Context, client *session.Client, t Target, by, reason string) error {
	if err := t.check(reason); err != nil {
		return err
	}
	b := lockformat.Break{Token: t.Token, By: cmp.Or(by, holding.DefaultID()), Reason: reason, Attempt: rand.Text()}
	doubt := false // an attempt got no reply
	err := client.Retry(ctx, func(s *session.Session) error {
		for {
			again, err := breakOnce(ctx, s, t, b)
			doubt = doubt || errors.Is(err, session.ErrUnknownOutcome)
			if err != nil || !again {
				return err
			}
		}
	})
	switch {
	case err == nil:
		prune(ctx, client, t.Records)
	case doubt && errors.Is(err, ErrGone):
		return fmt.Errorf("%w: %w, without a record of that", session.ErrUnknownOutcome, err)
	}
	return err
}

// breakOnce is one attempt of Break; it reports whether another one is needed, because the
// znodes have changed between the reads and the transaction.
func breakOnce(ctx context.Context, s *session.Session, t Target, b lockformat.Break) (again bool, err error) {
	var queue []string
	var holder session.Seen
	var former *lockformat.Break // of this call, or garbage
	err = s.ReadFresh(ctx, t.Dir, func() (err error) {
		if former, err = read(ctx, s, t.record()); err != nil {
			return err
		}
		holder = session.Seen{}
		holder.Data, holder.Stat, err = s.Get(ctx, t.Path)
		holder.Exists = err == nil
		if err == nil {
			queue, _, err = s.Children(ctx, t.Dir)
		}
		if errors.Is(err, session.ErrNoNode) {
			err = nil
		}
		return err
	})
	switch {
	case err != nil:
		return false, err
	case former != nil && former.Attempt == b.Attempt:
		return false, nil
	case !holder.Exists, holder.Stat.Czxid != t.Token:
		return false, ErrGone
	case t.isOutside():
		return false, ErrWaits
	case !slices.Contains(queue, t.name()):
		return true, nil // it went between the two reads
	case !t.holds(queue):
		return false, ErrWaits
	}
	b.Znode = t.name()
	b.Holder, b.Session, b.At = description(holder.Data), fmt.Sprintf("%#x", uint64(holder.Stat.EphemeralOwner)), time.Now().UTC()
	write := session.CreateOp(t.record(), b.Encode(), session.Persistent, nil)
	if former != nil {
		write = session.SetOp(t.record(), b.Encode(), -1)
	}
	_, err = s.Txn(ctx, session.DeleteOp(t.Path, holder.Stat.Version), write)
	var refused *session.TxnError
	switch {
	case !errors.As(err, &refused):
		return false, err
	case errors.Is(err, session.ErrNoNode) && refused.Index == 1:
		return true, s.EnsurePath(ctx, t.Records+lockformat.BreaksSuffix, session.Container, nil)
	case errors.Is(err, session.ErrNoNode), errors.Is(err, session.ErrBadVersion), errors.Is(err, session.ErrNodeExists):
		return true, nil
	}
	return false, err
}

// longestDescription is how much of a holder's description a record has, in bytes: the
// description is the holder's, and may be as long as a request.
const longestDescription = 1 << 10

func description(data []byte) string {
	if len(data) > longestDescription {
		data = append(slices.Clip(data[:longestDescription]), "..."...)
	}
	return strings.ToValidUTF8(string(data), "\ufffd")
}

// read returns the record at path, nil if there is none, or none that can be read.
func read(ctx context.Context, s *session.Session, path string) (*lockformat.Break, error) {
	data, _, err := s.Get(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := lockformat.ParseBreak(data)
	if err != nil {
		return &lockformat.Break{}, nil //nolint:nilerr // it is replaced
	}
	return &b, nil
}

// Find returns the record of the hold with a token, among the records of path; nil if it was
// not broken, or its record has been deleted since.
func Find(ctx context.Context, client *session.Client, records string, token int64) (found *lockformat.Break, err error) {
	path := lockformat.BreakPath(records, token)
	err = client.Retry(ctx, func(s *session.Session) error {
		return s.ReadFresh(ctx, path, func() (err error) {
			found, err = read(ctx, s, path)
			return err
		})
	})
	if err != nil || found != nil && found.Token != token {
		return nil, err
	}
	return found, nil
}

// FindZnode returns the record of the hold whose znode had one of the names, among the records
// of path; nil if there is none any more, or it was not broken.
func FindZnode(ctx context.Context, client *session.Client, path string, names []string) (*lockformat.Break, error) {
	all, err := List(ctx, client, path)
	if i := slices.IndexFunc(all, func(b lockformat.Break) bool { return slices.Contains(names, b.Znode) }); i >= 0 && err == nil {
		return &all[i], nil
	}
	return nil, err
}

// List returns the records of path, the newest first.
func List(ctx context.Context, client *session.Client, path string) (out []lockformat.Break, err error) {
	folder := path + lockformat.BreaksSuffix
	err = client.Retry(ctx, func(s *session.Session) error {
		out = nil
		var names []string
		err := s.ReadFresh(ctx, folder, func() (err error) {
			names, err = listNames(ctx, s, folder)
			return err
		})
		if err != nil {
			return err
		}
		records, err := readRecords(ctx, s, folder, names)
		for _, r := range records {
			if b, bad := lockformat.ParseBreak(r.data); bad == nil && r.name == lockformat.BreakName(b.Token) {
				out = append(out, b)
			}
		}
		return err
	})
	return out, err
}

// listNames lists the names of the records, and no other znodes. Without the folder there are
// none.
func listNames(ctx context.Context, s *session.Session, folder string) ([]string, error) {
	names, _, err := s.Children(ctx, folder)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return !lockformat.IsBreakName(name) }), err
}

// record is the znode of a record.
type record struct {
	name    string
	data    []byte
	written int64 // its mzxid
}

// readRecords reads the records that exist, the newest first. Their names do not tell the
// order: of several holders, the last one that is broken may have the lowest token.
func readRecords(ctx context.Context, s *session.Session, folder string, names []string) ([]record, error) {
	out := make([]record, 0, len(names))
	for _, name := range names {
		data, stat, err := s.Get(ctx, znode.Join(folder, name))
		if errors.Is(err, session.ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, record{name, data, stat.Mzxid})
	}
	slices.SortFunc(out, func(a, b record) int { return cmp.Compare(b.written, a.written) })
	return out, nil
}

// pruneLimit bounds the time for that: the hold is broken, and the caller waits.
const pruneLimit = 3 * time.Second

// prune deletes all records but the newest. It is done as far as it is possible: the next
// call does the rest.
func prune(ctx context.Context, client *session.Client, path string) {
	ctx, cancel := context.WithTimeout(ctx, pruneLimit)
	defer cancel()
	s, err := client.Session(ctx)
	if err != nil {
		return
	}
	folder := path + lockformat.BreaksSuffix
	names, err := listNames(ctx, s, folder)
	if err != nil || len(names) <= lockformat.MaxBreaks {
		return
	}
	records, err := readRecords(ctx, s, folder, names)
	if err != nil {
		return
	}
	for _, old := range records[min(len(records), lockformat.MaxBreaks):] {
		if err := s.Delete(ctx, znode.Join(folder, old.name), -1); err != nil && !errors.Is(err, session.ErrNoNode) {
			return
		}
	}
}
