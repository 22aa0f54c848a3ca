package rebalanser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// shardRecord is the data of assignments/<key>: what a member is assigned, the first
// part of it if it is much; the rest is in children, each a JSON list of names.
type shardRecord struct {
	Client     string   `json:"client"` // whom it is meant for
	Generation int64    `json:"generation"`
	Epoch      int64    `json:"epoch"`            // of the coordinator that wrote it
	Count      int      `json:"count"`            // how many resources in all
	Chunks     int      `json:"chunks,omitempty"` // how many children
	Resources  []string `json:"resources"`
}

// maxChunk is how long a record of names may be, in bytes. A name alone is shorter.
const maxChunk = 256 << 10

// maxChunks bounds what is read for a record that claims to go on: more than any
// member can own.
const maxChunks = 10_000

// encodeShard makes the record and its chunks.
func encodeShard(s core.Shard, epoch int64) (record []byte, chunks [][]byte) {
	parts := slices.Collect(batches(s.Resources, len(s.Resources), maxChunk, func(name string) int { return len(encode(name)) + 1 }))
	first := []string{}
	if len(parts) > 0 {
		first, parts = parts[0], parts[1:]
	}
	for _, part := range parts {
		chunks = append(chunks, encode(part))
	}
	return encode(shardRecord{
		Client: s.Client, Generation: s.Generation, Epoch: epoch,
		Count: len(s.Resources), Chunks: len(chunks), Resources: first,
	}), chunks
}

// errMoved: what is read has been written anew meanwhile.
var errMoved = errors.New("it was changed while it was read")

// readShard makes a shard of its node's data, and of its chunks, which it reads. It
// fails with errMoved if they have made way for the next generation's.
func (p *seat) readShard(ctx context.Context, key string, data []byte) (core.Shard, int, error) {
	r, err := decode[shardRecord](data)
	if err != nil {
		return core.Shard{}, 0, err
	}
	s := core.Shard{Client: r.Client, Generation: r.Generation, Resources: r.Resources}
	bad := func(why string) (core.Shard, int, error) {
		return core.Shard{}, max(0, r.Chunks), fmt.Errorf("%w: shard %.60q: %s", ErrRecord, key, why)
	}
	if r.Chunks < 0 || r.Chunks > min(r.Count, maxChunks) {
		return bad("it has no such number of chunks")
	}
	futures := make([]*session.Future[session.Seen], r.Chunks)
	for i := range futures {
		futures[i] = p.s.StartGet(p.at.chunk(key, r.Generation, i), false)
	}
	missing, broken := false, false
	err = answers(ctx, futures, func(_ int, seen session.Seen, there bool) {
		var names []string
		missing = missing || !there
		broken = broken || there && json.Unmarshal(seen.Data, &names) != nil
		s.Resources = append(s.Resources, names...)
	})
	switch {
	case err != nil:
		return core.Shard{}, 0, err
	case missing:
		return core.Shard{}, r.Chunks, errMoved
	case broken || len(s.Resources) != r.Count:
		return bad("its parts do not fit together")
	case !slices.IsSorted(s.Resources) || len(slices.Compact(slices.Clone(s.Resources))) != r.Count:
		return bad("its resources are not in order")
	}
	return s, r.Chunks, nil
}
