package rebalanser

import (
	"context"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
)

// planner computes the coordinator's plans, one at a time, while the coordinator goes on: a
// large group takes seconds, in which the coordinator has to notice that it was deposed or
// that the group was paused, and the member may have to leave.
type planner struct {
	end    context.CancelFunc // of the plan that is computed; nil before the first one
	over   <-chan error       // gets nil when result is computed, or a panic of the assignor
	plan   *core.Plan
	result *core.Result
}

// start computes a plan instead of the plan before.
func (p *planner) start(ctx context.Context, plan *core.Plan) {
	before := p.over
	if p.end != nil {
		p.end()
	}
	ctx, p.end = context.WithCancel(ctx)
	result := &core.Result{}
	p.plan, p.result = plan, result
	p.over = startIsolated("the assignor", func() error {
		if before != nil { // an assignor is called by one goroutine at a time
			if err := <-before; err != nil {
				return err
			}
		}
		if ctx.Err() == nil {
			*result = plan.Compute(ctx)
		}
		return nil
	})
}

// forget forgets the computation that is over.
func (p *planner) forget() {
	p.end()
	p.end, p.over = nil, nil
}

// stop ends the computation, and waits until the assignor has returned.
func (p *planner) stop() {
	if p.end != nil {
		p.end()
		<-p.over //nolint:errcheck // the coordination has ended for another reason
	}
}
