package txnlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// ReadOptions are the optional arguments of reading a folder. nil means all
// defaults.
type ReadOptions struct {
	// From is the first zxid of interest; default: the first in the files.
	From Zxid
	// Since is the first moment of interest, by the leaders' clocks; default: none.
	// Transactions are returned from the first one at or after Since on. Files that
	// end before From and Since are not read.
	Since time.Time
	// Report receives the findings in the order of reading; default: they are
	// dropped. Report is called by Next.
	Report func(Finding)
}

// Transactions reads the transactions of one server in the order of their zxids,
// across files, each once. Transactions is not safe for concurrent use, except for
// Progress.
type Transactions struct {
	folder *Folder
	o      ReadOptions
	gaps   bool // report gaps
	// late, if set, takes transactions that can no longer be returned in order, or
	// returns false.
	late func(*Txn) bool

	logs    []File // not yet opened
	reached *File  // the file opened last
	file    *os.File
	size    int64 // of file, when opened
	r       *Reader
	fresh   bool // no transaction of file has been read

	txn        Txn
	seen       *recent
	held       []*Txn // read behind a gap, in order of their zxids
	heldBytes  int64
	duplicates int64
	reordered  int64
	begun      bool // a transaction at or after Since was read
	done       atomic.Int64
	total      atomic.Int64
}

// Transactions returns a reader of the folder's transactions, which keeps at most
// one file open. The caller closes the reader.
func (f *Folder) Transactions(o *ReadOptions) *Transactions {
	t := &Transactions{folder: f, gaps: true, seen: newRecent()}
	if o != nil {
		t.o = *o
	}
	if t.o.Report == nil {
		t.o.Report = func(Finding) {}
	}
	t.begun = t.o.Since.IsZero()
	t.logs = append(t.logs, f.Logs[f.startOf(t.o.From, t.o.Since):]...)
	t.countTotal()
	return t
}

// Close closes the open file.
func (t *Transactions) Close() error {
	t.logs = nil
	t.leaveFile()
	return nil
}

// Duplicates returns how many transactions were found a second time, with the same
// content, and left out.
func (t *Transactions) Duplicates() int64 { return t.duplicates }

// Reordered returns how many transactions the server has logged late, behind
// transactions with higher zxids, and Next has returned in their place.
func (t *Transactions) Reordered() int64 { return t.reordered }

// Incomplete returns the number of bytes of a half-written record at the end so far,
// as of the last io.EOF.
func (t *Transactions) Incomplete() int64 {
	if t.r == nil {
		return 0
	}
	return t.r.Incomplete()
}

// Progress returns how many bytes of how many have been read. The total includes
// the preallocated rests of files, and grows with the files of a running server.
// Progress may be called concurrently with Next.
func (t *Transactions) Progress() (done, total int64) {
	done = t.done.Load()
	return done, max(done, t.total.Load())
}

// Next returns the next transaction, which is valid until the following call.
//
// The error is io.EOF at the end so far; calling Next again later returns
// transactions logged since, also in new files. All damage is reported as findings.
// Any other error is an error of the file system.
func (t *Transactions) Next() (*Txn, error) {
	for {
		txn := t.takeHeld(false)
		if txn == nil {
			switch err := t.readNext(); {
			case err == nil:
				txn = t.arrange()
			case errors.Is(err, io.EOF) && len(t.held) > 0:
				txn = t.takeHeld(true)
			default:
				return nil, err
			}
		}
		if txn == nil {
			continue
		}
		t.begun = t.begun || !txn.Time.Before(t.o.Since)
		if t.begun && txn.Zxid >= t.o.From {
			return txn, nil
		}
	}
}

// readNext reads the next record of the files into t.txn.
func (t *Transactions) readNext() error {
	for {
		if t.r == nil {
			if err := t.openNext(); err != nil {
				return err
			}
		}
		err := t.r.Next(&t.txn)
		if err == nil {
			t.done.Add(t.txn.Size)
			return nil
		}
		if err := t.atError(err); err != nil {
			return err
		}
	}
}

// atError goes on after the end of a file or damage, or returns the error.
func (t *Transactions) atError(err error) error {
	if errors.Is(err, io.EOF) {
		return t.atEnd()
	}
	var damage *DamageError
	if errors.As(err, &damage) {
		t.atDamage(damage)
		return nil
	}
	return err
}

// openNext opens the next file, or returns io.EOF.
func (t *Transactions) openNext() error {
	if len(t.logs) == 0 {
		if err := t.refresh(); err != nil {
			return err
		}
	}
	for len(t.logs) > 0 {
		next := t.logs[0]
		f, err := os.Open(next.Path)
		if errors.Is(err, fs.ErrNotExist) {
			t.logs, t.reached = t.logs[1:], &next
			t.done.Add(next.Size)
			t.o.Report(Finding{Kind: Vanished, Server: t.folder.Name, At: []Position{{next.Path, 0}}, Err: err})
			continue
		}
		if err != nil {
			return fmt.Errorf("txnlog: open: %w", err)
		}
		t.logs, t.reached = t.logs[1:], &next
		t.file, t.size, t.r, t.fresh = f, next.Size, NewReader(f, next.Path), true
		return nil
	}
	return io.EOF
}

// refresh looks for files that are newer than all files opened so far.
func (t *Transactions) refresh() error {
	if err := t.folder.Refresh(); err != nil {
		return err
	}
	for _, log := range t.folder.Logs {
		if t.reached == nil || compareZxids(log.Zxid, t.reached.Zxid) > 0 {
			t.logs = append(t.logs, log)
		}
	}
	t.countTotal()
	return nil
}

// countTotal adds the files that are to be read to the bytes done.
func (t *Transactions) countTotal() {
	total := t.done.Load()
	if t.file != nil {
		total += max(0, t.size-t.r.Offset())
	}
	for _, log := range t.logs {
		total += log.Size
	}
	t.total.Store(total)
}

// atEnd leaves a file at its end, if there is a newer one; otherwise the error is
// io.EOF.
func (t *Transactions) atEnd() error {
	if len(t.logs) == 0 {
		if err := t.refresh(); err != nil {
			return err
		}
		// The server writes into a file until it begins the next one: what came to
		// the present file before that must be read first, by one more Next.
		if len(t.logs) > 0 {
			t.checkDeleted()
			return nil
		}
		t.total.Store(t.done.Load()) // the rest of the file is empty
		return io.EOF
	}
	if n := t.r.Incomplete(); n > 0 {
		t.o.Report(Finding{Kind: HalfWritten, Server: t.folder.Name, At: []Position{{t.file.Name(), t.r.Offset()}}})
	}
	t.leaveFile()
	return nil
}

// checkDeleted reports a file that the server has deleted although older files
// exist: a purge begins with the oldest, but a server that truncates its log deletes
// the newest.
func (t *Transactions) checkDeleted() {
	_, err := os.Stat(t.reached.Path)
	if !errors.Is(err, fs.ErrNotExist) || compareZxids(t.folder.Logs[0].Zxid, t.reached.Zxid) > 0 {
		return
	}
	at := Position{t.reached.Path, t.r.Offset()}
	err = &DamageError{At: at, Last: t.r.Last(), Reason: ErrRewritten, Detail: "the server deleted the file, as when it truncates its log"}
	t.o.Report(Finding{Kind: Damaged, Server: t.folder.Name, At: []Position{at}, Err: err})
}

// atDamage reports damage, and goes on behind it, with the same file from its start
// (a rewritten log), or with the next file.
func (t *Transactions) atDamage(damage *DamageError) {
	t.o.Report(Finding{Kind: Damaged, Server: t.folder.Name, At: []Position{damage.At}, Err: damage})
	if errors.Is(damage, ErrRewritten) {
		t.r, t.fresh = NewReader(t.file, t.file.Name()), true
		return
	}
	if !t.r.Skip(damage) {
		t.leaveFile()
	}
}

// leaveFile closes the file and counts its rest as done.
func (t *Transactions) leaveFile() {
	if t.file == nil {
		return
	}
	t.done.Add(max(0, t.size-t.r.Offset()))
	_ = t.file.Close() // was only read
	t.file, t.r = nil, nil
}
