package dispatch

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/zkrecipes/zkrecipes/stm"
)

// recallTasks asks workers for tasks that they have not begun, while others have nothing to do.
// It takes a read and a write for each of these workers.
func (t *mastership) recallTasks(ctx context.Context) error {
	t.mu.Lock()
	list := t.scheduler.planRecalls(t.clock.now())
	t.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	return t.retryInSession(ctx, func() error { return t.askBack(ctx, list) })
}

// askBack writes the recalls. A recall that cannot be written is left out: a worker that
// has left, or is of a newer version, or whose folder the master may not write, keeps its
// tasks.
func (t *mastership) askBack(ctx context.Context, list []recall) error {
	r := newReading(ctx, t.s)
	paths := make([]string, len(list))
	for i, one := range list {
		paths[i] = t.workerPath(one.worker)
	}
	folders := r.GetAll(paths...)
	var writes []func(tx *stm.Tx) error
	for i, folder := range folders {
		data, err := withRecalled(folder.Data, list[i].serials)
		if !folder.Exists || err != nil {
			continue
		}
		writes = append(writes, func(tx *stm.Tx) error {
			known := stm.Node{Path: paths[i], Exists: true, Data: folder.Data, Stat: folder.Stat}
			return errors.Join(tx.Assume(known), ifUnchanged(tx, known), tx.Set(paths[i], data))
		})
	}
	return errors.Join(r.Err, t.applyEach(ctx, writes))
}

// withRecalled is the data of a worker's folder with other recalls. The fields of a newer
// version stay.
func withRecalled(data []byte, serials []string) ([]byte, error) {
	if _, err := decode[profile](data); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	fields["recalled"] = encode(serials)
	return json.Marshal(fields)
}
