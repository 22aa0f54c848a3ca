package zktest

import (
	"container/heap"
	"sync"
	"time"
)

// loop runs callbacks in the order of their due times and, among equals, of
// their registration. No other code of the server uses the clock.
type loop struct {
	mu    *sync.Mutex // the server's; held while a callback runs
	start time.Time
	wake  chan struct{} // capacity 1
	done  chan struct{}
	// queue is guarded by mu.
	queue eventQueue
	seq   int64
	// news returns a function to run, without the lock, before the next
	// callback, or nil. news is called with the lock held.
	news func() func()
}

type event struct {
	due time.Duration
	seq int64
	run func()
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].due < q[j].due || q[i].due == q[j].due && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *eventQueue) Push(x any) { *q = append(*q, x.(event)) }

// Pop implements heap.Interface.
func (q *eventQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func newLoop(mu *sync.Mutex, news func() func()) *loop {
	return &loop{mu: mu, start: time.Now(), wake: make(chan struct{}, 1), done: make(chan struct{}), news: news}
}

// Now implements ensemble.Clock.
func (l *loop) Now() time.Duration { return time.Since(l.start) }

// Wall implements ensemble.Clock.
func (l *loop) Wall() time.Time { return time.Now() }

// After implements ensemble.Clock; mu must be held.
func (l *loop) After(d time.Duration, f func()) {
	l.seq++
	heap.Push(&l.queue, event{l.Now() + d, l.seq, f})
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// runDue runs one callback that is due and returns 0, or returns how long no
// callback will be due.
func (l *loop) runDue() time.Duration {
	l.mu.Lock()
	if tell := l.news(); tell != nil {
		l.mu.Unlock()
		tell()
		return 0
	}
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return time.Hour
	}
	if wait := l.queue[0].due - l.Now(); wait > 0 {
		return wait
	}
	heap.Pop(&l.queue).(event).run()
	return 0
}

// run returns when done is closed.
func (l *loop) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-l.done:
			return
		default:
		}
		wait := l.runDue()
		if wait <= 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-l.done:
			return
		case <-l.wake:
		case <-timer.C:
		}
	}
}
