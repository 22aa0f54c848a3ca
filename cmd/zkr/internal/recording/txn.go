package recording

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// emit queues the transaction of records that were seen together.
func (r *Reader) emit(records []*Record) {
	if len(records) == 0 {
		return
	}
	first := records[0]
	// The clock of a recorder that is started again may be behind that of the former one.
	r.last = later(r.last, records[len(records)-1].At)
	txn := &txnlog.Txn{Time: r.last, After: first.After, Observed: true, Type: txnlog.TypeMulti, At: r.position()[0]}
	for _, rec := range records {
		r.addChanges(txn, rec)
		r.state.apply(rec)
	}
	if len(records) == 1 {
		last := txn.Changes[len(txn.Changes)-1]
		txn.Type = last.Type
		if last.Stat != nil {
			txn.Zxid = last.Stat.Mzxid
		}
		txn.SessionEnded = first.WithSession
	}
	r.queue = append(r.queue, txn)
}

// addChanges adds the changes of a record.
func (r *Reader) addChanges(txn *txnlog.Txn, rec *Record) {
	old := r.state.Lookup(rec.Path)
	if rec.Kind == Gone {
		txn.Changes = append(txn.Changes, txnlog.Change{Type: txnlog.TypeDelete, Path: rec.Path})
		return
	}
	ch := txnlog.Change{Type: txnlog.TypeSetData, Path: rec.Path, Data: rec.Data, Version: rec.Stat.Version, Owner: txnlog.Owner(rec.Stat.Owner)}
	stat := rec.Stat.logged()
	ch.Stat, ch.Size = &stat, rec.znode().Size
	if old != nil && !old.Stat.sameZnode(rec.Stat) {
		txn.Changes = append(txn.Changes, txnlog.Change{Type: txnlog.TypeDelete, Path: rec.Path})
		old = nil
	}
	if old == nil {
		ch.Type = txnlog.TypeCreate
	}
	txn.Changes = append(txn.Changes, ch)
}

// logged is the stat as one of package txnlog.
func (s *Stat) logged() txnlog.Stat {
	return txnlog.Stat{
		Czxid: txnlog.Zxid(s.Czxid), Mzxid: txnlog.Zxid(s.Mzxid), Pzxid: txnlog.Zxid(s.Pzxid),
		Ctime: time.UnixMilli(s.Ctime), Mtime: time.UnixMilli(s.Mtime),
		Version: s.Version, Aversion: s.Aversion, Owner: txnlog.Owner(s.Owner),
	}
}

// Node returns the znode as one of a snapshot.
func (z *Znode) Node() *txnlog.Node {
	return &txnlog.Node{Path: z.Path, Data: z.Data, Size: z.Size, Stat: z.Stat.logged()}
}
