package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// batch is a file of output.
type batch struct {
	After string              `json:"after"` // the batch before it; "" for the first
	Token int64               `json:"token"` // of the owner that wrote it
	Lines []line              `json:"lines"`
	State map[string]progress `json:"state"` // of all keys, when it was done: the next owner goes on from there
}

// line is the result of the work on a record.
type line struct {
	Key string `json:"key"`
	progress
}

// head is the record of a partition in ZooKeeper: its last batch, and the offset at
// which the next batch begins.
type head struct {
	Offset int64  `json:"offset"`
	Batch  string `json:"batch"` // "" before the first
}

// errRefused says that a commit was refused: another consumer owns the partition by
// now.
var errRefused = errors.New("refused")

// store is a partition's output.
type store struct {
	client *session.Client
	path   string // of the head
	dir    string
}

func (c settings) store(client *session.Client, partition string) *store {
	return &store{client, c.root + "/heads/" + partition, filepath.Join(c.dir, "out", partition)}
}

// head reads the head, and its version. A new owner's session has taken the partition
// after the owner before had committed last, so it sees all of that.
func (st *store) head(ctx context.Context) (h head, version int32, err error) {
	s, err := st.client.Session(ctx)
	if err != nil {
		return h, 0, err
	}
	data, stat, err := s.Get(ctx, st.path)
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	return h, stat.Version, err
}

// load reads a batch.
func (st *store) load(name string) (b batch, err error) {
	b.State = map[string]progress{}
	if name == "" {
		return b, nil
	}
	data, err := os.ReadFile(filepath.Join(st.dir, name))
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	return b, err
}

// save writes a batch, so that all of it is on the disk before it is committed.
func (st *store) save(name string, b batch) error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(st.dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(st.dir, name))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// commit makes next the head, if that still has the version and the partition has the
// owner r still. If the reply to a commit is lost, the commit may have been made, or
// be in flight: commit then reads the head, and sends exactly the same commit again;
// the first to arrive raises the version, so that the second fails.
func (st *store) commit(ctx context.Context, r *rebalanser.Resource, next head, version int32) error {
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	for {
		s, err := st.client.Session(ctx)
		if err != nil {
			return err
		}
		_, err = s.Txn(ctx, r.Guard(), session.SetOp(st.path, data, version))
		unknown := errors.Is(err, session.ErrUnknownOutcome) || isSessionLost(err)
		refused := errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrNoNode)
		if !unknown && !refused {
			return err
		}
		is, now, err := st.head(ctx)
		switch {
		case isSessionLost(err):
			continue // in the next session
		case err != nil:
			return err
		case is == next:
			return nil
		case refused || now != version:
			return errRefused
		}
	}
}

// isSessionLost reports whether the session was lost, and there will be another one.
func isSessionLost(err error) bool {
	return errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrClosed)
}

// work is a batch in the making.
type work struct {
	batch
	offset int64
}

// newBatch begins a batch behind the head.
func newBatch(h head, state map[string]progress, token int64) *work {
	return &work{batch{After: h.Batch, Token: token, State: maps.Clone(state)}, h.Offset}
}

// add does the work on a record.
func (w *work) add(r record) {
	w.State[r.key] = w.State[r.key].after(r)
	w.Lines = append(w.Lines, line{r.key, w.State[r.key]})
	w.offset += int64(len(r.String()))
}

// name is that of the batch's file: another one for each owner and each offset.
func (w *work) name(from int64) string { return fmt.Sprintf("%08d-%d.json", from, w.Token) }
