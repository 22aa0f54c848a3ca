package dispatch

import (
	"cmp"
	"context"
	"math"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// lookEvery is after how many submissions of its own to a bucket a client looks
// again how many tasks there are.
const lookEvery = 16

// occupancy is a client's knowledge of the number of tasks in each bucket.
type occupancy struct {
	// mu guards the next fields: known is the number of tasks of a bucket when it was
	// last read, and own is how many tasks this client has submitted to it since then.
	// bound is the number of tasks that is too many; asked: some bucket was read.
	mu    sync.Mutex
	known [buckets]int32
	own   [buckets]int32
	bound int32
	asked bool
}

// isBucketFull reports whether the task's bucket has more tasks than a master lets in: the
// master, which closes a queue that is full, is away. The client looks from time to time
// only.
func (q *Queue) isBucketFull(ctx context.Context, s *session.Session, id string) (bool, error) {
	n := bucketNumber(id)
	if !q.occupancy.isRecountDue(n) {
		return false, nil
	}
	r := newReading(ctx, s)
	nodes := r.GetAll(q.at(admissionDir), q.at(tasksDir, bucketOf(id)))
	if r.Err != nil || !nodes[0].Exists {
		return false, r.Err
	}
	l, err := q.decodeLimits(nodes[0].Data)
	if err != nil {
		return false, err
	}
	limit := cmp.Or(l.MaxTasks, q.opts.MaxTasks, defaultMaxTasks)
	return q.occupancy.noteLook(n, nodes[1].Stat.NumChildren, limit), nil
}

// hardBound is how many tasks a bucket has at most: twice its share, since as many that have
// ended are kept as others, the same once more, and some for chance. Even of 100 tasks, no
// bucket has as many by chance in the life of a cluster.
func hardBound(maxTasks int) int32 {
	share := min((maxTasks-1)/buckets+1, math.MaxInt32/4) // a node has no more children
	return int32(3*share + 64)
}

// noteSubmission counts a task of one's own.
func (o *occupancy) noteSubmission(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.own[bucketNumber(id)]++
}

// isRecountDue reports whether the number of tasks in the bucket must be read
// again.
func (o *occupancy) isRecountDue(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.asked || o.own[n] >= lookEvery || o.known[n]+o.own[n] >= o.bound
}

// noteLook notes how many tasks the bucket has, and reports whether it is full.
func (o *occupancy) noteLook(n int, has int32, maxTasks int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked, o.known[n], o.own[n], o.bound = true, has, 0, hardBound(maxTasks)
	return has >= o.bound
}
