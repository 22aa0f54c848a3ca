package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Reached returns the moment up to which the files reach on the disk; zero if there are none.
func (w *Writer) Reached() time.Time { return w.reached }

// Check returns an error that wraps ErrDeleted if another process has deleted, replaced or
// shortened the present file: what is written to such a file is lost. Check makes the file lock
// again if that was deleted, and its error wraps ErrLocked if another recorder has locked it.
func (w *Writer) Check() error {
	if w.file == nil {
		return nil
	}
	own, err := w.file.Stat()
	if err != nil {
		return w.explain(err)
	}
	if w.isReplaced(w.file) || own.Size() < w.length {
		w.reached = w.begun
		return w.explain(ErrDeleted)
	}
	return w.lockAgain()
}

// isReplaced reports whether the name of an open file is no longer that of the file. A folder
// that cannot be read at the moment tells nothing.
func (w *Writer) isReplaced(f *os.File) bool {
	there, err := os.Stat(f.Name())
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	own, err := f.Stat()
	return err == nil && !os.SameFile(own, there)
}

// Suspend gives up the present file after an error that wraps ErrFull or ErrDeleted: the file
// ends where it was last flushed. Resume goes on.
func (w *Writer) Suspend() {
	if w.file == nil {
		return
	}
	w.cutTail()
	_ = w.file.Close()
	w.file, w.length, w.buffer = nil, 0, 0
}

// cutTail cuts what follows the last flush, as far as possible: it is half written.
func (w *Writer) cutTail() {
	if info, err := w.file.Stat(); err == nil && info.Size() > w.length {
		_ = w.file.Truncate(w.length)
	}
}

// Resume begins the next file with the state of a moment, after Suspend. The recording has a
// gap from Reached to this moment, for the reason why. A deleted folder is made again, but not
// the folder that it was in. The state belongs to the writer from then on.
func (w *Writer) Resume(state *State, at time.Time, why string) error {
	w.Suspend()
	w.state = state
	if err := os.Mkdir(w.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return w.explain(err)
	}
	if err := w.lockAgain(); err != nil {
		return err
	}
	var err error
	if w.closed, err = listFiles(w.dir); err != nil {
		return w.explain(err)
	}
	w.countClosed()
	var gap *Record
	if !w.reached.IsZero() {
		gap = &Record{Kind: Gap, At: at, After: w.reached, Why: why}
	}
	return w.beginFile(at, gap)
}

// lockAgain locks the folder again if the file lock was deleted or replaced.
func (w *Writer) lockAgain() error {
	if !w.isReplaced(w.lock) {
		return nil
	}
	file, err := os.OpenFile(filepath.Join(w.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return w.explain(err)
	}
	if err := lockFile(file); err != nil {
		return errors.Join(fmt.Errorf("recording: open %s: %w", w.dir, err), file.Close())
	}
	_ = w.lock.Close() // nothing was written to it
	w.lock = file
	return nil
}
