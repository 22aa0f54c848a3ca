package recognize

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/session"
)

// How many bytes of data are kept: records are read, the rest is only looked at.
// Those that may be ours are as long as 256 KiB of names and what is around them
// (a shard of rebalanser); other JSON is not worth so much memory.
const (
	keptRecord = 300 << 10
	keptJSON   = 64 << 10
	keptOther  = 4 << 10
)

// beginnings are those of records that may be long: all that have a format,
// instances of services, shards of rebalanser and the lists in which they go on.
var beginnings = []string{`{"format":`, `{"name":`, `{"client":`, `["`} // read only

// Node is a znode as somebody has read it. It does not change.
type Node struct {
	Path string
	// Data is its beginning; Size is the length of all of it.
	Data []byte
	Size int
	Stat session.Stat
	// Denied: it exists, and may not be read. All else is zero then.
	Denied bool

	// memo is the verdicts of those who have read Data as a record, each of
	// another type.
	memo atomic.Pointer[[]any]
}

// NewNode makes a node of what was read. It keeps a copy of the beginning of
// data: a tree of large znodes need not fit into memory.
func NewNode(path string, data []byte, stat session.Stat) *Node {
	n := &Node{Path: path, Size: len(data), Stat: stat}
	most := keptOther
	switch {
	case slices.ContainsFunc(beginnings, func(b string) bool { return bytes.HasPrefix(data, []byte(b)) }):
		most = keptRecord
	case bytes.HasPrefix(data, []byte("{")) || bytes.HasPrefix(data, []byte("[")):
		most = keptJSON
	}
	n.Data = data
	if len(data) > most {
		n.Data = slices.Clone(whole(data[:most]))
	}
	return n
}

// Name is the last element of the path.
func (n *Node) Name() string { return n.Path[strings.LastIndexByte(n.Path, '/')+1:] }

// Whole is true if Data is all of it.
func (n *Node) Whole() bool { return len(n.Data) == n.Size }

// unread is why nobody knows what a record says that exists; err is what came of reading
// it.
func (n *Node) unread(err error) string {
	var format *versioned.FormatError
	switch {
	case n.Denied:
		return "may not be read"
	case !n.Whole():
		return "is too long to be read"
	case errors.As(err, &format):
		return "has format " + Text([]byte(format.Found), idWidth) + " of a newer version (update zkr)"
	}
	return "cannot be read"
}

// newer reports whether a record was not read because a newer version has written it.
func newer(err error) bool {
	var format *versioned.FormatError
	return errors.As(err, &format)
}

// Created is when the node was, by the servers' clock; zero if it may not be read.
func (n *Node) Created() time.Time { return moment(n.Stat.Ctime) }

// Modified is when its data last changed.
func (n *Node) Modified() time.Time { return moment(n.Stat.Mtime) }

func moment(ms int64) time.Time {
	if ms == 0 || !datable(ms) {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// datable reports whether a moment has a date that can be written down, wherever:
// JSON knows the years of four digits, and a zone may shift it by a day.
func datable(ms int64) bool {
	at := time.UnixMilli(ms).UTC()
	return at.AddDate(0, 0, -1).Year() >= 0 && at.AddDate(0, 0, 1).Year() <= 9999
}

// ephemeral reports whether the node goes with a session.
func (n *Node) ephemeral() bool { return n.Stat.EphemeralOwner != 0 }

// persistent is not the same as not ephemeral: of what may not be read nobody
// knows.
func (n *Node) persistent() bool { return !n.Denied && n.Stat.EphemeralOwner == 0 }

// verdict is what came of reading a record.
type verdict[T any] struct {
	value T
	err   error
}

var errUnread = errors.New("no record, or not read as a whole")

// decoded reads the node's data as a record in JSON. It is decoded once for each type of
// records, and what is decoded must not be changed.
func decoded[T any](n *Node, decode func([]byte) (T, error)) (T, error) {
	var known []any
	if m := n.memo.Load(); m != nil {
		known = *m
	}
	for _, k := range known {
		if v, same := k.(verdict[T]); same {
			return v.value, v.err
		}
	}
	if !n.Whole() || len(n.Data) < 2 || n.Data[0] != '{' && n.Data[0] != '[' {
		return *new(T), errUnread
	}
	var v verdict[T]
	v.value, v.err = decode(n.Data)
	known = append(slices.Clip(known), v)
	n.memo.Store(&known)
	return v.value, v.err
}

// read is decoded for records of others, and lists, which have no format.
func read[T any](n *Node) (T, bool) {
	value, err := decoded(n, func(data []byte) (out T, err error) {
		err = json.Unmarshal(data, &out)
		return out, err
	})
	return value, err == nil
}
