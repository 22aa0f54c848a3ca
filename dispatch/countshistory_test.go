package dispatch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// At quiet moments of random histories the published counts are those of a full count, also
// with records that cannot be read, and over changes of the master.
func TestPublishedCountsAreThoseOfAFullCount(t *testing.T) {
	for _, seed := range world.SeedList(t, world.Seeds(8)) {
		inWorld(t, nil, func(w *World) {
			r := rand.New(rand.NewPCG(seed, 7))
			h := &countsHistory{World: w, q: w.queue(), r: r, workers: map[int]*role{}}
			h.masters = []*role{w.master(nil), w.master(nil)}
			for range 12 {
				for range 1 + r.IntN(12) {
					h.step()
					w.Pass(time.Duration(r.IntN(300)) * time.Millisecond)
				}
				w.Pass(5 * time.Second)
				fast := w.published(h.q)
				require.NoError(w, w.Server.Delete(countsPath))
				slow := w.counted(h.q)
				fast.Published = time.Time{}
				require.Equal(w, slow, fast, "seed %d", seed)
				// The master does not know yet that the record is missing.
				h.submit()
				w.Pass(2 * time.Second)
			}
		})
	}
}

// countsHistory is a random history of a queue.
type countsHistory struct {
	*World
	q       *dispatch.Queue
	r       *rand.Rand
	n       int
	masters []*role
	workers map[int]*role
}

func (h *countsHistory) submit() {
	labels := [][]string{nil, {"a"}, {"b"}, {"a", "b"}}[h.r.IntN(4)]
	h.n++
	h.World.submit(h.q, dispatch.Task{
		ID: fmt.Sprint(h.n), Labels: labels, Delay: time.Duration(h.r.IntN(2)) * time.Hour, MaxAttempts: 1 + h.r.IntN(2),
		Payload: []byte([]string{"ok", "dead", "20m"}[h.r.IntN(3)]), Retention: time.Duration(1+h.r.IntN(100)) * time.Second,
	})
}

// step makes a random change. A call about a task that is gone, or in another state, changes
// nothing.
func (h *countsHistory) step() {
	ctx := h.Within(time.Minute)
	id := fmt.Sprint(1 + h.r.IntN(h.n+1))
	switch h.r.IntN(9) {
	default:
		h.submit()
	case 0:
		_ = h.q.Cancel(ctx, id)
	case 1:
		_ = h.q.Requeue(ctx, id)
	case 2:
		_ = h.q.Remove(ctx, id)
	case 3, 4:
		at := h.r.IntN(3)
		if k := h.workers[at]; k != nil {
			_ = k.end()
			delete(h.workers, at)
			return
		}
		labels := [][]string{nil, {"a"}, {"a", "b"}}[at]
		h.workers[at] = h.worker(asTold, &dispatch.WorkerOptions{Concurrency: 2, Labels: labels})
	case 5:
		require.NoError(h, h.masters[0].end())
		h.masters = []*role{h.masters[1], h.master(nil)}
	case 6:
		h.spoil()
	}
}

// spoil overwrites the record of a task that waits, or writes one that never was a task.
func (h *countsHistory) spoil() {
	data := []byte([]string{"garbage", `{"format":2}`}[h.r.IntN(2)])
	if h.r.IntN(2) == 0 {
		for _, bucket := range h.Children(path + "/tasks") {
			_ = h.Server.Create(path+"/tasks/"+bucket+"/stranger", data) // may exist
			return
		}
	}
	waiting, err := h.q.List(context.WithoutCancel(h.Ctx), "waiting")
	require.NoError(h, err)
	for _, t := range waiting {
		for _, bucket := range h.Children(path + "/tasks") {
			if t.Err == nil && slices.Contains(h.Children(path+"/tasks/"+bucket), t.ID) {
				_ = h.Server.Set(path+"/tasks/"+bucket+"/"+t.ID, data)
				return
			}
		}
	}
}
