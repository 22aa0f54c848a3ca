// Package logtest makes transaction logs for tests, in the form in which servers write them.
package logtest

import (
	"encoding/binary"
	"hash/adler32"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// Image is a transaction log in memory.
type Image struct{ Bytes []byte }

// New makes a log without transactions.
func New() *Image {
	return &Image{append([]byte("ZKLG"), 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)}
}

// Header is the header of a transaction.
type Header struct {
	Session int64
	Cxid    int32
	Zxid    txnlog.Zxid
	Time    time.Time
	Type    txnlog.Type
}

// payload encodes a header and a record.
func (h *Header) payload(body []byte) []byte {
	p := binary.BigEndian.AppendUint64(nil, uint64(h.Session))
	p = binary.BigEndian.AppendUint32(p, uint32(h.Cxid))
	p = binary.BigEndian.AppendUint64(p, uint64(h.Zxid))
	p = binary.BigEndian.AppendUint64(p, uint64(h.Time.UnixMilli()))
	p = binary.BigEndian.AppendUint32(p, uint32(h.Type))
	return append(p, body...)
}

// Add appends a transaction, and returns its offset.
func (m *Image) Add(h *Header, body []byte) int64 {
	at, p := int64(len(m.Bytes)), h.payload(body)
	m.Bytes = binary.BigEndian.AppendUint64(m.Bytes, uint64(adler32.Checksum(p)))
	m.Bytes = binary.BigEndian.AppendUint32(m.Bytes, uint32(len(p)))
	m.Bytes = append(append(m.Bytes, p...), 'B')
	return at
}

// AppendString appends a text with its length.
func AppendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// AppendACL appends the permissions world:anyone:cdrwa.
func AppendACL(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, 1), 31)
	return AppendString(AppendString(b, "world"), "anyone")
}

// Create is the record of TypeCreate.
func Create(path, data string, ephemeral bool, cversion uint32) []byte {
	b := AppendACL(AppendString(AppendString(nil, path), data))
	if ephemeral {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return binary.BigEndian.AppendUint32(b, cversion)
}

// Set is the record of TypeSetData.
func Set(path, data string, version uint32) []byte {
	return binary.BigEndian.AppendUint32(AppendString(AppendString(nil, path), data), version)
}

// Delete is the record of TypeDelete.
func Delete(path string) []byte { return AppendString(nil, path) }
