package shareformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// FormatDelta is the format of a shard that has only the difference to a list of names in its
// children, so that a small change is a small write and a small read. A coordinator writes
// it only if all members say that they read it ([Member.Shards]).
const FormatDelta = 2

// Shard is the data of assignments/<key>: the resources that a member is assigned. Of
// a long list it has the first part; the rest is in children, each a JSON list of
// names. In [FormatDelta] the children have a former list, the base, and the record has the
// difference.
type Shard struct {
	Format     int      `json:"format"`
	Client     string   `json:"client"` // the member that the shard is for
	Generation int64    `json:"generation"`
	Epoch      int64    `json:"epoch"`            // of the coordinator that wrote it
	Count      int      `json:"count"`            // how many resources in all
	Chunks     int      `json:"chunks,omitempty"` // how many children
	Resources  []string `json:"resources"`        // those that are not in the children

	// The next fields are those of FormatDelta. Base is the generation that the base is of,
	// and BaseEpoch is the epoch of the coordinator that wrote the base.
	Base      int64    `json:"base,omitempty"`
	BaseEpoch int64    `json:"baseEpoch,omitempty"`
	Removed   []string `json:"removed,omitempty"` // names of the base that are not assigned any more
	Sum       string   `json:"sum,omitempty"`     // [Sum] of all resources

	versioned.Kept
}

// IsDelta reports whether the record has the difference to a base.
func (s Shard) IsDelta() bool { return s.Format == FormatDelta }

// ChunkGeneration is the generation in the names of the children.
func (s Shard) ChunkGeneration() int64 {
	if s.IsDelta() {
		return s.Base
	}
	return s.Generation
}

// check checks all of a shard but the resources.
func (s Shard) check() error {
	switch {
	case s.Generation < 0 || s.Generation > MaxNumber:
		return fmt.Errorf("it has generation %d", s.Generation)
	case s.Count < 0 || s.Chunks < 0 || s.Chunks > maxChunks || !s.IsDelta() && s.Chunks > s.Count:
		return fmt.Errorf("it has %d chunks for %d resources", s.Chunks, s.Count)
	case s.IsDelta() && (s.Base < 0 || s.Base > s.Generation):
		return fmt.Errorf("it has base %d in generation %d", s.Base, s.Generation)
	}
	return nil
}

// Assemble returns the resources of a shard, given the names in its children.
func (s Shard) Assemble(children []string) []string {
	if !s.IsDelta() {
		return append(slices.Clone(s.Resources), children...)
	}
	out := make([]string, 0, len(children)+len(s.Resources))
	added, removed := s.Resources, s.Removed
	for _, name := range children {
		for len(added) > 0 && added[0] < name {
			out, added = append(out, added[0]), added[1:]
		}
		if len(removed) > 0 && removed[0] == name {
			removed = removed[1:]
			continue
		}
		out = append(out, name)
	}
	return append(out, added...)
}

// Difference returns the names of now that are not in base, and the names of base that are not
// in now. Both are in order.
func Difference(base, now []string) (added, removed []string) {
	for len(base) > 0 || len(now) > 0 {
		switch {
		case len(base) == 0 || len(now) > 0 && now[0] < base[0]:
			added, now = append(added, now[0]), now[1:]
		case len(now) == 0 || base[0] < now[0]:
			removed, base = append(removed, base[0]), base[1:]
		default:
			base, now = base[1:], now[1:]
		}
	}
	return added, removed
}

// Sum is a checksum of names: FNV-1a of 64 bits, of each name and a line feed behind it, in
// hexadecimal digits. A reader notices by it that its base is not that of the record.
func Sum(names []string) string {
	const hexadecimal = 16
	h := fnv.New64a()
	for _, name := range names {
		h.Write([]byte(name))
		h.Write([]byte{'\n'})
	}
	return strconv.FormatUint(h.Sum64(), hexadecimal)
}

// CheckResources checks the resources of the record and all its chunks. They become
// elements of paths.
func (s Shard) CheckResources(names []string) error {
	switch {
	case len(names) != s.Count:
		return fmt.Errorf("it has %d resources instead of %d", len(names), s.Count)
	case !isAscending(names):
		return errors.New("its resources are not in order")
	case s.IsDelta() && Sum(names) != s.Sum:
		return errors.New("its resources are not those that it has the checksum of")
	}
	for _, name := range names {
		if !znode.IsName(name) {
			return fmt.Errorf("%.60q cannot be the name of a resource", name)
		}
	}
	return nil
}

// isAscending reports whether names are in order, each once.
func isAscending(names []string) bool {
	for i := 1; i < len(names); i++ {
		if names[i-1] >= names[i] {
			return false
		}
	}
	return true
}

// DecodeChunk reads a child of a shard.
func DecodeChunk(data []byte) (names []string, err error) {
	err = json.Unmarshal(data, &names)
	return names, err
}
