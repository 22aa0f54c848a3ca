// Package heartbeatformat is the format of heartbeats that sessions share: a znode for
// each server, "<folder>/server-<number>". The names and the records are this library's
// alone. The package is pure; the dashboard recognizes the folder by it.
//
// The data of the znode is one line of text: "1", the version of the format; the id of
// the session that has sent it, in hexadecimal; and marks as "zxid:age", a transaction id
// in hexadecimal and milliseconds in decimal. Spaces separate them. For example
//
//	1 1000a5c3f2b0001 2000000a7:812 2000000a1:1638
package heartbeatformat

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

// namePrefix is the beginning of the names of the znodes; the server's number follows.
const namePrefix = "server-"

// Name returns the name of the znode of a server.
func Name(server uint8) string { return namePrefix + strconv.Itoa(int(server)) }

// IsName recognizes the names of the znodes.
func IsName(name string) bool {
	digits, found := strings.CutPrefix(name, namePrefix)
	server, err := strconv.ParseUint(digits, 10, 8)
	return found && err == nil && server > 0 && Name(uint8(server)) == name
}

// Mark says that the writer's server had applied the transaction Zxid, and no later one,
// at a moment that was Age or longer before the heartbeat was sent to the same server.
type Mark struct {
	Zxid int64
	Age  time.Duration
}

// Record is a heartbeat.
type Record struct {
	Sender int64 // the id of a session
	Marks  []Mark
}

// Format makes the data of a record, with the first MaxMarks marks. Ages are rounded
// down to milliseconds, which is the safe side.
func Format(r Record) []byte {
	out := []byte(version + " ")
	out = strconv.AppendUint(out, uint64(r.Sender), 16)
	for _, m := range r.Marks[:min(len(r.Marks), MaxMarks)] {
		out = append(out, ' ')
		out = strconv.AppendUint(out, uint64(m.Zxid), 16)
		out = append(out, ':')
		out = strconv.AppendInt(out, m.Age.Milliseconds(), 10)
	}
	return out
}

// Parse reads a record.
func Parse(data []byte) (Record, error) {
	invalid := func() (Record, error) { return Record{}, fmt.Errorf("%w: %.80q", ErrInvalid, data) }
	fields := strings.Split(string(data), " ")
	if fields[0] != version || len(fields) < 2 || len(fields) > MaxMarks+2 {
		return invalid()
	}
	sender, err := strconv.ParseUint(fields[1], 16, 64)
	if err != nil {
		return invalid()
	}
	r := Record{Sender: int64(sender), Marks: make([]Mark, 0, len(fields)-2)}
	for _, field := range fields[2:] {
		zxid, age, _ := strings.Cut(field, ":")
		z, err := strconv.ParseUint(zxid, 16, 64)
		ms, err2 := strconv.ParseUint(age, 10, 31)
		if err != nil || err2 != nil {
			return invalid()
		}
		r.Marks = append(r.Marks, Mark{int64(z), time.Duration(ms) * time.Millisecond})
	}
	return r, nil
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
