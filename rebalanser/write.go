package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// put is a node to be written, or deleted.
type put struct {
	path   string
	data   []byte
	exists bool
	remove bool
	check  bool // it must exist, and stays as it is
	tries  int
}

// errNoBase: the base of a shard was deleted by another client.
var errNoBase = errors.New("the base of a shard does not exist")

// writePlan carries a plan out. It writes the parts that do not fit into the shards' nodes
// first, so that a client that reads a shard finds all of its parts; then the shards; then
// it removes the parts of the earlier shards. A small plan is one transaction.
func (c *coordination) writePlan(ctx context.Context, w *core.Write) error {
	next, err := c.putPlan(ctx, w)
	if errors.Is(err, errNoBase) {
		for key := range w.Set {
			was := c.shards.has[key]
			was.base, was.chunks = nil, max(1, was.chunks)
			c.shards.has[key] = was
		}
		next, err = c.putPlan(ctx, w)
	}
	if err != nil {
		return err
	}
	for _, key := range w.Delete {
		delete(c.shards.has, key)
	}
	maps.Copy(c.shards.has, next)
	return nil
}

// putPlan writes the shards of a plan, and returns what is written then.
func (c *coordination) putPlan(ctx context.Context, w *core.Write) (map[string]written, error) {
	var nodes, parts, mains, gone []put
	next, deltas := map[string]written{}, c.members.readDeltas()
	for _, key := range slices.Sorted(maps.Keys(w.Set)) {
		old, exists := c.shards.has[key]
		record, chunks, now := encodeShard(w.Set[key], c.epoch, old, deltas)
		if len(chunks) > 0 && !exists {
			nodes, exists = append(nodes, put{path: c.at.shardPath(key)}), true
		}
		for i, data := range chunks {
			parts = append(parts, put{path: c.at.chunkPath(key, w.Generation, i), data: data})
		}
		if now.base != nil && len(chunks) == 0 {
			for i := range now.chunks {
				mains = append(mains, put{path: c.at.chunkPath(key, now.base.generation, i), check: true})
			}
		}
		mains = append(mains, put{path: c.at.shardPath(key), data: record, exists: exists})
		next[key] = now
	}
	old, err := c.readLeftovers(ctx, w, next)
	if err != nil {
		return nil, err
	}
	for _, key := range w.Delete {
		gone = append(gone, put{path: c.at.shardPath(key), exists: true, remove: true})
	}
	phases := [][]put{nodes, parts, mains, old, gone}
	if all := slices.Concat(phases...); len(slices.Collect(inTxns(all))) <= 1 {
		phases = [][]put{all}
	}
	for _, puts := range phases {
		if err := c.putAll(ctx, puts); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// inTxns divides puts into transactions.
func inTxns(puts []put) iter.Seq[[]put] {
	return batches.Of(puts, batches.MaxOps, batches.MaxTxn, func(p put) int { return len(p.path) + len(p.data) + batches.PerOp })
}

// readLeftovers are the chunks that a plan leaves behind: of earlier generations, of absent members,
// and of coordinators that did not finish.
func (c *coordination) readLeftovers(ctx context.Context, w *core.Write, next map[string]written) ([]put, error) {
	var out []put
	add := func(key string, keep int) error {
		old, known := c.shards.has[key]
		var names []string
		switch {
		case !known || old.chunks == 0 && keep == 0:
		case old.base != nil && old.base.epoch == c.epoch: // no other coordinator has left any
			for i := range old.base.chunks {
				names = append(names, shareformat.ChunkName(old.base.generation, i))
			}
		default:
			var err error
			if names, err = c.list(ctx, c.at.shardPath(key)); err != nil {
				return err
			}
		}
		for i := range keep {
			names = slices.DeleteFunc(names, func(n string) bool { return n == shareformat.ChunkName(w.Generation, i) })
		}
		for _, name := range names {
			out = append(out, put{path: c.at.shardPath(key) + "/" + name, exists: true, remove: true})
		}
		return nil
	}
	for _, key := range w.Delete {
		if err := add(key, 0); err != nil {
			return nil, err
		}
	}
	for key, n := range next {
		if n.base != nil && n.base.generation != w.Generation {
			continue // its children stay
		}
		if err := add(key, n.chunks); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxTries is how often one node is tried differently before it is given up: a lost reply
// takes two tries.
const maxTries = 10

// putAll writes nodes, in transactions that fail once another client coordinates. Until
// then, repeating a write changes nothing. So an unanswered transaction is repeated; a node
// that then turns out to exist is set instead of created, and a missing node is created.
func (c *coordination) putAll(ctx context.Context, puts []put) error {
	return c.s.Retry(ctx, func() error {
		var passed error
		for len(puts) > 0 && passed == nil {
			var rest []put
			parts := slices.Collect(inTxns(puts))
			futures := make([]*session.Future[[]session.Result], len(parts))
			for i, part := range parts {
				futures[i] = c.s.StartTxn(c.putOps(part)...)
			}
			for i, part := range parts {
				_, err := futures[i].Wait(ctx)
				switch at := optimistic.CulpritIndex(err); {
				case err == nil:
					continue
				case at > 0:
					var again bool
					if again, err = c.correctPut(ctx, &part[at-1], err); err != nil {
						return err
					} else if !again {
						part = append(part[:at-1:at-1], part[at:]...)
					}
				case !session.IsConnectionLoss(err):
					return deposedError(err)
				default:
					passed = err
				}
				rest = append(rest, part...)
			}
			puts = rest
		}
		return passed
	})
}

func (c *coordination) putOps(puts []put) []session.Op {
	ops := []session.Op{c.checkEpoch()}
	for _, p := range puts {
		switch {
		case p.check:
			ops = append(ops, session.CheckOp(p.path, -1))
		case p.remove:
			ops = append(ops, session.DeleteOp(p.path, -1))
		case p.exists:
			ops = append(ops, session.SetOp(p.path, p.data, -1))
		default:
			ops = append(ops, session.CreateOp(p.path, p.data, session.Persistent, c.createOptions()))
		}
	}
	return ops
}

// correctPut handles the node that made a transaction fail: it finds out whether the node
// exists, and returns whether to retry.
func (c *coordination) correctPut(ctx context.Context, p *put, err error) (again bool, _ error) {
	if p.tries++; p.tries > maxTries {
		return false, fmt.Errorf("%w: %s changes under the coordinator's hands: %w", ErrRecord, p.path, err)
	}
	switch {
	case p.check && errors.Is(err, session.ErrNoNode):
		return false, errNoBase
	case p.remove && errors.Is(err, session.ErrNoNode):
		return false, nil
	case p.remove && errors.Is(err, session.ErrNotEmpty):
		return true, c.deleteChunks(ctx, p.path)
	case !p.exists && errors.Is(err, session.ErrNodeExists):
		p.exists = true
	case p.exists && errors.Is(err, session.ErrNoNode):
		p.exists = false
	case errors.Is(err, session.ErrNoNode):
		return true, c.s.EnsurePath(ctx, znode.Parent(p.path), session.Persistent, c.createOptions())
	default:
		return false, err
	}
	return true, nil
}

// deleteChunks deletes the children of a shard that the coordinator did not
// know.
func (c *coordination) deleteChunks(ctx context.Context, path string) error {
	names, err := c.list(ctx, path)
	if err != nil {
		return err
	}
	var puts []put
	for _, name := range names {
		puts = append(puts, put{path: path + "/" + name, exists: true, remove: true})
	}
	return c.putAll(ctx, puts)
}
