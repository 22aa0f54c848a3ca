package ui

import (
	"context"
	"time"
)

// Await waits until the tree has been read and, with an Auditor, the servers have been
// asked, and returns the view. Run must be running.
func (m *Model) Await(ctx context.Context) (*View, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if m.health().Loaded { // to look before would be wasted
			if v := m.View(); v.Health.Loaded && (m.Auditor == nil || !v.Audit.At.IsZero()) {
				return v, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
