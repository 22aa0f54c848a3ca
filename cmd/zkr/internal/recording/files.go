package recording

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// beginFile begins the next file with the present state. If that fails, there is no such file.
func (w *Writer) beginFile(at time.Time, gap *Record) error {
	w.number++
	path := filepath.Join(w.dir, nameOf(w.number))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		err = w.explain(err)
		w.number--
		return err
	}
	reached := w.reached
	if w.begun = reached; reached.IsZero() {
		w.begun = at
	}
	w.file, w.zip, w.length, w.buffer, w.limit = file, gzip.NewWriter(output{file, w.o.Write}), 0, 0, w.o.MaxFile
	if err = w.writeState(at, gap); err == nil {
		return nil
	}
	_ = file.Close()
	_ = os.Remove(path) // a part of a state is of no use
	w.file, w.length, w.buffer, w.reached = nil, 0, 0, reached
	w.number--
	return err
}

// output writes to a file.
type output struct {
	file  *os.File
	write func(*os.File, []byte) (int, error)
}

func (o output) Write(b []byte) (int, error) { return o.write(o.file, b) }

// writeState writes the beginning of a file.
func (w *Writer) writeState(at time.Time, gap *Record) error {
	if err := w.writeRecord(&Record{Kind: Begin, At: at, Version: formatVersion, Root: w.root}); err != nil {
		return err
	}
	if gap != nil {
		if err := w.writeRecord(gap); err != nil {
			return err
		}
	}
	for z := range w.state.all() {
		if err := w.writeRecord(z.record(Node, at, time.Time{})); err != nil {
			return err
		}
		if w.buffer > w.o.MaxFile/2 {
			if err := w.makeRoom(); err != nil {
				return err
			}
		}
	}
	if err := w.writeRecord(&Record{Kind: Ready, At: at}); err != nil {
		return err
	}
	if err := w.makeRoom(); err != nil {
		return err
	}
	// A file has room for changes, however large the state is.
	w.limit = max(w.o.MaxFile, 2*w.length)
	if err := w.makeRoom(); err != nil {
		return err
	}
	if err := w.explain(w.syncFolder()); err != nil {
		return err
	}
	w.last = later(w.last, at)
	w.reached = w.last
	return nil
}

// makeRoom flushes the file, and removes the oldest files until there is room for all of it.
func (w *Writer) makeRoom() error {
	if err := w.Flush(); err != nil {
		return err
	}
	for w.total+max(w.limit, w.length) > w.o.MaxTotal {
		if len(w.closed) == 0 {
			return fmt.Errorf("recording: write %s: %w: %d bytes are too few for %d znodes", w.dir, ErrTooSmall, w.o.MaxTotal, w.state.Len())
		}
		oldest := w.closed[0]
		if err := os.Remove(oldest.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("recording: remove: %w", err)
		}
		w.closed, w.total = w.closed[1:], w.total-oldest.Size
	}
	return nil
}

// writeRecord writes a record without a change of the state.
func (w *Writer) writeRecord(r *Record) error {
	line, err := encodeLine(w.spare[:0], r)
	if err != nil {
		return err
	}
	w.spare = line
	return w.writeLine(line)
}

func (w *Writer) writeLine(line []byte) error {
	_, err := w.zip.Write(line)
	w.buffer += int64(len(line)) + flushSize
	return w.explain(err)
}

// flushSize is more than a flush adds to the length of a file, per record.
const flushSize = 16

// finishFile ends the present file.
func (w *Writer) finishFile(why string) error {
	err := w.writeRecord(&Record{Kind: End, At: w.last, Why: why})
	if err == nil {
		err = w.explain(w.zip.Close())
	}
	if err == nil {
		err = w.explain(w.sync(w.file))
	}
	if err == nil {
		err = w.explain(w.measure())
	}
	if err != nil {
		w.cutTail()
	}
	path := w.file.Name()
	err = errors.Join(err, w.explain(w.file.Close()))
	w.closed, w.total, w.file = append(w.closed, File{Path: path, Number: w.number, Size: w.length}), w.total+w.length, nil
	w.length, w.buffer = 0, 0
	return err
}

// syncFolder makes sure that the names of new files are on the disk.
func (w *Writer) syncFolder() error {
	f, err := os.Open(w.dir)
	if err != nil {
		return err
	}
	_ = w.sync(f) // not all systems can do this
	return f.Close()
}

// ending is where files end: the root and the last moment, or zero values.
type ending struct {
	root string
	at   time.Time
}

// lastOf returns the end of files. A damaged file counts up to the damage.
func lastOf(files []File) (ending, error) {
	for _, file := range slices.Backward(files) {
		end, err := endingOf(file.Path)
		if err != nil || !end.at.IsZero() {
			return end, err
		}
	}
	return ending{}, nil
}

func endingOf(path string) (end ending, err error) {
	f, err := os.Open(path)
	if err != nil {
		return end, err
	}
	defer f.Close()
	l, whole := newLines(f, path), false
	for {
		r, err := l.next()
		switch {
		case errors.As(err, new(*fs.PathError)):
			return end, err
		case err != nil && !whole: // the state at the beginning is damaged
			return ending{}, nil
		case err != nil:
			return end, nil
		}
		whole = whole || r.Kind == Ready
		end.root, end.at = cmp.Or(r.Root, end.root), later(end.at, r.At)
	}
}
