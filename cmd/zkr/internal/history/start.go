package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// start is where a history begins.
type start struct {
	file string // the snapshot, or empty
	// from is the first transaction to apply, exact the last one that the state needs to be
	// the one of a moment.
	from, exact txnlog.Zxid
	// at is the moment of the first state of a recording, which is exact; otherwise zero.
	at Moment
}

// findStart fills the tree with the oldest state that the logs continue. A snapshot that
// cannot be read is reported, and the next one is tried. Without logs, the newest state counts.
func findStart(ctx context.Context, t *tree, folders []*txnlog.Folder, report func(txnlog.Finding)) (*start, error) {
	var snapshots []txnlog.File
	servers := map[string]string{}
	first, logs := txnlog.Zxid(0), false
	for _, f := range folders {
		for _, s := range f.Snapshots {
			snapshots = append(snapshots, s)
			servers[s.Path] = f.Name
		}
		if len(f.Logs) > 0 && (!logs || f.Logs[0].Zxid < first) {
			first, logs = f.Logs[0].Zxid, true
		}
	}
	slices.SortFunc(snapshots, func(a, b txnlog.File) int {
		return cmp.Or(cmp.Compare(a.Zxid, b.Zxid), cmp.Compare(a.Path, b.Path))
	})
	snapshots = snapshots[firstContinued(snapshots, first):]
	if !logs {
		slices.Reverse(snapshots)
	}
	for _, file := range snapshots {
		*t = *newTree(t.root)
		end, err := load(ctx, t, file.Path)
		if err == nil {
			return &start{file: file.Path, from: file.Zxid + 1, exact: end}, nil
		}
		var damage *txnlog.DamageError
		if !errors.As(err, &damage) {
			return nil, fmt.Errorf("history: %w", err)
		}
		report(txnlog.Finding{Kind: txnlog.Damaged, Server: servers[file.Path], At: []txnlog.Position{damage.At}, Err: err})
	}
	if logs && first.Epoch() <= 1 && first.Counter() == 1 {
		// A standalone server stays in epoch 0, and the first leader has epoch 1.
		t.load(&txnlog.Node{Path: "/", Stat: txnlog.Stat{Ctime: time.UnixMilli(0), Mtime: time.UnixMilli(0)}})
		return &start{}, nil
	}
	return nil, fmt.Errorf("history: %w", ErrNoStart)
}

// firstContinued is the first of the snapshots, in their order, that logs from first on
// continue: transactions after an older snapshot are in no log. A server takes a snapshot
// when it starts; a log that begins an epoch continues the newest one before it.
func firstContinued(snapshots []txnlog.File, first txnlog.Zxid) int {
	i := 0
	for i < len(snapshots) && snapshots[i].Zxid+1 < first {
		i++
	}
	if i > 0 && first.Counter() == 1 {
		i--
	}
	return i
}

// load takes all znodes of a snapshot.
func load(ctx context.Context, t *tree, path string) (txnlog.Zxid, error) {
	s, err := txnlog.OpenSnapshot(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }() // only read
	var n txnlog.Node
	for i := 0; ; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		switch err := s.Next(&n); {
		case errors.Is(err, io.EOF):
			return s.End(), nil
		case err != nil:
			return 0, err
		}
		t.load(&n)
	}
}
