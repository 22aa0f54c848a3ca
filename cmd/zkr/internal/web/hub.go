package web

import (
	"context"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/await"
)

// maxStreams is how many streams of a hub there are at a time: each costs a
// drawing of its page, up to four times a second.
const maxStreams = 64

// Hub announces changes to any number of readers. The zero Hub is ready. A slow
// reader learns of several changes at once.
type Hub struct {
	// mu guards the fields below: changes are those of version. streams is never
	// more than maxStreams.
	mu      sync.Mutex
	version int64
	changes await.Changes
	streams int
}

// enter takes a place for a stream; false if there is none. The caller calls leave when
// its stream has ended.
func (h *Hub) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams >= maxStreams {
		return false
	}
	h.streams++
	return true
}

// Version is how often something was published.
func (h *Hub) Version() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.version
}

// Streams is the number of streams: of open pages.
func (h *Hub) Streams() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams
}

func (h *Hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
}

// Publish announces a change.
func (h *Hub) Publish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	h.changes.Announce()
}

// Wait waits for a change after version, and returns the version for the next
// call. Wait fails when ctx ends first. A first call with 0 returns at once if
// any change was published before.
func (h *Hub) Wait(ctx context.Context, version int64) (int64, error) {
	for {
		h.mu.Lock()
		now, changed := h.version, h.changes.Next()
		h.mu.Unlock()
		if now > version {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return version, context.Cause(ctx)
		}
	}
}
