package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// written is a shard as the servers have it.
type written struct {
	shard  core.Shard
	chunks int
	kept   versioned.Kept // fields that a newer version has written
}

// shards are the present assignments.
type shards struct {
	p   *memberNode
	has map[string]written
	bad map[string]error // by key: why a shard counts as empty
}

func newShards(p *memberNode) shards {
	return shards{p: p, has: map[string]written{}, bad: map[string]error{}}
}

// coreShards are the shards, for the machine.
func (sh *shards) coreShards() map[string]core.Shard {
	out := map[string]core.Shard{}
	for key, w := range sh.has {
		out[key] = w.shard
	}
	return out
}

// loadShards reads all shards. An invalid shard counts as empty: it will be written again, or
// deleted, unless bad says that it has a newer format.
func (sh *shards) loadShards(ctx context.Context, keys []string) error {
	clear(sh.has)
	clear(sh.bad)
	for part := range batches.OfNames(keys) {
		found := map[string][]byte{}
		err := sh.p.readAll(ctx, part, sh.p.at.shardPath, func(key string, seen session.Seen) {
			if seen.Exists {
				found[key] = seen.Data
			}
		})
		if err != nil {
			return err
		}
		for key, data := range found {
			s, record, err := sh.p.readShard(ctx, key, data)
			chunks := record.Chunks
			switch {
			case err == nil:
			case errors.Is(err, ErrRecord):
				sh.bad[key] = err
				fallthrough
			case errors.Is(err, errMoved):
				chunks = max(1, chunks) // its children are looked for
			default:
				return err
			}
			sh.has[key] = written{s, chunks, record.Kept}
		}
	}
	return nil
}

// put is a node to be written, or deleted.
type put struct {
	path   string
	data   []byte
	exists bool
	remove bool
	tries  int
}

// writePlan carries a plan out. It writes the parts that do not fit into the shards' nodes
// first, so that a client that reads a shard finds all of its parts; then the shards; then
// it removes the parts of the earlier shards.
func (c *coordination) writePlan(ctx context.Context, w *core.Write) error {
	var nodes, parts, mains []put
	next := map[string]written{}
	for _, key := range slices.Sorted(maps.Keys(w.Set)) {
		old, exists := c.shards.has[key]
		record, chunks := encodeShard(w.Set[key], c.epoch, old.kept)
		if len(chunks) > 0 && !exists {
			nodes, exists = append(nodes, put{path: c.at.shardPath(key)}), true
		}
		for i, data := range chunks {
			parts = append(parts, put{path: c.at.chunkPath(key, w.Generation, i), data: data})
		}
		mains = append(mains, put{path: c.at.shardPath(key), data: record, exists: exists})
		next[key] = written{w.Set[key], len(chunks), old.kept}
	}
	for _, puts := range [][]put{nodes, parts, mains} {
		if err := c.putAll(ctx, puts); err != nil {
			return err
		}
	}
	old, err := c.readLeftovers(ctx, w, next)
	if err != nil {
		return err
	}
	var gone []put
	for _, key := range w.Delete {
		gone = append(gone, put{path: c.at.shardPath(key), exists: true, remove: true})
	}
	for _, puts := range [][]put{old, gone} {
		if err := c.putAll(ctx, puts); err != nil {
			return err
		}
	}
	for _, key := range w.Delete {
		delete(c.shards.has, key)
	}
	maps.Copy(c.shards.has, next)
	return nil
}

// readLeftovers are the chunks that a plan leaves behind: of earlier generations, of absent members,
// and of coordinators that did not finish.
func (c *coordination) readLeftovers(ctx context.Context, w *core.Write, next map[string]written) ([]put, error) {
	var out []put
	add := func(key string, keep int) error {
		if c.shards.has[key].chunks == 0 && keep == 0 {
			return nil
		}
		names, err := c.list(ctx, c.at.shardPath(key))
		if err != nil {
			return err
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
			parts := slices.Collect(batches.Of(puts, batches.MaxOps, batches.MaxTxn, func(p put) int { return len(p.path) + len(p.data) + batches.PerOp }))
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
	case p.remove && errors.Is(err, session.ErrNoNode):
		return false, nil
	case p.remove && errors.Is(err, session.ErrNotEmpty):
		return true, c.deleteChunks(ctx, p.path)
	case !p.exists && errors.Is(err, session.ErrNodeExists):
		p.exists = true
	case p.exists && errors.Is(err, session.ErrNoNode):
		p.exists = false
	case errors.Is(err, session.ErrNoNode):
		return true, c.s.EnsurePath(ctx, p.path[:len(p.path)-len(lastElement(p.path))-1], session.Persistent, c.createOptions())
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
