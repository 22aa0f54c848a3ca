package history

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Archive finds the states of a history: of each moment, and after each transaction. Read reads
// all of the history once, and keeps the states of some moments in a bounded memory; State reads
// only the transactions behind one of these.
type Archive struct {
	origin *Origin
	asked  string // root
	bounds bounds
	// turn is held while files are read: by one goroutine at a time.
	turn chan struct{}

	// mu guards reader, which reads everything, and read, whose content does not change.
	mu     sync.Mutex
	reader *Reader
	read   *archived
}

// archived is what an Archive has when everything was read.
type archived struct {
	checkpoints []*checkpoint
	end         int64 // the last transaction
	overview    Overview
}

// Overview tells what an Archive has.
type Overview struct {
	Summary
	// FirstMark and LastMark are the first and the last known state.
	FirstMark, LastMark Mark
	// Earliest and Latest are the least and the greatest known time; zero if none is known.
	Earliest, Latest time.Time
	// Read is when the files were read: a running server may have written on.
	Read time.Time
	// Remarks are the findings about the files, in order, and Omitted is how many more there are.
	Remarks []Remark
	Omitted int
	// Failed is why the files could not be read further; or nil.
	Failed error
}

// ErrNotRead means that Archive.Read has not read everything yet.
var ErrNotRead = errors.New("the files are still being read")

// NewArchive makes an archive of the znodes at and below a root.
func NewArchive(origin *Origin, root string) *Archive {
	return &Archive{origin: origin, asked: root, bounds: keptBounds, turn: make(chan struct{}, 1)}
}

// Read reads all of the history. The error is one of the first state, or the cause of the end of
// ctx; what cannot be read later is told by the overview. Read is called once.
func (a *Archive) Read(ctx context.Context) error {
	a.turn <- struct{}{} // free, as State fails before
	defer func() { <-a.turn }()
	b := &builder{bounds: a.bounds, all: []*checkpoint{newCheckpoint()}}
	b.recorded, b.shared = a.origin.Recording != nil, len(a.origin.Servers) > 1
	began := time.Now()
	r, err := a.origin.Reader(ctx, a.asked, b.options())
	if err != nil && len(b.remarks) > 0 { // as of a damaged snapshot
		return fmt.Errorf("%w (%v)", err, b.remarks[0])
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	a.mu.Lock()
	a.reader = r
	a.mu.Unlock()
	sum, err := r.Run(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	out := &archived{checkpoints: b.finish(), end: b.n, overview: Overview{
		Summary: sum, LastMark: b.mark(), Read: began, Remarks: b.remarks, Omitted: b.omitted, Failed: err,
	}}
	first, last := out.checkpoints[0], out.checkpoints[len(out.checkpoints)-1]
	out.overview.FirstMark, out.overview.Earliest, out.overview.Latest = first.mark(), first.at.Time, later(last.latest, sum.Last.Time)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reader, a.read = nil, out
	return nil
}

// Root is the path at and below which the znodes are known, or wanted while that is not known.
func (a *Archive) Root() string {
	if o, read := a.Overview(); read {
		return o.Root
	}
	return a.asked
}

// Progress is how many bytes of how many have been read by Read.
func (a *Archive) Progress() (done, total int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reader == nil {
		return 0, 0
	}
	return a.reader.Progress()
}

// Overview is false until everything was read.
func (a *Archive) Overview() (Overview, bool) {
	if read := a.whole(); read != nil {
		return read.overview, true
	}
	return Overview{}, false
}

// whole is what Read has read, or nil.
func (a *Archive) whole() *archived {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.read
}

// take takes the turn to read files. The caller calls leave.
func (a *Archive) take(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("history: %w", context.Cause(ctx))
	}
	select {
	case a.turn <- struct{}{}:
		return func() { <-a.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("history: %w", context.Cause(ctx))
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
