package dispatch

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// readCombiner sends the reads of concurrent calls together. A read that finds few requests
// in flight is sent at once; later reads wait for a reply, and then travel as one request.
// If a request fails as a whole, each of its calls reads by itself.
type readCombiner struct {
	// mu guards the fields below: the number of requests without a reply, the reads that
	// wait for a request, and how many reads the next request has at most.
	mu     sync.Mutex
	flying int
	queue  []*combinedRead
	size   optimistic.BatchSize
}

// combinedRead is a read of a readCombiner.
type combinedRead struct {
	s    *session.Session
	path string
	// The reply, written before done is closed. alone: there is none, and the caller must
	// read by itself.
	done  chan struct{}
	seen  session.Seen
	err   error
	alone bool
}

// readsFlying is how many requests of a readCombiner are in flight.
const readsFlying = 2

// get reads the data of a znode in s. A missing znode is not an error.
func (c *readCombiner) get(ctx context.Context, s *session.Session, path string) (session.Seen, error) {
	if ctx.Err() == nil {
		m := &combinedRead{s: s, path: path, done: make(chan struct{})}
		c.mu.Lock()
		c.queue = append(c.queue, m)
		c.mu.Unlock()
		runtime.Gosched() // goroutines that were woken up together read together
		c.sendQueue()
		if await.Closed(ctx, m.done) == nil && !m.alone {
			return m.seen, m.err
		}
	}
	// A call whose ctx has ended gets its error here.
	r := newReading(ctx, s)
	return r.Get(path), r.Err
}

// sendQueue sends as many requests as may be in flight.
func (c *readCombiner) sendQueue() {
	for batch := c.takeBatch(); batch != nil; batch = c.takeBatch() {
		paths := make([]string, len(batch))
		for i, m := range batch {
			paths[i] = m.path
		}
		optimistic.StartReads(batch[0].s, paths, func(results []session.Result, err error) { c.onReply(batch, results, err) })
	}
}

// takeBatch takes the reads of the next request out of the queue; nil if none is to be sent
// now.
func (c *readCombiner) takeBatch() []*combinedRead {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flying >= readsFlying || len(c.queue) == 0 {
		return nil
	}
	n := 1
	for n < min(len(c.queue), c.size.Next()) && c.queue[n].s == c.queue[0].s {
		n++
	}
	batch := slices.Clone(c.queue[:n])
	c.queue = slices.Delete(c.queue, 0, n)
	c.flying++
	return batch
}

// onReply hands out the reply to a request, and sends the next one.
func (c *readCombiner) onReply(batch []*combinedRead, results []session.Result, err error) {
	c.mu.Lock()
	c.flying--
	c.size.Learn(len(batch) > 1, results, err)
	c.mu.Unlock()
	for i, m := range batch {
		switch {
		case err != nil:
			m.alone = true
		case results[i].Err == nil:
			m.seen = session.Seen{Exists: true, Data: results[i].Data, Stat: results[i].Stat}
		case !errors.Is(results[i].Err, session.ErrNoNode):
			m.err = results[i].Err
		}
		close(m.done)
	}
	c.sendQueue()
}

// getTogether is r.Get, with other reads of the store at the same time in one request.
func (st *store) getTogether(r *optimistic.Reading, path string) (seen session.Seen) {
	if r.Err == nil {
		seen, r.Err = st.reads.get(r.Ctx, r.Session, path)
	}
	return seen
}
