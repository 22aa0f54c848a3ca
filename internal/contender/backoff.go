package contender

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// longAttempt is the shortest duration of an attempt whose end does not count as part of a
// series.
const longAttempt = 10 * time.Second

// Backoff keeps a caller whose znodes are deleted again and again from queueing up as
// fast as the network can. The zero value is ready; a Backoff is for one goroutine.
type Backoff struct {
	began time.Time
	ended int // attempts in a row
}

// Begin notes the beginning of an attempt.
func (b *Backoff) Begin() { b.began = time.Now() }

// Pause waits, within ctx and the session's life, before the next attempt: not at
// all after the first attempt ended by a deletion, then by
// [session.Session.BackOff].
func (b *Backoff) Pause(ctx context.Context, s *session.Session) {
	if time.Since(b.began) >= longAttempt {
		b.ended = 0
	}
	_ = s.BackOff(ctx, b.ended) // if ctx or the session is over, the next attempt says so
	b.ended++
}
