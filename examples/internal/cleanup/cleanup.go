// Package cleanup removes what an example leaves in ZooKeeper.
package cleanup

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// DeleteTree deletes a znode and everything below it.
func DeleteTree(ctx context.Context, client *session.Client, path string) error {
	s, err := client.Session(ctx)
	if err != nil {
		return err
	}
	names, _, err := s.Children(ctx, path)
	for _, name := range names {
		err = errors.Join(err, DeleteTree(ctx, client, path+"/"+name))
	}
	if err == nil {
		err = s.Delete(ctx, path, -1)
	}
	if errors.Is(err, session.ErrNoNode) {
		return nil // the servers delete empty containers themselves
	}
	return err
}
