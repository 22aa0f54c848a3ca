package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// State is a state of an Archive.
type State struct {
	*recognize.World
	// Mark names the state, and At is its transaction, or the first state.
	Mark Mark
	At   Moment
	// Now is the moment that the state is shown of: the wanted time, or that of At; if both are
	// unknown, that of the newest change.
	Now time.Time
	// Early and Late: the wanted moment is before the first known state, or after the last.
	Early, Late bool
	// Events are the last ones up to the state, and the next ones: from Next on.
	Events []Event
	Next   int
	// Previous is the mark of the last event before the transaction of the state; nil for none.
	Previous *Mark
	// Doubts are the findings that make the state doubtful, and Unseen is the time in which the
	// moment is, and of which nothing was recorded.
	Doubts []Remark
	Unseen *Remark
}

// Following is the mark of the next event; nil for none.
func (s *State) Following() *Mark {
	if s.Next == len(s.Events) {
		return nil
	}
	return &s.Events[s.Next].Mark
}

var (
	// ErrNoOrder means that a recording has no transactions in the order of their zxids.
	ErrNoOrder = errors.New("a recording has no order of zxids: give a moment")
	// ErrChanged means that the files are not as they were when Archive.Read read them.
	ErrChanged = errors.New("the files have changed since they were read: start again")
)

// State finds the state of a mark. The error wraps ErrNotRead, ErrNoOrder or ErrChanged, or is one
// of the file system, or the cause of the end of ctx.
func (a *Archive) State(ctx context.Context, m Mark) (*State, error) {
	read := a.whole()
	switch {
	case read == nil:
		return nil, fmt.Errorf("history: %w", ErrNotRead)
	case a.origin.Recording != nil && m.Time.IsZero():
		return nil, fmt.Errorf("history: %w", ErrNoOrder)
	}
	leave, err := a.take(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	f := read.finder(m)
	folder := a.origin.Recording
	if folder != nil {
		folder = folder.From(f.from().begin.at.File)
	}
	err = a.replay(ctx, f, folder)
	if errors.Is(err, ErrChanged) && folder != nil && len(folder.Files) < len(a.origin.Recording.Files) {
		f = read.finder(m) // the file before has no whole state: read all
		err = a.replay(ctx, f, a.origin.Recording)
	}
	if err != nil {
		return nil, err
	}
	return f.state, nil
}

// replay reads the transactions of a span.
func (a *Archive) replay(ctx context.Context, f *finder, recorded *recording.Folder) error {
	f.reader = newReader(a.asked, f.options())
	f.restore()
	defer func() { _ = f.reader.Close() }() // only read
	if f.from().begin != (spot{}) {
		if err := a.reopen(ctx, f, recorded); err != nil {
			return err
		}
		if _, err := f.reader.Run(ctx); err != nil {
			return err
		}
	}
	return f.finish()
}

// reopen opens the files at the beginning of a span.
func (a *Archive) reopen(ctx context.Context, f *finder, recorded *recording.Folder) (err error) {
	if recorded == nil {
		f.reader.source, err = txnlog.NewMerge(&txnlog.ReadOptions{From: f.from().begin.zxid}, a.origin.Servers...)
		return err
	}
	src := f.reader.readRecording(ctx, recorded)
	f.reader.source = &from{ahead: src, at: f.from().begin.at}
	_, _, err = src.start(f.reader.breaks.load)
	return err
}

// from has the transactions of a recording from a place on.
type from struct {
	*ahead
	at    txnlog.Position
	begun bool
}

func (f *from) Next() (*txnlog.Txn, error) {
	for {
		txn, err := f.ahead.Next()
		if err != nil || f.begun || txn.At == f.at {
			f.begun = true
			return txn, err
		}
	}
}
