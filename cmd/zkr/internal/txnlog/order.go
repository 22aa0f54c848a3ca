package txnlog

import (
	"cmp"
	"slices"
)

// Transactions behind a gap are held back until the gap is filled, or until these
// bounds are reached.
const (
	maxHeld      = 1 << 16
	maxHeldBytes = 64 << 20
)

// arrange returns the transaction just read if it is the next one. Others are held
// back, or left out because they were returned before.
//
// Apache's servers do not log strictly in order: a follower that is being
// synchronized logs the transactions of its synchronization and those that arrive
// meanwhile in turn, in two files or in one (seen with 3.8.0).
func (t *Transactions) arrange() *Txn {
	txn, last := &t.txn, t.seen.last()
	t.checkName()
	switch {
	case last == nil:
	case txn.Zxid <= last.zxid:
		before := t.seen.find(txn.Zxid)
		if before == nil {
			wanted := txn.Zxid >= t.o.From && !txn.Time.Before(t.o.Since)
			if wanted && (t.late == nil || !t.late(txn)) {
				t.report(Disorder, last.position())
			}
			return nil
		}
		t.compare(before.hash, before.position())
		return nil
	case len(t.held) > 0 || !txn.Zxid.follows(last.zxid):
		t.hold()
		return nil
	}
	t.seen.add(txn, 1)
	return txn
}

// checkName compares the first transaction of a file with the file's name.
func (t *Transactions) checkName() {
	if !t.fresh {
		return
	}
	t.fresh = false
	if f, ok := parseName(t.txn.At.File); ok && f.Zxid != t.txn.Zxid {
		t.report(Misnamed)
	}
}

// report reports the transaction just read, after other places.
func (t *Transactions) report(kind Kind, at ...Position) {
	t.o.Report(Finding{Kind: kind, Server: t.folder.Name, From: t.txn.Zxid, To: t.txn.Zxid, At: append(at, t.txn.At)})
}

// compare compares the transaction just read with an earlier one of the same zxid.
func (t *Transactions) compare(hash uint64, at Position) {
	if hash != t.seen.hashOf(&t.txn) {
		t.report(Conflict, at)
		return
	}
	t.duplicates++
}

// hold holds the transaction just read back.
func (t *Transactions) hold() {
	i, found := slices.BinarySearchFunc(t.held, t.txn.Zxid, func(held *Txn, z Zxid) int { return cmp.Compare(held.Zxid, z) })
	if found {
		t.compare(t.seen.hashOf(t.held[i]), t.held[i].At)
		return
	}
	if i < len(t.held) {
		t.reordered++
	}
	t.held = slices.Insert(t.held, i, t.txn.Clone())
	t.heldBytes += t.txn.Size
}

// takeHeld returns the first transaction held back, if it is the next one, or if
// nothing else can be expected before it: then the gap is reported.
func (t *Transactions) takeHeld(force bool) *Txn {
	if len(t.held) == 0 {
		return nil
	}
	txn, last := t.held[0], t.seen.last()
	if !txn.Zxid.follows(last.zxid) {
		if !force && len(t.held) < maxHeld && t.heldBytes < maxHeldBytes {
			return nil
		}
		t.reportGap(last, txn)
	}
	t.held[0] = nil
	t.held = t.held[1:]
	t.heldBytes -= txn.Size
	t.seen.add(txn, 1)
	return txn
}

func (t *Transactions) reportGap(last *record, txn *Txn) {
	if !t.gaps {
		return
	}
	from, to := txn.Zxid.gapAfter(last.zxid)
	gap := Finding{Kind: Gap, Server: t.folder.Name, From: from, To: to, At: []Position{last.position(), txn.At}}
	if s, ok := t.folder.snapshotWithin(from, to); ok {
		gap.Snapshot = s.Path
	}
	t.o.Report(gap)
}
