// Package backoff says how long a writer waits after a lost race: it is for writes on
// condition of a read, without a lock.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// Backoff is the back-off of one writer. Writers that have lost races stand back for a
// random time, so that one writer at a time can rely on the state after its last write,
// and all get their turn. The zero value is ready; a Backoff is not for concurrent use.
//
// Without that each round trip of eight writers is eight transactions and eight
// reads, of which one transaction is carried out; and a writer that reads, and
// writes a round trip later, always loses against one that need not read.
type Backoff struct {
	losses int           // in a row, less after a win
	round  time.Duration // that the last write took which was carried out
}

const (
	// freeTries is how many races are lost before the first pause: after a lost
	// one all know the same, and start alike.
	freeTries = 1
	// rounds is how many round trips the longest first pause has; it grows to
	// growth times as long. Measured with 2, 8 and 32 writers: half as many cost
	// a fifth of the throughput, twice as many gain nothing.
	rounds = 8
	growth = 4
	// shortest and longest bound the longest first pause.
	shortest = 4 * time.Millisecond
	longest  = 20 * time.Millisecond
)

// Contended reports whether others have been writing lately.
func (b *Backoff) Contended() bool { return b.losses > 0 }

// Won is told of each write that was carried out, and how long it took.
func (b *Backoff) Won(took time.Duration) {
	b.losses = min(b.losses/2, freeTries)
	b.round = took
}

// Lost is told of each lost race, and returns how long to wait at most.
func (b *Backoff) Lost() time.Duration {
	b.losses++
	if b.losses <= freeTries {
		return 0
	}
	first := min(max(rounds*b.round, shortest), longest)
	return min(first<<min(b.losses-freeTries-1, growth), growth*first)
}

// Wait waits for a random part of atMost, or until ctx or s ends.
func Wait(ctx context.Context, s *session.Session, atMost time.Duration) {
	if atMost <= 0 {
		return
	}
	t := time.NewTimer(rand.N(atMost))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-s.Context().Done():
	}
}
