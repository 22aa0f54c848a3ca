// Package heartbeat is the format of heartbeats that sessions share.
//
// The data of the znode is one line of text: "1", the version of the format, and then,
// each after a space, marks as "zxid:age": a transaction id in hexadecimal and
// milliseconds in decimal. For example
//
//	1 2000000a7:812 2000000a1:1638
package heartbeat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// version is the format's.
const version = "1"

// MaxMarks is the limit of the number of marks in a record.
const MaxMarks = 16

// ErrInvalid: the data of the znode is not a record of this version.
var ErrInvalid = errors.New("invalid heartbeat")

// Mark says that the writer's server had applied the transaction Zxid, and no later one,
// at a moment that was Age or longer before the heartbeat was sent to the same server.
type Mark struct {
	Zxid int64
	Age  time.Duration
}

// Format makes a record of the first MaxMarks marks. Ages are rounded down to
// milliseconds, which is the safe side.
func Format(marks []Mark) []byte {
	out := []byte(version)
	for _, m := range marks[:min(len(marks), MaxMarks)] {
		out = append(out, ' ')
		out = strconv.AppendUint(out, uint64(m.Zxid), 16)
		out = append(out, ':')
		out = strconv.AppendInt(out, m.Age.Milliseconds(), 10)
	}
	return out
}

// Parse reads a record.
func Parse(data []byte) ([]Mark, error) {
	fields := strings.Split(string(data), " ")
	if fields[0] != version || len(fields) > MaxMarks+1 {
		return nil, fmt.Errorf("%w: %.80q", ErrInvalid, data)
	}
	marks := make([]Mark, 0, len(fields)-1)
	for _, field := range fields[1:] {
		zxid, age, _ := strings.Cut(field, ":")
		z, err := strconv.ParseUint(zxid, 16, 64)
		ms, err2 := strconv.ParseUint(age, 10, 31)
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("%w: %.80q", ErrInvalid, data)
		}
		marks = append(marks, Mark{int64(z), time.Duration(ms) * time.Millisecond})
	}
	return marks, nil
}

// NewestBehind returns the greatest zxid of the marks that are at least age old, or 0.
func NewestBehind(marks []Mark, age time.Duration) int64 {
	var newest int64
	for _, m := range marks {
		if m.Age >= age {
			newest = max(newest, m.Zxid)
		}
	}
	return newest
}
