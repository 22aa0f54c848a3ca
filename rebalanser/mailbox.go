package rebalanser

import "sync"

// mailbox hands what has happened to the goroutine that owns a state. To post never
// blocks: what is in it is bounded by what is under way.
type mailbox[T any] struct {
	ready chan struct{} // has an element if there is something to take

	// mu guards posts, in their order.
	mu    sync.Mutex
	posts []T
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{ready: make(chan struct{}, 1)} }

func (b *mailbox[T]) post(v ...T) {
	b.mu.Lock()
	b.posts = append(b.posts, v...)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default: // whoever is to take it has not looked since
	}
}

// take returns what was posted since the last time.
func (b *mailbox[T]) take() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.posts
	b.posts = nil
	return out
}
