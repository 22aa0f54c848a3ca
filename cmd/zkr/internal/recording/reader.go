package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// Reader reads a recording as transactions. One goroutine at a time may use a Reader, except
// for Progress.
type Reader struct {
	folder *Folder
	report func(txnlog.Finding)
	stop   context.Context // of the whole reading

	files []File // not yet opened
	open  File   // the opened one, if file is not nil
	file  *os.File
	lines *lines
	ahead *Record // read, but not yet used

	// state is the state after the last transaction; nil before the first state. last is the
	// moment up to which the recording reaches, cut why it does not go on from there.
	state *State
	last  time.Time
	cut   string
	queue []*txnlog.Txn
	root  string

	done, total atomic.Int64
}

// Read returns a reader of the folder's transactions, whose calls fail when ctx has ended.
// Report receives the findings in the order of reading, and may be nil. The caller closes the
// reader.
func (f *Folder) Read(ctx context.Context, report func(txnlog.Finding)) *Reader {
	r := &Reader{folder: f, files: f.Files, report: report, stop: ctx}
	if report == nil {
		r.report = func(txnlog.Finding) {}
	}
	for _, file := range f.Files {
		r.total.Add(file.Size)
	}
	return r
}

// Close closes the open file.
func (r *Reader) Close() error {
	r.files = nil
	r.leaveFile()
	return nil
}

// Progress returns how many bytes of how many have been read. Progress may be called
// concurrently with Next.
func (r *Reader) Progress() (done, total int64) { return r.done.Load(), r.total.Load() }

// Start reads the first whole state, and returns its moment and its file. The error wraps
// ErrNoFiles if no file has a whole state, or is the cause of the end of the context.
func (r *Reader) Start(load func(*Znode)) (at time.Time, file string, err error) {
	for r.state == nil {
		if err := r.step(); err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("recording: read %s: %w: no file has a whole state", r.folder.Name, ErrNoFiles)
			}
			return at, "", err
		}
	}
	for z := range r.state.all() {
		load(z)
	}
	return r.last, r.open.Path, nil
}

// Reached returns the moment up to which the recording reaches, as far as it was read.
func (r *Reader) Reached() time.Time { return r.last }

// Root returns the path at and below which znodes were recorded, as of the newest file that was
// opened.
func (r *Reader) Root() string { return r.root }

// Next returns the next transaction: its time is the moment at which the recorder saw the
// change, and is never before that of the former transaction. The error is io.EOF at the end.
// All damage is reported as findings; any other error is one of the file system, or the cause
// of the end of the context.
//
// Differences of the states before and after a gap are one transaction, and so are a znode's
// deletion and a following creation of which only the creation was seen.
func (r *Reader) Next() (*txnlog.Txn, error) {
	for len(r.queue) == 0 {
		if err := r.step(); err != nil {
			return nil, err
		}
	}
	txn := r.queue[0]
	r.queue = r.queue[1:]
	return txn, nil
}

// step reads a record, or several that belong together. The error is io.EOF at the end of
// the last file.
func (r *Reader) step() error {
	if r.file == nil {
		if len(r.files) == 0 {
			return io.EOF
		}
		return r.openNext()
	}
	rec, err := r.nextRecord()
	if err != nil {
		return r.endFile(err)
	}
	switch rec.Kind {
	case Set, Gone:
		records := []*Record{rec}
		for !rec.After.IsZero() && !rec.Ordered {
			more, err := r.nextRecord()
			if err != nil {
				r.emit(records)
				return r.endFile(err)
			}
			if more.Kind != Set && more.Kind != Gone || !more.After.Equal(rec.After) || more.Ordered {
				r.ahead = more
				break
			}
			records = append(records, more)
		}
		r.emit(records)
	case Gap:
		r.reportGap(rec.After, rec.At, rec.Why)
	case Clock:
		r.report(txnlog.Finding{Kind: txnlog.Disorder, Server: r.folder.Name, Since: rec.At, At: r.position(), Err: errors.New(rec.Why)})
	}
	r.last = later(r.last, rec.At)
	return nil
}

// nextRecord returns the next record of the file.
func (r *Reader) nextRecord() (*Record, error) {
	if rec := r.ahead; rec != nil {
		r.ahead = nil
		return rec, nil
	}
	return r.lines.next()
}

// openNext opens the next file, and compares the state at its beginning with the state so far.
func (r *Reader) openNext() error {
	before := r.open.Number
	r.open, r.files = r.files[0], r.files[1:]
	file, err := os.Open(r.open.Path)
	if errors.Is(err, fs.ErrNotExist) { // removed by the recorder since the folder was read
		r.report(txnlog.Finding{Kind: txnlog.Vanished, Server: r.folder.Name, At: []txnlog.Position{{File: r.open.Path}}, Err: err})
		return nil
	}
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	if r.state != nil && r.cut == "" && r.open.Number != before+1 {
		r.cut = "files are missing"
	}
	r.file, r.lines = file, newLines(&counter{file, &r.done}, r.open.Path)
	return r.readState()
}

// counter counts what is read.
type counter struct {
	io.Reader
	n *atomic.Int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// readState reads the state at the beginning of a file.
func (r *Reader) readState() error {
	next := NewState(func(func(*Znode) bool) {})
	var gap *Record
	for {
		if next.Len()%1024 == 0 && r.stop.Err() != nil {
			return context.Cause(r.stop)
		}
		rec, err := r.lines.next()
		if err != nil {
			return r.endFile(err)
		}
		switch rec.Kind {
		case Begin:
			r.root = rec.Root
		case Gap:
			gap = rec
		case Node:
			next.put(rec.znode())
		case Ready:
			r.continueFrom(next, rec.At, gap)
			return nil
		}
	}
}

// continueFrom continues with the state at the beginning of a file.
func (r *Reader) continueFrom(next *State, at time.Time, gap *Record) {
	after, why := r.last, r.cut
	if gap != nil {
		after, why = gap.After, gap.Why
	}
	if r.state != nil && r.state.IsNewerThan(next) {
		why = strings.TrimPrefix(why+"; "+WentBack, "; ")
	}
	if why != "" && !after.IsZero() {
		r.reportGap(after, at, why)
	}
	if r.state != nil {
		r.emit(r.state.Differences(next, at, after))
	}
	r.state, r.cut, r.last = next, "", later(r.last, at)
}

// endFile leaves a file after an error of its lines.
func (r *Reader) endFile(err error) error {
	var damage *txnlog.DamageError
	at := txnlog.Position{File: r.open.Path, Offset: r.lines.offset}
	switch {
	case errors.Is(err, io.EOF):
	case errors.Is(err, io.ErrUnexpectedEOF):
		// The last file may be one that is being written.
		if len(r.files) > 0 {
			r.report(txnlog.Finding{Kind: txnlog.HalfWritten, Server: r.folder.Name, At: []txnlog.Position{at}})
			r.cut = "the file before is half written"
		}
	case errors.As(err, &damage):
		r.report(txnlog.Finding{Kind: txnlog.Damaged, Server: r.folder.Name, At: []txnlog.Position{damage.At}, Err: err})
		r.cut = "the file before is damaged"
	default:
		return fmt.Errorf("recording: %w", err)
	}
	r.leaveFile()
	return nil
}

func (r *Reader) leaveFile() {
	if r.file != nil {
		_ = r.file.Close() // only read
	}
	r.file, r.ahead = nil, nil
}

// reportGap reports a time of which nothing was recorded.
func (r *Reader) reportGap(from, to time.Time, why string) {
	r.report(txnlog.Finding{
		Kind: txnlog.Gap, Server: r.folder.Name, Since: from, Until: later(from, to),
		At: r.position(), Err: errors.New(why),
	})
}

// position is the present place in the files.
func (r *Reader) position() []txnlog.Position {
	return []txnlog.Position{{File: r.open.Path, Offset: r.lines.offset}}
}
