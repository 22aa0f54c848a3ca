// Package cleanup removes what an example leaves in ZooKeeper.
package cleanup

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// DeleteTree deletes a znode, if it exists, and everything below it.
func DeleteTree(ctx context.Context, client *session.Client, path string) error {
	return client.Retry(ctx, func(s *session.Session) error {
		if _, err := s.DeleteAll(ctx, path, nil); !errors.Is(err, session.ErrNoNode) {
			return err
		}
		return nil // the servers delete empty containers themselves
	})
}
