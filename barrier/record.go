package barrier

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
)

// record is the data of a barrier's path. Package barrierformat has its format
// and its invariants.
type record barrierformat.Record

// ranges is a set of numbers.
type ranges = barrierformat.Ranges

// maxHistory is the number of ranges kept for the rounds before the newest
// round. A range is a few bytes, and covers all consecutive rounds without a
// leaving party in between.
const maxHistory = 64

// encode is the data for the path.
func (r record) encode() []byte { return barrierformat.Record(r).Encode() }

// parseRecord reads a path's data; the error wraps ErrRecord.
func parseRecord(data []byte) (record, error) {
	r, err := barrierformat.Parse(data)
	if err != nil {
		return record{}, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return record(r), nil
}

// accepts returns why the record does not belong to a barrier of this kind and
// number of parties, on the path created at czxid; nil if it does.
func (r record) accepts(kind string, parties int, czxid int64) error {
	switch {
	case r.Kind != kind:
		return fmt.Errorf("%w: the path is a %s's, not a %s's", ErrRecord, r.Kind, kind)
	case r.Parties != parties:
		return fmt.Errorf("%w: %d here, but the path says %d", ErrParties, parties, r.Parties)
	case r.Czxid != czxid:
		return fmt.Errorf("%w: its data is a copy, of the data of the znode created at zxid %d: make it empty", ErrRecord, r.Czxid)
	}
	return nil
}

// lastReleased is the greatest released number; -1 for none.
func (r record) lastReleased() int32 {
	if len(r.Released) == 0 {
		return -1
	}
	return r.Released[len(r.Released)-1].Hi
}

// fateOf is the fate of a party's number.
type fate int

const (
	pending   fate = iota // not released so far
	released              // let through
	skipped               // never released: its znode had gone, or was stale
	forgotten             // too long ago to tell
)

// fateOf tells the fate of the party with number seq, and its round.
func (r record) fateOf(seq int32) (fate, int64) {
	all := int64(r.Parties)
	switch {
	case seq > r.lastReleased():
		return pending, 0
	case r.Released.Contains(seq):
		return released, r.Round - r.Released.Above(seq)/all
	case seq > r.Released[0].Lo || r.Released.Count() == r.Round*all:
		return skipped, 0
	}
	return forgotten, 0
}

// members are the numbers of round, which must be a kept round.
func (r record) members(round int64) ranges {
	return r.Released.Slice((r.Round-round)*int64(r.Parties), int64(r.Parties))
}

// next is the record after the release of seqs, in ascending order.
func (r record) next(seqs []int32) record {
	out := r
	out.Round++
	out.Released = append(make(ranges, 0, len(r.Released)+len(seqs)), r.Released...)
	for _, n := range seqs {
		out.Released = out.Released.Add(n)
	}
	newest := 0 // where the newest round begins
	for newest < len(out.Released) && out.Released[newest].Hi < seqs[0] {
		newest++
	}
	out.Released = out.Released[max(0, newest-maxHistory):]
	return out
}
