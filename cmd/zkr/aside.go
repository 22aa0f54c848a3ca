package main

import (
	"sync"
	"time"
)

// asideLimit is how long zkr waits for somebody to read what it says by the way,
// settleLimit the same when it ends, and mostAside how much it keeps for who reads late.
const (
	asideLimit  = 100 * time.Millisecond
	settleLimit = time.Second
	mostAside   = 1000
)

// aside writes what zkr says by the way, one after the other. A pager or a stopped
// terminal may not read it for hours: what zkr watches over does not wait for that.
type aside struct {
	mu      sync.Mutex // guards the rest
	queue   []remark
	writing chan struct{} // closed when all is written; nil: nothing is to be written
}

type remark struct {
	write func()
	said  chan struct{} // closed when it is written
}

// say has write called when its turn has come, or never if there is too much before it.
// finish waits for a moment until it is done.
func (a *aside) say(write func()) (finish func()) {
	r := remark{write, make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) >= mostAside {
		return func() {}
	}
	a.queue = append(a.queue, r)
	if a.writing == nil {
		a.writing = make(chan struct{})
		// Waited for by settle, for a moment; ends when all is read, or with zkr.
		go a.work(a.writing)
	}
	return func() { await(r.said, asideLimit) }
}

func (a *aside) work(over chan struct{}) {
	defer close(over)
	for r, more := a.next(); more; r, more = a.next() {
		r.write()
		close(r.said)
	}
}

func (a *aside) next() (r remark, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		a.writing = nil
		return remark{}, false
	}
	r, a.queue = a.queue[0], a.queue[1:]
	return r, true
}

// settle waits until all is read, but not long: the process ends.
func (a *aside) settle() {
	a.mu.Lock()
	writing := a.writing
	a.mu.Unlock()
	if writing != nil {
		await(writing, settleLimit)
	}
}

// await waits until done is closed, or for limit.
func await(done <-chan struct{}, limit time.Duration) {
	late, stop := timer(limit)
	defer stop()
	select {
	case <-done:
	case <-late:
	}
}
