package txnlog

import (
	"errors"
	"fmt"
	"io"
)

// maxServers is the largest number of folders of one Merge.
const maxServers = 64

// Merge reads the transactions of several servers of one ensemble in the order of
// their zxids, each once, and reports where the servers disagree. A Merge is not
// safe for concurrent use, except for Progress.
type Merge struct {
	servers []server
	report  func(Finding)
	seen    *recent
}

// server is one of the merged folders.
type server struct {
	txns  *Transactions
	head  *Txn // read, but not yet merged
	atEnd bool // is not asked again before all servers are at their ends
	first Zxid
	last  record
}

// NewMerge merges the transactions of folders. The caller closes the merge. The
// error is that of a wrong number of folders.
func NewMerge(o *ReadOptions, folders ...*Folder) (*Merge, error) {
	if n := len(folders); n < 1 || n > maxServers {
		return nil, fmt.Errorf("txnlog: merge: the number of folders must be 1 to %d, got %d", maxServers, n)
	}
	m := &Merge{seen: newRecent(), report: func(Finding) {}}
	for i, f := range folders {
		t := f.Transactions(o)
		t.late = func(txn *Txn) bool { return m.confirmLate(i, txn) }
		t.gaps = false // of one server: reported as missing
		m.servers = append(m.servers, server{txns: t})
		m.report = t.o.Report
	}
	return m, nil
}

// Close closes the open files.
func (m *Merge) Close() error {
	for i := range m.servers {
		_ = m.servers[i].txns.Close() // never fails
	}
	return nil
}

// Progress returns how many bytes of how many have been read, of all servers. It may
// be called concurrently with Next.
func (m *Merge) Progress() (done, total int64) {
	for i := range m.servers {
		d, t := m.servers[i].txns.Progress()
		done += d
		total += t
	}
	return done, total
}

// Next returns the next transaction, which is valid until the following call. The
// error is io.EOF when all logs are at their ends so far; calling Next again later
// returns transactions logged since.
//
// A transaction that only one server has, and that reaches its log after the others
// have gone further, is reported as missing on the others and not returned.
func (m *Merge) Next() (*Txn, error) {
	for {
		first := -1
		for i := range m.servers {
			s := &m.servers[i]
			if s.head == nil && !s.atEnd {
				txn, err := s.txns.Next()
				switch {
				case errors.Is(err, io.EOF):
					s.atEnd = true
				case err != nil:
					return nil, fmt.Errorf("%s: %w", s.txns.folder.Name, err)
				}
				s.head = txn
			}
			if s.head != nil && (first < 0 || s.head.Zxid < m.servers[first].head.Zxid) {
				first = i
			}
		}
		if first < 0 {
			for i := range m.servers {
				m.servers[i].atEnd = false
			}
			return nil, io.EOF
		}
		txn := m.servers[first].head
		m.servers[first].head = nil
		if m.accept(first, txn) {
			return txn, nil
		}
	}
}

// Have returns the names of the servers whose logs are known to have a recent
// transaction, in the order of the folders.
func (m *Merge) Have(z Zxid) []string {
	if rec := m.seen.find(z); rec != nil {
		return m.namesOf(rec.has)
	}
	return nil
}

// accept compares a transaction of server i with those of the other servers, and
// reports whether the transaction is the first with its zxid.
func (m *Merge) accept(i int, txn *Txn) bool {
	s, bit := &m.servers[i], uint64(1)<<i
	before := s.last
	s.last = record{zxid: txn.Zxid, file: txn.At.File, offset: txn.At.Offset}
	if before.zxid == 0 {
		s.first = txn.Zxid
	} else {
		m.reportMissing(i, before)
	}
	if rec := m.seen.find(txn.Zxid); rec != nil {
		m.compare(i, rec, txn)
		return false
	}
	last := m.seen.last()
	if last != nil && txn.Zxid < last.zxid {
		m.reportLate(i, txn)
		return false
	}
	if last != nil && !txn.Zxid.follows(last.zxid) {
		from, to := txn.Zxid.gapAfter(last.zxid)
		m.report(Finding{Kind: Gap, From: from, To: to, At: []Position{last.position(), txn.At}})
	}
	m.seen.add(txn, bit)
	return true
}

// reportMissing reports the transactions of other servers between the last two
// transactions of server i.
func (m *Merge) reportMissing(i int, before record) {
	s, bit := &m.servers[i], uint64(1)<<i
	var run *Finding
	var has uint64
	flush := func() {
		if run != nil {
			m.report(*run)
		}
		run = nil
	}
	for k := m.seen.search(before.zxid + 1); k < len(m.seen.ring); k++ {
		rec := m.seen.at(k)
		if rec.zxid >= s.last.zxid {
			break
		}
		switch {
		case rec.has&bit != 0:
			flush()
		case run != nil && rec.has == has:
			run.To = rec.zxid
		default:
			flush()
			has = rec.has
			run = &Finding{
				Kind: Missing, Server: s.txns.folder.Name, From: rec.zxid, To: rec.zxid, Has: m.namesOf(has),
				At: []Position{rec.position(), before.position(), s.last.position()},
			}
			if snap, ok := s.txns.folder.snapshotWithin(rec.zxid, s.last.zxid-1); ok {
				run.Snapshot = snap.Path
			}
		}
	}
	flush()
}

// confirmLate compares a transaction that server i has logged late with that of
// the other servers, if they have one.
func (m *Merge) confirmLate(i int, txn *Txn) bool {
	rec := m.seen.find(txn.Zxid)
	if rec == nil {
		return false
	}
	m.compare(i, rec, txn)
	return true
}

// compare compares a transaction of server i with the one merged before.
func (m *Merge) compare(i int, rec *record, txn *Txn) {
	if rec.hash != m.seen.hashOf(txn) {
		m.report(Finding{
			Kind: Conflict, Server: m.servers[i].txns.folder.Name, From: txn.Zxid, To: txn.Zxid, At: []Position{rec.position(), txn.At}, Has: m.namesOf(rec.has),
		})
	}
	rec.has |= 1 << i
}

// reportLate reports a transaction of server i that is older than transactions
// merged before. Beyond the memory of the merge nothing is known.
func (m *Merge) reportLate(i int, txn *Txn) {
	has := []string{m.servers[i].txns.folder.Name}
	if compareZxids(txn.Zxid, m.seen.at(0).zxid) < 0 {
		m.report(Finding{Kind: Disorder, Server: has[0], From: txn.Zxid, To: txn.Zxid, At: []Position{txn.At}})
		return
	}
	for j := range m.servers {
		if other := &m.servers[j]; other.first != 0 && other.first < txn.Zxid && other.last.zxid > txn.Zxid {
			m.report(Finding{Kind: Missing, Server: other.txns.folder.Name, From: txn.Zxid, To: txn.Zxid, Has: has, At: []Position{txn.At, other.last.position()}})
		}
	}
}

func (m *Merge) namesOf(has uint64) []string {
	var out []string
	for i := range m.servers {
		if has&(1<<i) != 0 {
			out = append(out, m.servers[i].txns.folder.Name)
		}
	}
	return out
}
