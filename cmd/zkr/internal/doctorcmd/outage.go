package doctorcmd

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// untilOutage calls do with a context that ends when client has had no connection for limit:
// servers that go away meanwhile would otherwise keep zkr from showing what it has seen.
func untilOutage(ctx context.Context, client *session.Client, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	// Waited for above; ends with ctx, or when the client is closed.
	watching.Go(func() {
		outage := time.AfterFunc(limit, func() { cancel(fmt.Errorf("no connection for %v", limit)) })
		defer outage.Stop()
		connected := false
		for state, err := range client.States(ctx) {
			switch {
			case err != nil:
				return
			case state.Status == session.Connected:
				outage.Stop()
			case connected:
				outage.Reset(limit)
			}
			connected = state.Status == session.Connected
		}
	})
	err := do(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
