package rebalanser

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

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
		if err := sh.loadFound(ctx, found); err != nil {
			return err
		}
	}
	return nil
}

// loadFound reads the children of shards with this data, all together.
func (sh *shards) loadFound(ctx context.Context, found map[string][]byte) error {
	records, children := map[string]*shardRecord{}, map[string]*shardChildren{}
	var paths []string
	of := map[string]string{} // the keys of paths
	for _, key := range sortedKeys(found) {
		r, err := decode[shardRecord](sh.p.at.shardPath(key), found[key])
		if err != nil {
			sh.noteBad(key, &r, err)
			continue
		}
		records[key], children[key] = &r, &shardChildren{}
		for _, path := range sh.p.chunkPaths(key, &r) {
			paths, of[path] = append(paths, path), key
		}
	}
	err := sh.p.readAll(ctx, paths, asPath, func(path string, seen session.Seen) { children[of[path]].add(path, seen) })
	if err != nil {
		return err
	}
	for key, r := range records {
		w, err := sh.p.finishShard(key, r, children[key])
		if err != nil {
			sh.noteBad(key, r, err)
			continue
		}
		sh.has[key] = w
	}
	return nil
}

// noteBad notes a shard that counts as empty: its record is bad, or a child is missing, as
// while another coordinator writes it.
func (sh *shards) noteBad(key string, r *shardRecord, err error) {
	if errors.Is(err, ErrRecord) {
		sh.bad[key] = err
	}
	sh.has[key] = written{chunks: max(1, r.Chunks), kept: r.Kept} // its children are looked for
}
