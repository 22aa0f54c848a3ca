package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// keyGrace is how long the key of a period that is over is kept: a client whose knowledge of
// the servers' time is behind must not find a key of its period missing. A client is behind
// by the time that a reply has taken, and that its machine was suspended since, in one session:
// its session timeout bounds both.
const keyGrace = time.Hour

// sweepKeys deletes keys of a bucket that are free, at most as many as are read together, and
// returns how many it has found. It reads the keys first, and their tasks then, in the same
// session: a task that is not there has ended. Each deletion also sets the bucket: a client that
// has read the key before does not mistake the next znode of the key for it.
func (t *mastership) sweepKeys(ctx context.Context, n int) (found int, err error) {
	r := newReading(ctx, t.s)
	dir := t.at(uniqueDir, bucketName(n))
	paths := pathsOf(r.List(dir), func(name string) string { return dir + "/" + name })
	nodes := r.GetAll(paths...)
	keys, tasks := make([]uniqueKey, len(nodes)), []string{}
	for i, node := range nodes {
		if keys[i], err = t.decodeKey(paths[i], node.Data); err == nil && keys[i].Until.IsZero() {
			tasks = append(tasks, t.taskPath(keys[i].Task))
		}
	}
	read := map[string]session.Seen{}
	for i, node := range r.GetAll(tasks...) {
		read[tasks[i]] = node
	}
	if r.Err != nil {
		return 0, r.Err
	}
	var deletes []func(tx *stm.Tx) error
	for i, node := range nodes {
		if len(deletes) < together && node.Exists && keys[i].Key != "" && t.isFree(keys[i], read) {
			known := stm.Node{Path: paths[i], Exists: true, Data: node.Data, Stat: node.Stat}
			deletes = append(deletes, func(tx *stm.Tx) error {
				return errors.Join(tx.Assume(known), ifUnchanged(tx, known), tx.Set(dir, nil), tx.Delete(known.Path))
			})
		}
	}
	return len(deletes), t.applyEach(ctx, deletes)
}

// isFree reports whether no submission needs the key any more. tasks are those of keys
// without a period. A task that cannot be read may have its key.
func (t *mastership) isFree(k uniqueKey, tasks map[string]session.Seen) bool {
	if !k.Until.IsZero() {
		return t.clock.now().After(k.Until.Add(keyGrace))
	}
	path := t.taskPath(k.Task)
	task, err := t.decodeSeen(path, tasks[path])
	return err == nil && (task == nil || task.Run != k.Run || task.State.Finished())
}
