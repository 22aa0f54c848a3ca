// Package mailbox hands events to the goroutine that owns a state.
package mailbox

import "sync"

// Mailbox has events in the order in which they were posted. The number of posts must be
// bounded by the number of actions in progress: a mailbox has no limit.
type Mailbox[T any] struct {
	ready chan struct{} // cap 1: posts is not empty, unless the owner has taken the element

	// mu guards posts, in their order, and the sends on ready.
	mu    sync.Mutex
	posts []T
}

// New makes an empty mailbox.
func New[T any]() *Mailbox[T] { return &Mailbox[T]{ready: make(chan struct{}, 1)} }

// Post adds events, and never blocks.
func (b *Mailbox[T]) Post(v ...T) {
	if len(v) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posts = append(b.posts, v...)
	select {
	case b.ready <- struct{}{}:
	default: // the owner has not taken the posts yet
	}
}

// Ready has an element if there is something to take, and the owner has not received the
// element. After a Take it has none before the next Post: an owner that sends a request
// whenever there is an element sends none for nothing.
func (b *Mailbox[T]) Ready() <-chan struct{} { return b.ready }

// Take returns the events that were posted since the last call.
func (b *Mailbox[T]) Take() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.ready: // for posts that came after the owner's receive
	default:
	}
	out := b.posts
	b.posts = nil
	return out
}
