// Package breaking takes a hold away from a client that does not give it back: a lock, a
// leadership. A record with the name of the operator and the reason is written with the
// deletion of the holder's znode, in one transaction.
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
	// ErrNotFirst: another contender holds.
	ErrNotFirst = fmt.Errorf("%w: the contender does not hold", session.ErrInvalidArgument)
)

// Target is a hold: a znode at the head of a queue.
type Target struct {
	// Dir is the path of the queue, and Markers are those of its contenders.
	Dir     string
	Markers []string
	// Path is that of the holder's znode, and Token its czxid.
	Path  string
	Token int64
}

func (t Target) name() string   { return znode.Base(t.Path) }
func (t Target) record() string { return lockformat.BreakPath(t.Dir, t.Token) }

// check reports what is wrong with the target, and the reason.
func (t Target) check(reason string) error {
	switch name, below := strings.CutPrefix(t.Path, t.Dir+"/"); {
	case !below || name == "" || strings.Contains(name, "/"):
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
		prune(ctx, client, t.Dir)
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
	case !slices.Contains(queue, t.name()):
		return true, nil // it went between the two reads
	case first(queue, t.Markers) != t.name():
		return false, ErrNotFirst
	}
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
		return true, s.EnsurePath(ctx, t.Dir+lockformat.BreaksSuffix, session.Container, nil)
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

// first is the name at the head of the queue.
func first(children, markers []string) string {
	entries := znode.Parse(children, markers...).Entries
	if len(entries) == 0 {
		return ""
	}
	return entries[0].Name
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

// Find returns the record of a hold; nil if it was not broken, or its record has been deleted
// since.
func Find(ctx context.Context, client *session.Client, t Target) (found *lockformat.Break, err error) {
	path := t.record()
	err = client.Retry(ctx, func(s *session.Session) error {
		return s.ReadFresh(ctx, path, func() (err error) {
			found, err = read(ctx, s, path)
			return err
		})
	})
	if err != nil || found != nil && found.Token != t.Token {
		return nil, err
	}
	return found, nil
}

// List returns the records of a queue, the newest first.
func List(ctx context.Context, client *session.Client, dir string) (out []lockformat.Break, err error) {
	folder := dir + lockformat.BreaksSuffix
	err = client.Retry(ctx, func(s *session.Session) error {
		out = nil
		var names []string
		err := s.ReadFresh(ctx, folder, func() (err error) {
			names, err = listRecords(ctx, s, folder)
			return err
		})
		for _, name := range names {
			b, err := read(ctx, s, znode.Join(folder, name))
			if err != nil {
				return err
			}
			if b != nil && name == lockformat.BreakName(b.Token) {
				out = append(out, *b)
			}
		}
		return err
	})
	return out, err
}

// listRecords lists the names of the records, the newest first, and no other znodes: a name is
// a token, and the tokens of a queue's holders grow. Without the folder there are none.
func listRecords(ctx context.Context, s *session.Session, folder string) ([]string, error) {
	names, _, err := s.Children(ctx, folder)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !lockformat.IsBreakName(name) })
	slices.Sort(names)
	slices.Reverse(names)
	return names, err
}

// pruneLimit bounds the time for that: the hold is broken, and the caller waits.
const pruneLimit = 3 * time.Second

// prune deletes all records but the newest. It is done as far as it is possible: the next
// call does the rest.
func prune(ctx context.Context, client *session.Client, dir string) {
	ctx, cancel := context.WithTimeout(ctx, pruneLimit)
	defer cancel()
	s, err := client.Session(ctx)
	if err != nil {
		return
	}
	folder := dir + lockformat.BreaksSuffix
	names, err := listRecords(ctx, s, folder)
	if err != nil {
		return
	}
	for _, name := range names[min(len(names), lockformat.MaxBreaks):] {
		if err := s.Delete(ctx, znode.Join(folder, name), -1); err != nil && !errors.Is(err, session.ErrNoNode) {
			return
		}
	}
}
