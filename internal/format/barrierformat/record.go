package barrierformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
)

// The kinds of a record. Curator's and Kazoo's double barriers keep no record.
const (
	KindBarrier = "barrier"
	KindDouble  = "double"
)

// format is that of all records, which have no field for it so far.
const format = 1

// Record is the data of a barrier's path, as JSON:
//
//	{"kind":"barrier","czxid":4294967301,"parties":3,"round":7,"released":"0-16,18-21"}
//
// The czxid is that of the path for which it was written. The numbers of another
// one, of which this record is a copy or a backup, mean nothing here: by them the
// first to come would pass alone.
//
// Invariants, by which a party finds out its outcome from its number alone, also after
// its znode has gone:
//
//   - Each round releases as many as there are parties, all of them with greater
//     numbers than all that were released before.
//   - At that moment no other party has a lower number than the greatest of them: a
//     release takes the lowest numbers, and deletes the stale ones among them.
//
// So a number above the greatest that was released was not released so far; one
// below it, and not in released, never will be; and the round of one in released
// can be counted from the end.
type Record struct {
	Kind    string
	Czxid   int64
	Parties int
	// Round is the number of rounds so far.
	Round int64
	// Released has the numbers of the parties that were let through: all of the newest
	// round, and of the rounds before as far back as they are kept.
	Released Ranges
}

type recordJSON struct {
	Kind     string `json:"kind"`
	Czxid    int64  `json:"czxid"`
	Parties  int    `json:"parties"`
	Round    int64  `json:"round"`
	Released string `json:"released"`
}

// Encode is the data for the path.
func (r Record) Encode() []byte {
	data, _ := json.Marshal(recordJSON{r.Kind, r.Czxid, r.Parties, r.Round, r.Released.String()}) // strings and numbers never fail
	return data
}

// Parse reads a path's data. Of a newer format, the error wraps a
// [*versioned.FormatError].
func Parse(data []byte) (Record, error) {
	var newer *versioned.FormatError
	if err := versioned.Check(data, format); errors.As(err, &newer) {
		return Record{}, fmt.Errorf("the path says %.60q: %w", data, err)
	}
	var raw recordJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields() // a newer record must not be overwritten
	err := dec.Decode(&raw)
	if err == nil {
		if _, end := dec.Token(); end != io.EOF {
			err = errMore
		}
	}
	if err != nil {
		return Record{}, fmt.Errorf("the path says %.60q: %w", data, err)
	}
	released, err := ParseRanges(raw.Released)
	if err != nil {
		return Record{}, fmt.Errorf("released: %w", err)
	}
	r := Record{raw.Kind, raw.Czxid, raw.Parties, raw.Round, released}
	if !r.Plausible() {
		return Record{}, fmt.Errorf("the path says %.60q, which no barrier writes", data)
	}
	return r, nil
}

// Plausible reports whether r has the invariants that can be seen.
func (r Record) Plausible() bool {
	if r.Kind != KindBarrier && r.Kind != KindDouble || r.Parties < 1 || r.Parties > math.MaxInt32 {
		return false
	}
	n, all := r.Released.Count(), int64(r.Parties)
	return r.Round == 0 && n == 0 || r.Round > 0 && n >= all && (n-1)/all < r.Round
}
