package barrier

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// record is what the data of a barrier's path says, as JSON:
//
//	{"kind":"barrier","czxid":4294967301,"parties":3,"round":7,"released":"0-16,18-21"}
//
// The czxid is that of the path for which it was written. The numbers of another
// one, of which this record is a copy or a backup, mean nothing here: by them the
// first to come would pass alone.
//
// Invariants, by which a party finds out what became of it from its number
// alone, also after its znode has gone:
//
//   - Each round releases as many as there are parties, all of them with greater
//     numbers than all that were released before.
//   - At that moment nobody else has a lower number than the greatest of them:
//     a release takes the lowest numbers, and deletes the stale ones among them.
//
// So a number above the greatest that was released was not released so far; one
// below it, and not in released, never will be; and the round of one in released
// can be counted from the end.
type record struct {
	Kind    string
	Czxid   int64
	Parties int
	// Round is the number of rounds so far.
	Round int64
	// Released is the numbers of those who were let through: all of the
	// newest round, and of the rounds before as far back as maxHistory goes.
	Released spans
}

// maxHistory is how many ranges a record keeps of what was released before the
// newest round. A range is a few bytes, and as many rounds as nobody left
// between.
const maxHistory = 64

type recordJSON struct {
	Kind     string `json:"kind"`
	Czxid    int64  `json:"czxid"`
	Parties  int    `json:"parties"`
	Round    int64  `json:"round"`
	Released string `json:"released"`
}

// encode is the data for the path.
func (r record) encode() []byte {
	data, _ := json.Marshal(recordJSON{r.Kind, r.Czxid, r.Parties, r.Round, r.Released.String()}) // strings and numbers never fail
	return data
}

// parseRecord reads a path's data; the error wraps ErrRecord.
func parseRecord(data []byte) (record, error) {
	var raw recordJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields() // whoever writes more than we know is not to be overwritten
	err := dec.Decode(&raw)
	if err == nil {
		if _, end := dec.Token(); end != io.EOF {
			err = fmt.Errorf("more than one value")
		}
	}
	if err != nil {
		return record{}, fmt.Errorf("%w: the path says %.60q: %w", ErrRecord, data, err)
	}
	released, err := parseSpans(raw.Released)
	if err != nil {
		return record{}, fmt.Errorf("%w: released: %w", ErrRecord, err)
	}
	r := record{raw.Kind, raw.Czxid, raw.Parties, raw.Round, released}
	if !r.plausible() {
		return record{}, fmt.Errorf("%w: the path says %.60q, which no barrier writes", ErrRecord, data)
	}
	return r, nil
}

func (r record) plausible() bool {
	if r.Kind != kindBarrier && r.Kind != kindDouble || r.Parties < 1 || r.Parties > math.MaxInt32 {
		return false
	}
	n, all := r.Released.count(), int64(r.Parties)
	return r.Round == 0 && n == 0 || r.Round > 0 && n >= all && (n-1)/all < r.Round
}

// accepts says why a barrier of this kind and so many parties, on the path that
// was created at czxid, is not the one that the record is of.
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

// through is the greatest number that was released; -1 if none was.
func (r record) through() int32 {
	if len(r.Released) == 0 {
		return -1
	}
	return r.Released[len(r.Released)-1].hi
}

// fate is what a record says of a party's number.
type fate int

const (
	pending   fate = iota // not released so far
	released              // let through
	skipped               // never released: it had gone, or was stale
	forgotten             // too long ago to tell
)

// fate tells what became of the party with number seq, and in which round.
func (r record) fate(seq int32) (fate, int64) {
	all := int64(r.Parties)
	switch {
	case seq > r.through():
		return pending, 0
	case r.Released.contains(seq):
		return released, r.Round - r.Released.above(seq)/all
	case seq > r.Released[0].lo || r.Released.count() == r.Round*all:
		return skipped, 0
	}
	return forgotten, 0
}

// members is the numbers of round, which is one of those that are kept.
func (r record) members(round int64) spans {
	return r.Released.slice((r.Round-round)*int64(r.Parties), int64(r.Parties))
}

// next is the record after the release of seqs, in ascending order.
func (r record) next(seqs []int32) record {
	out := r
	out.Round++
	out.Released = append(make(spans, 0, len(r.Released)+len(seqs)), r.Released...)
	for _, n := range seqs {
		out.Released = out.Released.add(n)
	}
	newest := 0 // where the newest round begins
	for newest < len(out.Released) && out.Released[newest].hi < seqs[0] {
		newest++
	}
	out.Released = out.Released[max(0, newest-maxHistory):]
	return out
}
