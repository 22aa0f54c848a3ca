package rebalanser

import "time"

// delayCall waits for Options.AssignmentDelay, and reports whether the handler is to be
// told: not if everything is to be given up meanwhile, or is lost.
func (m *member) delayCall(c *call) bool {
	if m.g.opts.AssignmentDelay == 0 {
		return true
	}
	t := time.NewTimer(m.g.opts.AssignmentDelay)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.unwanted:
	case <-m.ctx.Done():
	}
	return false
}

// dropDelay ends the delay of a call for nothing that is wanted.
func (c *call) dropDelay() {
	select {
	case <-c.unwanted:
	default:
		close(c.unwanted)
	}
}

// noteSkipped notes the resources that the handler was not told of: the handler is not
// called about them again.
func (m *member) noteSkipped(c *call) {
	if !c.untold {
		return
	}
	for _, name := range c.names {
		m.untold[name] = true
	}
}
