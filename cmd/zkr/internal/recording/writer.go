package recording

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

var (
	// ErrLocked means that another recorder writes to the folder.
	ErrLocked = errors.New("another recorder writes to this folder")
	// ErrOtherRoot means that the folder has a recording of other znodes.
	ErrOtherRoot = errors.New("the folder has a recording of other znodes")
	// ErrTooSmall means that MaxTotal is too small for the znodes.
	ErrTooSmall = errors.New("the largest total length is too small for the znodes")
	// ErrFull means that the disk is full, or a quota is used up.
	ErrFull = errors.New("the disk is full")
	// ErrDeleted means that another process has deleted, replaced or shortened the file that
	// is being written, or has deleted the folder.
	ErrDeleted = errors.New("the file of the recording was deleted, replaced or shortened")
)

// Writer writes a recording. One goroutine at a time may use a Writer. After an error that
// wraps ErrFull or ErrDeleted, the recording can be resumed or closed, and after any other
// error of a method other than Close only closed.
type Writer struct {
	dir  string
	root string
	o    Options
	lock *os.File
	// earlier is the moment up to which the files of an earlier writer reach.
	earlier time.Time

	closed []File // the oldest first
	total  int64  // the length of the closed files

	// state is the state after the last record; nil before Start.
	state  *State
	number int
	file   *os.File // nil before Start
	zip    *gzip.Writer
	length int64 // of the file, as far as it was flushed
	buffer int64 // an upper bound of what was written since the last flush
	limit  int64 // of the length of the file
	last   time.Time
	// reached is the moment up to which the files reach on the disk, zero if there are none;
	// begun is the moment from which on nothing is recorded without the present file.
	begun, reached time.Time
	spare          []byte // of a line
	// sync is (*os.File).Sync, except in tests.
	sync func(*os.File) error
}

// NewWriter opens a folder for a recording of the znodes at and below root, and creates the
// folder if it does not exist. Files of an earlier recording in the folder are continued. The
// error wraps ErrLocked or ErrInvalidArgument, or is one of the file system.
func NewWriter(dir, root string, o *Options) (w *Writer, err error) {
	w = &Writer{dir: dir, root: root, sync: (*os.File).Sync}
	if w.o, err = o.WithDefaults(); err != nil {
		return nil, err
	}
	if err = w.open(); err != nil {
		if w.lock != nil {
			_ = w.lock.Close()
		}
		return nil, fmt.Errorf("recording: open %s: %w", dir, err)
	}
	return w, nil
}

func (w *Writer) open() (err error) {
	if err = os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	if w.lock, err = os.OpenFile(filepath.Join(w.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err = lockFile(w.lock); err != nil {
		return err
	}
	if w.closed, err = listFiles(w.dir); err != nil {
		return err
	}
	w.countClosed()
	last, err := lastOf(w.closed)
	if err != nil {
		return err
	}
	if last.root != "" && last.root != w.root {
		return fmt.Errorf("%w, those at and below %s, not %s", ErrOtherRoot, last.root, w.root)
	}
	w.earlier, w.reached = last.at, last.at
	return nil
}

// countClosed takes the numbers of the closed files.
func (w *Writer) countClosed() {
	w.total = 0
	for _, f := range w.closed {
		w.total += f.Size
		w.number = max(w.number, f.Number)
	}
}

// Earlier returns the moment up to which the files of an earlier writer reach; zero if there
// are none.
func (w *Writer) Earlier() time.Time { return w.earlier }

// State returns the state after the last record, which must not be changed; nil before Start.
func (w *Writer) State() *State { return w.state }

// Files returns the number of files and their length in bytes.
func (w *Writer) Files() (n int, length int64) {
	if w.file == nil {
		return len(w.closed), w.total
	}
	return len(w.closed) + 1, w.total + w.length + w.buffer
}

// Start begins the recording with the state of a moment. The state belongs to the writer from
// then on.
func (w *Writer) Start(state *State, at time.Time) error {
	w.state = state
	var gap *Record
	if !w.earlier.IsZero() {
		gap = &Record{Kind: Gap, At: at, After: w.earlier, Why: "the recorder did not run"}
	}
	return w.beginFile(at, gap)
}

// Append writes records, and begins the next file when the present one is full.
func (w *Writer) Append(records ...*Record) error {
	for _, r := range records {
		line, err := encodeLine(w.spare[:0], r)
		w.spare = nil // rotate writes lines, too
		if err != nil {
			return err
		}
		if err := w.rotate(int64(len(line)), r.At); err != nil {
			return err
		}
		if err := w.writeLine(line); err != nil {
			return err
		}
		w.spare = line
		w.last = later(w.last, r.At)
		w.state.apply(r)
	}
	return nil
}

// rotate begins the next file if n more bytes could exceed the limit of the present one.
func (w *Writer) rotate(n int64, at time.Time) error {
	if w.length+w.buffer+n+endSize <= w.limit {
		return nil
	}
	if err := w.Flush(); err != nil { // compressed, the file is shorter
		return err
	}
	if w.length+n+endSize <= w.limit {
		return nil
	}
	if err := w.finishFile("the file is full"); err != nil {
		return err
	}
	return w.beginFile(at, nil)
}

// endSize is more than the last record and the end of the stream take.
const endSize = 512

// Flush writes everything to the disk.
func (w *Writer) Flush() error {
	if w.file == nil || w.buffer == 0 {
		return nil
	}
	err := w.zip.Flush()
	if err == nil {
		err = w.sync(w.file)
	}
	if err == nil {
		err = w.measure()
	}
	return w.explain(err)
}

// measure finds the length of the file after a flush.
func (w *Writer) measure() error {
	info, err := w.file.Stat()
	if err == nil {
		w.length, w.buffer, w.reached = info.Size(), 0, w.last
	}
	return err
}

// Close ends the recording: the last record says why.
func (w *Writer) Close(why string) error {
	var err error
	if w.file != nil {
		err = w.finishFile(why)
	}
	return errors.Join(err, w.explain(w.lock.Close()))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (w *Writer) explain(err error) error {
	if err == nil {
		return nil
	}
	if isFull(err) && !errors.Is(err, ErrFull) {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("recording: write %s: %w", filepath.Join(w.dir, nameOf(w.number)), err)
}
