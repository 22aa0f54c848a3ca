package cli

import (
	"sync"
	"time"
)

// Bounds for a slow reader of notes: writeLimit is how long zkr waits for one note,
// flushLimit how long zkr waits for all notes at its end, and maxQueued how many notes
// wait at most.
const (
	writeLimit = 100 * time.Millisecond
	flushLimit = time.Second
	maxQueued  = 1000
)

// asyncWriter writes notes in order. A pager or a stopped terminal may not read notes for
// hours; the commands that zkr supervises do not wait for the reader.
type asyncWriter struct {
	mu      sync.Mutex // guards the rest
	queue   []note
	writing chan struct{} // closed when all is written; nil: nothing is to be written
}

type note struct {
	write func()
	said  chan struct{} // closed when the note is written
}

// Enqueue calls write after all earlier notes, or never if too many notes are queued.
// finish waits for a moment until write has returned.
func (a *asyncWriter) Enqueue(write func()) (finish func()) {
	r := note{write, make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) >= maxQueued {
		return func() {}
	}
	a.queue = append(a.queue, r)
	if a.writing == nil {
		a.writing = make(chan struct{})
		// Waited for by flush, for a moment; ends when all is read, or with zkr.
		go a.writeQueued(a.writing)
	}
	return func() { WaitFor(r.said, writeLimit) }
}

func (a *asyncWriter) writeQueued(over chan struct{}) {
	defer close(over)
	for r, more := a.next(); more; r, more = a.next() {
		r.write()
		close(r.said)
	}
}

func (a *asyncWriter) next() (r note, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		a.writing = nil
		return note{}, false
	}
	r, a.queue = a.queue[0], a.queue[1:]
	return r, true
}

// flush waits a short time until all notes are read: the process ends.
func (a *asyncWriter) flush() {
	a.mu.Lock()
	writing := a.writing
	a.mu.Unlock()
	if writing != nil {
		WaitFor(writing, flushLimit)
	}
}

// WaitFor waits until done is closed, or for limit.
func WaitFor(done <-chan struct{}, limit time.Duration) {
	late, stop := NewTimer(limit)
	defer stop()
	select {
	case <-done:
	case <-late:
	}
}
