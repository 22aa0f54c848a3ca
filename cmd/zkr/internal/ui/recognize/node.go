package recognize

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// How many bytes of data are kept: records are parsed, other data is only
// inspected. Our own records have up to 256 KiB of names and some overhead (a
// shard of rebalanser); other JSON is not worth the memory.
const (
	keptRecord = 300 << 10
	keptJSON   = 64 << 10
	keptOther  = 4 << 10
)

// beginnings are the beginnings of possibly long records: all records with a
// format, instances of services, shards of rebalanser and their continuation
// lists.
var beginnings = []string{`{"format":`, `{"name":`, `{"client":`, `["`} // read only

// Node is a znode as read. A Node does not change.
type Node struct {
	Path string
	// Data is the beginning of the data; Size is the length of all data.
	Data []byte
	Size int
	Stat session.Stat
	// Denied: the znode exists, and is unreadable. All other fields are zero
	// then.
	Denied bool

	// memo has the results of decoding Data as a record, one for each type.
	memo atomic.Pointer[[]any]
}

// NewNode makes a node. The node keeps a copy of the beginning of data: a tree
// of large znodes need not fit into memory.
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
		n.Data = slices.Clone(trimPartialRune(data[:most]))
	}
	return n
}

// Name is the last element of the path.
func (n *Node) Name() string { return znode.Base(n.Path) }

// Whole is true if Data is not truncated.
func (n *Node) Whole() bool { return len(n.Data) == n.Size }

// unreadReason is the reason why an existing record is unreadable; err is the error
// of decoding.
func (n *Node) unreadReason(err error) string {
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

// isNewer reports whether a record was not read because a newer version has written it.
func isNewer(err error) bool {
	var format *versioned.FormatError
	return errors.As(err, &format)
}

// Created is the creation time, by the servers' clock; zero if unreadable.
func (n *Node) Created() time.Time { return timeOf(n.Stat.Ctime) }

// Modified is when its data last changed.
func (n *Node) Modified() time.Time { return timeOf(n.Stat.Mtime) }

func timeOf(ms int64) time.Time {
	if ms == 0 || !hasDate(ms) {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// hasDate reports whether a moment can be written as a date: JSON has years of
// four digits, and a time zone may shift the date by a day.
func hasDate(ms int64) bool {
	at := time.UnixMilli(ms).UTC()
	return at.AddDate(0, 0, -1).Year() >= 0 && at.AddDate(0, 0, 1).Year() <= 9999
}

// ephemeral reports whether the node goes with a session.
func (n *Node) ephemeral() bool { return n.Stat.EphemeralOwner != 0 }

// persistent is not the same as not ephemeral: both are false for unreadable
// nodes.
func (n *Node) persistent() bool { return !n.Denied && n.Stat.EphemeralOwner == 0 }

// decodedRecord is the result of decoding a record.
type decodedRecord[T any] struct {
	value T
	err   error
}

var errUnread = errors.New("no record, or not read as a whole")

// decodeNode reads the node's data as a record in JSON. The data is decoded once
// for each type of record; the decoded record must not be changed.
func decodeNode[T any](n *Node, decode func([]byte) (T, error)) (T, error) {
	var known []any
	if m := n.memo.Load(); m != nil {
		known = *m
	}
	for _, k := range known {
		if v, same := k.(decodedRecord[T]); same {
			return v.value, v.err
		}
	}
	if !n.Whole() || len(n.Data) < 2 || n.Data[0] != '{' && n.Data[0] != '[' {
		return *new(T), errUnread
	}
	var v decodedRecord[T]
	v.value, v.err = decode(n.Data)
	known = append(slices.Clip(known), v)
	n.memo.Store(&known)
	return v.value, v.err
}

// readRecord decodes records without a format: lists, and records of other libraries.
func readRecord[T any](n *Node) (T, bool) {
	value, err := decodeNode(n, func(data []byte) (out T, err error) {
		err = json.Unmarshal(data, &out)
		return out, err
	})
	return value, err == nil
}
