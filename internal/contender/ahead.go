package contender

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Ahead asks how many contenders are ahead of c, in the queue or outside. Any goroutine may
// call it, also while another one waits. It fails with ErrGone if another client has deleted
// the node.
func (c *Contender) Ahead(ctx context.Context) (int, error) {
	for {
		node := c.Node()
		n, found, err := c.findAmong(ctx, node.Path)
		switch {
		case err != nil:
			return 0, err
		case found:
			return n, nil
		}
		// It has moved out of the queue, or into it, and is listed by its other node; or it
		// was deleted.
		_, exists, err := c.s.Exists(ctx, node.Path)
		if err != nil {
			return 0, err
		}
		if !exists && c.Node().Path == node.Path {
			return 0, fmt.Errorf("%s: %w", node.Path, ErrGone)
		}
	}
}

// findAmong lists the contenders, and finds the one with the znode at path.
func (c *Contender) findAmong(ctx context.Context, path string) (ahead int, found bool, err error) {
	if c.spec.Rank != nil {
		paths, err := c.spec.Rank.List(ctx, c.s)
		i := slices.Index(paths, path)
		return i, i >= 0, err
	}
	if path != znode.Join(c.spec.Dir, znode.Base(path)) {
		all, _, err := listTries(ctx, c.s, c.spec.Dir, c.spec.Room.path, c.spec.Markers)
		i := slices.IndexFunc(all, func(l Listed) bool { return l.Node.Path == path })
		if i < 0 {
			return 0, false, err
		}
		ahead = 0
		for _, l := range once(all[:i]) {
			if znode.OwnerOf(l.Name) != znode.OwnerOf(all[i].Name) {
				ahead++
			}
		}
		return ahead, true, err
	}
	children, _, err := c.s.Children(ctx, c.spec.Dir)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return 0, false, err
	}
	q := znode.Parse(children, c.spec.Markers...)
	if q.Exhausted {
		return 0, false, fmt.Errorf("%s: %w", c.spec.Dir, session.ErrSequenceExhausted)
	}
	i := q.Index(znode.Base(path))
	return i, i >= 0, nil
}
