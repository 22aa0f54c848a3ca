package history

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// mostAhead is how many transactions are read ahead at most.
const mostAhead = 1 << 14

// ahead reads a recording, and reads ahead where a hold has ended: the record that tells who
// broke the hold may follow.
type ahead struct {
	src    *recording.Reader
	report func(txnlog.Finding)
	queue  []aheadItem
	txns   int              // of the queue
	last   *txnlog.Txn      // the newest that was read
	breaks []*seenBreak     // of the queue, in its order
	found  []txnlog.Finding // by the last read
	end    error            // of src
}

// aheadItem is a transaction, or a finding that was made before it.
type aheadItem struct {
	txn     *txnlog.Txn
	finding txnlog.Finding
}

// newAhead reads a folder until ctx ends; report receives the findings in their place.
func newAhead(ctx context.Context, folder *recording.Folder, report func(txnlog.Finding)) *ahead {
	a := &ahead{report: report}
	a.src = folder.Read(ctx, func(f txnlog.Finding) { a.found = append(a.found, f) })
	return a
}

// start reads the first state; see recording.Reader.Start.
func (a *ahead) start(load func(*recording.Znode, time.Time)) (at time.Time, file string, err error) {
	at, file, err = a.src.Start(func(z *recording.Znode) { load(z, a.src.Reached()) })
	for _, f := range a.found {
		a.report(f)
	}
	a.found = nil
	return at, file, err
}

// Next returns the next transaction. The error is that of src.
func (a *ahead) Next() (*txnlog.Txn, error) {
	for {
		if len(a.queue) == 0 && !a.read() {
			return nil, a.end
		}
		item := a.queue[0]
		a.queue[0] = aheadItem{}
		a.queue = a.queue[1:]
		if item.txn == nil {
			a.report(item.finding)
			continue
		}
		a.txns--
		a.breaks = a.breaks[len(breaksIn(item.txn)):]
		return item.txn, nil
	}
}

// read reads one transaction, and the findings before it, into the queue.
func (a *ahead) read() bool {
	if a.end != nil {
		return len(a.queue) > 0
	}
	txn, err := a.src.Next()
	for _, f := range a.found {
		a.queue = append(a.queue, aheadItem{finding: f})
	}
	a.found = nil
	if a.end = err; err != nil {
		return len(a.queue) > 0
	}
	a.queue, a.txns, a.last = append(a.queue, aheadItem{txn: txn}), a.txns+1, txn
	a.breaks = append(a.breaks, breaksIn(txn)...)
	return true
}

// findBreak finds the record of a broken hold that follows the end of the hold at a moment.
func (a *ahead) findBreak(path string, ended time.Time) *seenBreak {
	for a.end == nil && a.txns < mostAhead && !a.reaches(ended) {
		a.read()
	}
	for _, b := range a.breaks {
		if b.path == path && isOneMoment(ended, b.seen, b.after) {
			return b
		}
	}
	return nil
}

// reaches reports whether all that may belong to a transaction of a moment has been read.
func (a *ahead) reaches(moment time.Time) bool {
	return a.last != nil && a.last.Time.Sub(moment) > apart && (a.last.After.IsZero() || a.last.After.After(moment))
}

func (a *ahead) Progress() (done, total int64) { return a.src.Progress() }
func (a *ahead) Close() error                  { return a.src.Close() }
