package core

import (
	"context"
	"time"
)

// computed is the step that follows s when its plans are computed at once, as if nothing
// happened meanwhile.
func (c *Coordinator) computed(now time.Time, s Step) Step {
	for s.Plan != nil {
		moves := s.AwaitMoves
		if s = c.Planned(now, s.Plan, s.Plan.Compute(context.Background())); s.AwaitMoves == nil {
			s.AwaitMoves = moves
		}
	}
	return s
}
