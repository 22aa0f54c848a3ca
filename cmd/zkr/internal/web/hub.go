package web

import (
	"context"
	"sync"
)

// maxStreams is how many streams of a hub there are at a time: each costs a
// drawing of its page, up to four times a second.
const maxStreams = 64

// Hub tells any number of readers that something has changed. The zero Hub is
// ready. A reader that is slower than the changes learns of several at once.
type Hub struct {
	// mu guards what follows: changed is closed, and replaced, when version
	// grows; nil until somebody waits. streams is never more than maxStreams.
	mu      sync.Mutex
	version int64
	changed chan struct{}
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

// Streams is how many streams there are: pages that somebody has open.
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

// Publish says that something has changed.
func (h *Hub) Publish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Wait waits until something has changed since version, and returns what to
// pass the next time. It fails when ctx ends first. A reader that passes 0 at first
// learns of all that was published before.
func (h *Hub) Wait(ctx context.Context, version int64) (int64, error) {
	for {
		h.mu.Lock()
		now := h.version
		if h.changed == nil {
			h.changed = make(chan struct{})
		}
		changed := h.changed
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
