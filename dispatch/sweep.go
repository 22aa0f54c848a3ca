package dispatch

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// A task that is deleted by hand leaves its payload and its result behind. The master
// inspects one of the 256 buckets every 20 s, and the next bucket a second later while
// it finds such leftovers.

const (
	sweepEvery = 20 * time.Second
	sweepSoon  = time.Second
)

// sweepStrays deletes payloads and results of the next bucket that belong to no task.
func (t *mastership) sweepStrays(ctx context.Context) error {
	if time.Now().Before(t.sweepAt) {
		return nil
	}
	n := int((t.l.Token() + t.swept) % buckets) // each master begins with another one
	found := 0
	err := t.retryInSession(ctx, func() (err error) {
		if found, err = t.sweepBucket(ctx, n); err == nil && t.hasKeys {
			var keys int
			keys, err = t.sweepKeys(ctx, n)
			found = max(found, keys)
		}
		return err
	})
	t.sweepAt = time.Now().Add(sweepEvery)
	if found > 0 {
		t.sweepAt = time.Now().Add(sweepSoon)
	}
	if found < together {
		t.swept++
	}
	return err
}

// sweepBucket deletes at most as many as are read together, and returns how many it has
// found. It lists the parts first, and reads the tasks then, in the same session: so a
// task that is not there, or is of another run, had been removed before, and its run never
// comes back.
func (t *mastership) sweepBucket(ctx context.Context, n int) (found int, err error) {
	r := newReading(ctx, t.s)
	folders := r.ListAll(t.at(dataDir, bucketName(n)), t.at(resultsDir, bucketName(n)))
	strays := t.strayParts(n, folders[0].Children, folders[1].Children)
	tasks := r.GetAll(pathsOf(strays, t.taskOf)...)
	if r.Err != nil {
		return 0, r.Err
	}
	var deletes []func(tx *stm.Tx) error
	for i, path := range strays {
		if f := t.deleteStray(tasks[i], path); f != nil {
			deletes = append(deletes, f)
		}
	}
	return len(deletes), t.applyEach(ctx, deletes)
}

// strayParts are the paths of payloads and results that belong to no task on the scheduler.
func (t *mastership) strayParts(n int, payloads, results []string) (strays []string) {
	if len(payloads)+len(results) == 0 {
		return nil
	}
	runs, hashes := map[string]string{}, map[string]uint64{}
	t.mu.Lock()
	for id, e := range t.scheduler.tasks {
		if bucketNumber(id) == n {
			runs[session.EscapeName(id)] = e.Run
		}
	}
	for id, it := range t.scheduler.backlog.items {
		if bucketNumber(id) == n {
			hashes[session.EscapeName(id)] = it.run
		}
	}
	t.mu.Unlock()
	for _, name := range payloads {
		task, run, _ := strings.Cut(name, partMark)
		hash, waits := hashes[task]
		if known, there := runs[task]; (!there || known != run) && (!waits || hash != hashRun(run)) {
			strays = append(strays, t.at(dataDir, bucketName(n), name))
		}
	}
	for _, name := range results {
		if _, there := runs[name]; !there {
			strays = append(strays, t.at(resultsDir, bucketName(n), name))
		}
	}
	return strays[:min(len(strays), together)]
}

// deleteStray deletes a payload or a result, unless it has a task, as was read; nil if it
// has, or may have.
func (t *mastership) deleteStray(read session.Seen, path string) func(tx *stm.Tx) error {
	task, err := t.decodeSeen(t.taskOf(path), read)
	_, run, payload := strings.Cut(znode.Base(path), partMark)
	switch {
	case err != nil:
		return nil // it may be its task
	case payload && (task == nil || task.Run != run):
		return func(tx *stm.Tx) error { return tx.Delete(path) }
	case payload || task != nil:
		return nil
	}
	return t.deletePart(path)
}

// deletePart deletes a payload, or a result, as long as there is no task of its name:
// another task of this id may have come, and ended, meanwhile.
func (l layout) deletePart(path string) func(tx *stm.Tx) error {
	return func(tx *stm.Tx) error {
		task := stm.Node{Path: l.taskOf(path)}
		return errors.Join(tx.Assume(task), ifUnchanged(tx, task), tx.Delete(path))
	}
}

// applyEach applies independent transactions concurrently. A transaction whose znodes have
// changed meanwhile, or must not be changed, is skipped.
func (t *mastership) applyEach(ctx context.Context, list []func(tx *stm.Tx) error) error {
	var all sync.WaitGroup
	errs := make([]error, len(list))
	for i, f := range list {
		// Waited for below; ends with the transaction, or with ctx.
		all.Go(func() { errs[i] = t.applyGuarded(ctx, f) })
	}
	all.Wait()
	for i, err := range errs {
		if !t.isDeposed(err) && (isConflict(err) || errors.Is(err, session.ErrNoAuth)) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}
