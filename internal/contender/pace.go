package contender

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// calm is the shortest duration of an attempt whose end does not count as part of a
// series.
const calm = 10 * time.Second

// Pace keeps a caller whose znodes are deleted again and again from queueing up as
// fast as the network can. The zero value is ready; a Pace is for one goroutine.
type Pace struct {
	began time.Time
	ended int // attempts in a row
}

// Begin notes the beginning of an attempt.
func (p *Pace) Begin() { p.began = time.Now() }

// Pause waits, within ctx and the session's life, before the next attempt: not at
// all after the first attempt ended by a deletion, then by
// [session.Session.BackOff].
func (p *Pace) Pause(ctx context.Context, s *session.Session) {
	if time.Since(p.began) >= calm {
		p.ended = 0
	}
	_ = s.BackOff(ctx, p.ended) // if ctx or the session is over, the next attempt says so
	p.ended++
}
