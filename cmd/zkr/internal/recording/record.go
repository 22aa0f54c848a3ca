package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// formatVersion is the version of the format.
const formatVersion = 1

// Kind is the kind of a Record; the package comment lists the kinds.
type Kind string

// The kinds of records.
const (
	Begin Kind = "begin"
	Node  Kind = "node"
	Ready Kind = "ready"
	Set   Kind = "set"
	Gone  Kind = "gone"
	Gap   Kind = "gap"
	Alive Kind = "alive"
	Clock Kind = "clock"
	End   Kind = "end"
)

// Record is a line of a recording.
type Record struct {
	Kind Kind `json:"kind"`
	// At is the moment at which the recorder has seen the change, by the recorder's clock.
	At time.Time `json:"at"`
	// After is set for a change that was seen late: the change happened after this moment.
	// Changes with the same After are the differences of two states, in no order, unless
	// they are Ordered: a connected client has seen them one after the other.
	After   time.Time `json:"after,omitzero"`
	Ordered bool      `json:"ordered,omitempty"`
	// Version and Root are those of Begin.
	Version int    `json:"version,omitempty"`
	Root    string `json:"root,omitempty"`
	// Path, Data and Stat are those of a znode; Size is the length of all data if Data is
	// only the beginning.
	Path string `json:"path,omitempty"`
	Data []byte `json:"data,omitempty"`
	Size int    `json:"size,omitempty"`
	Stat *Stat  `json:"stat,omitempty"`
	// WithSession tells of Gone that all known znodes of the owner, two at least, went at
	// the same moment: probably the session ended.
	WithSession bool `json:"with_session,omitempty"`
	// Why is the reason of a Gap, Clock or End.
	Why string `json:"why,omitempty"`
}

// Stat is the part of a znode's stat that a client keeps up to date.
type Stat struct {
	Czxid    int64 `json:"czxid,string"`
	Mzxid    int64 `json:"mzxid,string"`
	Pzxid    int64 `json:"pzxid,string"`
	Ctime    int64 `json:"ctime_ms,string"`
	Mtime    int64 `json:"mtime_ms,string"`
	Version  int32 `json:"version"`
	Aversion int32 `json:"aversion"`
	Owner    int64 `json:"owner,string"`
}

// StatOf returns the recorded part of a stat.
func StatOf(s session.Stat) Stat {
	return Stat{s.Czxid, s.Mzxid, s.Pzxid, s.Ctime, s.Mtime, s.Version, s.Aversion, s.EphemeralOwner}
}

// sameZnode reports whether both are of one znode, which was not deleted in between.
func (s *Stat) sameZnode(o *Stat) bool { return s.Czxid == o.Czxid && s.Ctime == o.Ctime }

// Moment returns a moment as records have it: in UTC, in milliseconds.
func Moment(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// The last field of a line: crcField, eight digits, crcEnd.
const (
	crcField = `,"crc":"`
	crcEnd   = `"}`
	crcSize  = len(crcField) + 8 + len(crcEnd)
)

// castagnoli is the table of the checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli) // read only

// errLine is the reason why a line is damaged.
var errLine = errors.New("the checksum of a line is wrong")

// encodeLine appends the line of a record.
func encodeLine(to []byte, r *Record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("recording: encode: %w", err)
	}
	text = text[:len(text)-1] // without the closing brace
	sum := crc32.Checksum(text, castagnoli)
	return append(fmt.Appendf(append(to, text...), "%s%08x%s", crcField, sum, crcEnd), '\n'), nil
}

// decodeLine reads a line without its line break.
func decodeLine(line []byte) (*Record, error) {
	if len(line) <= crcSize {
		return nil, errLine
	}
	text, tail := line[:len(line)-crcSize], line[len(line)-crcSize:]
	digits, isField := bytes.CutPrefix(tail, []byte(crcField))
	sum, err := strconv.ParseUint(string(bytes.TrimSuffix(digits, []byte(crcEnd))), 16, 32)
	if !isField || err != nil || uint32(sum) != crc32.Checksum(text, castagnoli) {
		return nil, errLine
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("a line is no record: %w", err)
	}
	if (r.Kind == Node || r.Kind == Set) && (r.Stat == nil || r.Path == "") || r.Kind == Gone && r.Path == "" {
		return nil, fmt.Errorf("a record of kind %q without a znode", r.Kind)
	}
	return &r, nil
}
