// Package revocation asks the holders of locks to give them back, as Curator's Revoker does: by
// data in the contender's znode. Nothing is taken away.
package revocation

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// Ask asks the contender with the znode at path to give its lock back. The request replaces
// the contender's description, and stays until the znode goes. The error wraps
// session.ErrNoNode if the contender has gone.
func Ask(ctx context.Context, client *session.Client, path string) error {
	return client.Retry(ctx, func(s *session.Session) error {
		_, err := s.Set(ctx, path, []byte(lockformat.RevokeData), -1)
		return err
	})
}

// Await waits until the holder with the znode at path in s is asked to give its lock back, and
// returns nil. It ends with held, the hold's context, with the cause of its end; and with ctx.
func Await(ctx, held context.Context, s *session.Session, path string) error {
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(held, func() { cancel(context.Cause(held)) })()
	for {
		data, _, w, err := s.GetW(both, path)
		switch {
		case err == nil && string(data) == lockformat.RevokeData:
			w.Stop()
			return nil
		case err == nil:
			_, err = w.Wait(both)
			w.Stop()
		}
		if errors.Is(err, session.ErrNoNode) {
			<-both.Done() // the hold learns of the deletion within a heartbeat
			err = context.Cause(both)
		}
		if held.Err() != nil {
			err = context.Cause(held)
		}
		if err != nil {
			return err
		}
	}
}
