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

// encodeShard makes the record and its chunks. old are the fields to keep of the shard
// that is replaced.
func encodeShard(s core.Shard, epoch int64, old versioned.Kept) (record []byte, chunks [][]byte) {
	parts := slices.Collect(batches.Of(s.Resources, len(s.Resources), shareformat.MaxChunk, func(name string) int { return len(encode(name)) + 1 }))
	first := []string{}
	if len(parts) > 0 {
		first, parts = parts[0], parts[1:]
	}
	for _, part := range parts {
		chunks = append(chunks, encode(part))
	}
	return encode(&shardRecord{
		Format: format, Client: s.Client, Generation: s.Generation, Epoch: epoch,
		Count: len(s.Resources), Chunks: len(chunks), Resources: first, Kept: old,
	}), chunks
}

// errMoved: the shard was written again while it was read.
var errMoved = errors.New("it was changed while it was read")

// readShard makes a shard from its node's data and its chunks, which it reads. It fails with
// errMoved if the next generation has replaced the chunks. The record tells the claimed
// contents, also of a shard that cannot be read otherwise.
func (p *memberNode) readShard(ctx context.Context, key string, data []byte) (core.Shard, shardRecord, error) {
	path := p.at.shardPath(key)
	r, err := decode[shardRecord](path, data)
	if err != nil {
		return core.Shard{}, r, err
	}
	s := core.Shard{Client: r.Client, Generation: r.Generation, Resources: r.Resources}
	chunks := make([]string, r.Chunks)
	for i := range chunks {
		chunks[i] = p.at.chunkPath(key, r.Generation, i)
	}
	missing, broken := false, false
	err = p.readAll(ctx, chunks, asPath, func(_ string, seen session.Seen) {
		names, err := shareformat.DecodeChunk(seen.Data)
		missing = missing || !seen.Exists
		broken = broken || seen.Exists && err != nil
		s.Resources = append(s.Resources, names...)
	})
	switch {
	case err != nil:
		return core.Shard{}, r, err
	case missing:
		return core.Shard{}, r, errMoved
	case broken:
		return core.Shard{}, r, fmt.Errorf("%w: a child of %s is not a list of names", ErrRecord, path)
	}
	if err := r.CheckResources(s.Resources); err != nil {
		return core.Shard{}, r, fmt.Errorf("%w: shard %s: %w", ErrRecord, path, err)
	}
	return s, r, nil
}

// asPath is for names that are paths.
func asPath(path string) string { return path }
