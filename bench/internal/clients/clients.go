// Package clients connects and closes many clients.
package clients

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
	"golang.org/x/sync/errgroup"
)

// AtOnce is how many sessions are made, or closed, at a time.
const AtOnce = 64

// Connect connects n clients, and calls then with each; then may be nil. After an error,
// the clients that were connected are among the result.
func Connect(ctx context.Context, n int, servers string, o *session.Options, then func(ctx context.Context, i int, c *session.Client) error) ([]*session.Client, error) {
	out := make([]*session.Client, n)
	connecting, ctx := errgroup.WithContext(ctx)
	connecting.SetLimit(AtOnce)
	for i := range out {
		// Waited for below; ends with ctx.
		connecting.Go(func() (err error) {
			if out[i], err = session.Connect(ctx, servers, o); err != nil || then == nil {
				return err
			}
			return then(ctx, i, out[i])
		})
	}
	return out, connecting.Wait()
}

// Close closes clients, of which some may be nil, also after the end of ctx.
func Close(ctx context.Context, clients []*session.Client) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var closing errgroup.Group
	closing.SetLimit(AtOnce)
	for _, c := range clients {
		if c != nil {
			// Waited for below; ends with ctx.
			closing.Go(func() error { return c.Close(ctx) })
		}
	}
	return closing.Wait()
}
