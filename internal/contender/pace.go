package contender

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// calm is how long an attempt must have lasted for its end not to count as one of a
// series.
const calm = 10 * time.Second

// Pace keeps a caller whose znodes are deleted again and again from queueing up as fast
// as the network can. The zero value is ready; it is for one goroutine.
type Pace struct {
	began time.Time
	ended int // attempts in a row
}

// Begin notes that an attempt begins.
func (p *Pace) Begin() { p.began = time.Now() }

// Pause waits, within ctx and the session's life, before the next attempt: not at all
// after the first that was ended by a deletion, then by [session.Session.BackOff].
func (p *Pace) Pause(ctx context.Context, s *session.Session) {
	if time.Since(p.began) >= calm {
		p.ended = 0
	}
	_ = s.BackOff(ctx, p.ended) // if ctx or the session is over, the next attempt says so
	p.ended++
}
