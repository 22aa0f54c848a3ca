package workerctl

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A wait lists the other waiting workers shortly before its end: a twentieth of its time
// before, at most lastLook. Workers that came together give up together, so after the end
// each worker would report the others as missing. Workers of jobs with more than fewWorkers
// do not list, because each waiting worker would read all others.
const (
	lastLook   = 5 * time.Second
	fewWorkers = 500
)

// lookOut watches the other workers of a wait at place until ctx ends. With
// Options.FailFast it calls end when a worker has died or failed. found returns
// the ids of the workers waiting shortly before the deadline; call found after
// ctx has ended.
func (w *Worker) lookOut(ctx context.Context, place string, end context.CancelCauseFunc) (found func() map[int]bool) {
	var looking sync.WaitGroup
	if w.job.opts.FailFast {
		// found waits for this goroutine; ends with ctx.
		looking.Go(func() { end(w.job.awaitFault(ctx)) })
	}
	var seen map[int]bool
	if deadline, limited := ctx.Deadline(); limited {
		left := time.Until(deadline)
		// found waits for this goroutine; ends with ctx.
		looking.Go(func() {
			timer := time.NewTimer(left - min(lastLook, left/20))
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			st, err := w.job.currentStatus(ctx)
			if err == nil && st.Workers <= fewWorkers {
				seen, _ = w.listWaiting(ctx, place, st) // on failure, the workers waiting at the end count
			}
		})
	}
	return func() map[int]bool {
		looking.Wait()
		return seen
	}
}

// listWaiting returns the ids of the workers waiting at place.
func (w *Worker) listWaiting(ctx context.Context, place string, st status) (map[int]bool, error) {
	parties, err := w.newBarrier(place, st.Workers).Waiting(ctx)
	if err != nil {
		return nil, err
	}
	out := map[int]bool{}
	for _, p := range parties {
		if id, err := parseID(p.ID); err == nil {
			out[id] = true
		}
	}
	return out, nil
}

// findAbsent returns the workers that neither wait now nor waited shortly before.
// This worker, which has just given up, is not among them. A worker that waited
// before, and has died or left since, is absent.
func (w *Worker) findAbsent(ctx context.Context, place string, st status, before map[int]bool) ([]int, error) {
	now, err := w.listWaiting(ctx, place, st)
	if err != nil {
		return nil, err
	}
	var ids, gone []int
	for id := range st.Workers {
		switch {
		case id == w.ID() || now[id]:
		case before[id]:
			gone = append(gone, id)
		default:
			ids = append(ids, id)
		}
	}
	if list, err := w.job.verifyMembers(ctx, gone); err == nil {
		for id, m := range list {
			if m.State != running {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// classifyMissing fills in which of the missing workers have died, failed or left.
func (j *Job) classifyMissing(ctx context.Context, e *MissingError) error {
	list, err := j.verifyMembers(ctx, e.IDs)
	if err != nil {
		return err
	}
	for _, id := range e.IDs {
		switch m, joined := list[id]; {
		case !joined:
		case m.State == dead:
			e.Dead = append(e.Dead, id)
		case m.State == failed:
			e.Failed = append(e.Failed, id)
			if e.Failures == nil {
				e.Failures = map[int]string{}
			}
			e.Failures[id] = m.Failure
		case m.State == left:
			e.Left = append(e.Left, id)
		}
	}
	return nil
}
