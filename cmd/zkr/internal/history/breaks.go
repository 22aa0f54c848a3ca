package history

import (
	"path"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// apart is the time within which a client that is connected sees the changes of one
// transaction.
const apart = time.Minute

// seenBreak is the record of a broken hold in a recording.
type seenBreak struct {
	path   string
	zxid   txnlog.Zxid // of the transaction
	record lockformat.Break
	// seen is when the recorder saw the record; after is set if that was late.
	seen, after time.Time
}

// newSeenBreak reads a record; nil if the znode is none, or is for another token.
func newSeenBreak(znode string, data []byte, zxid txnlog.Zxid, seen, after time.Time) *seenBreak {
	if !isBreakPath(znode) {
		return nil
	}
	b, err := lockformat.ParseBreak(data)
	if err != nil || path.Base(znode) != lockformat.BreakName(b.Token) {
		return nil
	}
	return &seenBreak{path: znode, zxid: zxid, record: b, seen: seen, after: after}
}

// isBreakPath reports whether a path is one that lockformat.BreakPath makes.
func isBreakPath(znode string) bool {
	dir, name := path.Split(znode)
	return strings.HasSuffix(dir, lockformat.BreaksSuffix+"/") && lockformat.IsBreakName(name)
}

// breaksIn are the records that a transaction of a recording has written.
func breaksIn(txn *txnlog.Txn) (out []*seenBreak) {
	for _, ch := range txn.Changes {
		if ch.Stat == nil {
			continue
		}
		if b := newSeenBreak(ch.Path, ch.Data, ch.Stat.Mzxid, txn.Time, txn.After); b != nil {
			out = append(out, b)
		}
	}
	return out
}

// isOf reports whether the record is of a hold: of its token and session, and written after
// the holder's znode. The servers may have begun to count again, with the record copied.
func (b *seenBreak) isOf(s *Stay) bool {
	return b.record.Token == s.Token && b.record.SessionID() == int64(s.Session) && int64(b.zxid) > s.Token
}

// isOneMoment reports whether changes that were seen at two moments, the second one not before
// the first, may be of one transaction. After is set if the second change was seen late.
func isOneMoment(first, second, after time.Time) bool {
	if after.IsZero() {
		return second.Sub(first) <= apart
	}
	return !after.After(first)
}

// breaks finds who broke a hold in a recording, where the record and the end of the hold are
// apart, and in any order.
type breaks struct {
	known map[string]*seenBreak // those that exist, by path
	ahead *ahead
}

// load takes a znode of the first state.
func (b *breaks) load(z *recording.Znode, at time.Time) {
	if rec := newSeenBreak(z.Path, z.Data, txnlog.Zxid(z.Stat.Mzxid), at, time.Time{}); rec != nil {
		b.known[z.Path] = rec
	}
}

// apply takes the records of a transaction.
func (b *breaks) apply(txn *txnlog.Txn) {
	for _, ch := range txn.Changes {
		if ch.Type.Deletes() {
			delete(b.known, ch.Path)
		}
	}
	for _, rec := range breaksIn(txn) {
		b.known[rec.path] = rec
	}
}

// find returns the record of a hold that a transaction has ended. The record must have been
// seen at about the same time: a znode whose holder remains is no record of its end.
func (b *breaks) find(s *Stay, txn *txnlog.Txn) (lockformat.Break, bool) {
	if s.Token == 0 || txn == nil {
		return lockformat.Break{}, false
	}
	record := lockformat.BreakPath(s.Path, s.Token)
	found := b.known[record]
	if found == nil || !isOneMoment(found.seen, txn.Time, txn.After) {
		found = b.ahead.findBreak(record, txn.Time)
	}
	if found == nil || !found.isOf(s) {
		return lockformat.Break{}, false
	}
	return found.record, true
}
