package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// shardBase is a list of names in the children of a shard, to which the shard's record has
// the difference.
type shardBase struct {
	generation, epoch int64
	client            string
	names             []string
	chunks            int
}

// isOf reports whether b is the base of a record. A checksum confirms it.
func (b *shardBase) isOf(r *shardRecord) bool {
	return b != nil && r.IsDelta() && b.generation == r.Base && b.epoch == r.BaseEpoch && b.chunks == r.Chunks
}

// minBase is the length of a list of names, as JSON, from which on the list is a base. A
// shorter list is written as a whole after each change.
const minBase = 1 << 10

// maxDelta is how long the difference to a base may be, as a part of the base, before there is a
// new base.
const maxDelta = 8

// written is a shard as the servers have it.
type written struct {
	shard  core.Shard
	chunks int
	kept   versioned.Kept // fields that a newer version has written
	base   *shardBase     // nil: the record has no base that is known
}

// jsonSize is about the length of names in a record.
func jsonSize(names []string) (n int) {
	const quotes = 3
	for _, name := range names {
		n += len(name) + quotes
	}
	return n
}

// encodeShard makes the record and its chunks, as the shard that replaces old. With deltas,
// all members know the format of differences.
func encodeShard(s core.Shard, epoch int64, old written, deltas bool) (record []byte, chunks [][]byte, next written) {
	r := &shardRecord{
		Format: format, Client: s.Client, Generation: s.Generation, Epoch: epoch, Count: len(s.Resources), Resources: []string{}, Kept: old.kept,
	}
	next = written{shard: s, kept: old.kept}
	if size := jsonSize(s.Resources); deltas && size >= minBase {
		r.Format, r.Sum = shareformat.FormatDelta, shareformat.Sum(s.Resources)
		if next.base = old.base; next.base != nil && next.base.client == s.Client {
			added, removed := shareformat.Difference(next.base.names, s.Resources)
			if jsonSize(added)+jsonSize(removed) > size/maxDelta {
				next.base = nil
			} else {
				r.Resources, r.Removed = append(r.Resources, added...), removed
			}
		} else {
			next.base = nil
		}
		if next.base == nil {
			for _, part := range splitNames(s.Resources) {
				chunks = append(chunks, encode(part))
			}
			next.base = &shardBase{s.Generation, epoch, s.Client, s.Resources, len(chunks)}
		}
		r.Base, r.BaseEpoch, r.Chunks = next.base.generation, next.base.epoch, next.base.chunks
		next.chunks = r.Chunks
		return encode(r), chunks, next
	}
	if parts := splitNames(s.Resources); len(parts) > 0 {
		r.Resources = parts[0]
		for _, part := range parts[1:] {
			chunks = append(chunks, encode(part))
		}
	}
	r.Chunks, next.chunks = len(chunks), len(chunks)
	return encode(r), chunks, next
}

// splitNames are names in parts that fit into a znode each.
func splitNames(names []string) [][]string {
	return slices.Collect(batches.Of(names, len(names), shareformat.MaxChunk, func(name string) int { return len(encode(name)) + 1 }))
}

// errMoved: the shard was written again while it was read.
var errMoved = errors.New("it was changed while it was read")

// readShard makes a shard from its node's data and its chunks, which it reads, unless known is
// the base. It fails with errMoved if the next generation has replaced the chunks. The record
// tells the claimed contents, also of a shard that cannot be read otherwise.
func (p *memberNode) readShard(ctx context.Context, key string, data []byte, known *shardBase) (written, shardRecord, error) {
	r, err := decode[shardRecord](p.at.shardPath(key), data)
	if err != nil {
		return written{}, r, err
	}
	if known.isOf(&r) {
		if w, err := p.assembleShard(key, &r, known.names); err == nil {
			return w, r, nil
		} // it is another base of the same generation, which only another client can have written
	}
	var children shardChildren
	if err := p.readAll(ctx, p.chunkPaths(key, &r), asPath, children.add); err != nil {
		return written{}, r, err
	}
	w, err := p.finishShard(key, &r, &children)
	return w, r, err
}

// chunkPaths are the paths of a shard's children.
func (p *memberNode) chunkPaths(key string, r *shardRecord) []string {
	paths := make([]string, r.Chunks)
	for i := range paths {
		paths[i] = p.at.chunkPath(key, r.ChunkGeneration(), i)
	}
	return paths
}

// shardChildren are the children of a shard, as they were read.
type shardChildren struct {
	names           []string
	missing, broken bool
}

func (c *shardChildren) add(_ string, seen session.Seen) {
	names, err := shareformat.DecodeChunk(seen.Data)
	c.missing = c.missing || !seen.Exists
	c.broken = c.broken || seen.Exists && err != nil
	c.names = append(c.names, names...)
}

// finishShard makes a shard from its record and its children.
func (p *memberNode) finishShard(key string, r *shardRecord, c *shardChildren) (written, error) {
	switch {
	case c.missing:
		return written{}, errMoved
	case c.broken:
		return written{}, fmt.Errorf("%w: a child of %s is not a list of names", ErrRecord, p.at.shardPath(key))
	}
	return p.assembleShard(key, r, c.names)
}

func (p *memberNode) assembleShard(key string, r *shardRecord, children []string) (written, error) {
	names := r.Assemble(children)
	if err := r.CheckResources(names); err != nil {
		return written{}, fmt.Errorf("%w: shard %s: %w", ErrRecord, p.at.shardPath(key), err)
	}
	w := written{core.Shard{Client: r.Client, Generation: r.Generation, Resources: names}, r.Chunks, r.Kept, nil}
	if r.IsDelta() {
		w.base = &shardBase{r.Base, r.BaseEpoch, r.Client, children, r.Chunks}
	}
	return w, nil
}

// asPath is for names that are paths.
func asPath(path string) string { return path }
