package txnlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
)

// searchLimit bounds the search for a good record behind a damaged length.
const searchLimit = 4 << 20

var zeros [64 << 10]byte // read only

// padding remembers which bytes of the file were zeros, so that a reader that
// follows a file does not read the preallocated rest at each poll. Servers write
// into the zeros from the front only.
type padding struct{ from, to int64 }

// explain says why the bytes at the offset are no good record, in a file whose
// last byte other than zero was right before dataEnd when the record was read: the
// end so far (io.EOF), or damage.
func (r *Reader) explain(dataEnd int64) error {
	head, err := r.peek(recordHeaderSize)
	if err != nil {
		return err
	}
	if dataEnd <= r.off+recordHeaderSize || len(head) < recordHeaderSize {
		return io.EOF // nothing, or a part of a header
	}
	sum, n := binary.BigEndian.Uint64(head), int32(binary.BigEndian.Uint32(head[8:]))
	switch {
	case n == 0 && sum == 0:
		return r.damage(r.findRecord(dataEnd), ErrCorrupt, fmt.Sprintf("zeros, which mark the end, are followed by data up to offset %d", dataEnd))
	case n < txnHeaderSize || n > maxRecord:
		return r.damage(r.findRecord(dataEnd), ErrCorrupt, fmt.Sprintf("length %d of a record", n))
	}
	end := r.off + recordHeaderSize + int64(n) + 1
	if dataEnd < end {
		if next := r.findRecord(dataEnd); next != 0 {
			return r.damage(next, ErrCorrupt, fmt.Sprintf("length %d reaches beyond the next record at offset %d", n, next))
		}
		return io.EOF // written up to dataEnd so far
	}
	if !r.endsRecord(end - 1) {
		return r.damage(r.findRecord(dataEnd), ErrCorrupt, fmt.Sprintf("the record of length %d does not end with %q", n, endOfRecord))
	}
	record, err := r.peek(int(end - r.off))
	if err != nil {
		return err
	}
	if int64(len(record)) < end-r.off {
		return io.EOF // truncated meanwhile
	}
	payload := record[recordHeaderSize : len(record)-1]
	if got := uint64(adler32.Checksum(payload)); got != sum {
		return r.damage(end, ErrCorrupt, fmt.Sprintf("checksum %#x of a record with checksum %#x", sum, got))
	}
	return r.damage(end, ErrVersion, fmt.Sprintf("the record of type %d and length %d has an unknown form", int32(binary.BigEndian.Uint32(payload[txnHeaderSize-4:])), n))
}

// checkRewritten compares the last record with the file.
func (r *Reader) checkRewritten() error {
	if r.lastAt == 0 {
		return nil
	}
	var now [recordHeaderSize]byte
	n, err := r.src.ReadAt(now[:], r.lastAt)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("txnlog: read %s at offset %d: %w", r.name, r.lastAt, err)
	}
	if n == len(now) && now == r.lastHeader {
		return nil
	}
	return &DamageError{
		At: Position{r.name, r.lastAt}, Last: r.last, Reason: ErrRewritten,
		Detail: fmt.Sprintf("the record with zxid %s is no longer there", r.last),
	}
}

// findDataEnd returns the offset behind the last byte of the file that is not
// zero, and at least the reader's offset.
func (r *Reader) findDataEnd() (int64, error) {
	dataEnd, at := r.off, r.off
	chunk := make([]byte, len(zeros))
	for {
		if at >= r.padding.from && at < r.padding.to && at > r.off+windowSize {
			at = r.padding.to
		}
		n, err := r.src.ReadAt(chunk, at)
		if !bytes.Equal(chunk[:n], zeros[:n]) {
			dataEnd = at + int64(len(bytes.TrimRight(chunk[:n], "\x00")))
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			r.padding = padding{dataEnd, at}
			return dataEnd, nil
		}
		if err != nil {
			return 0, fmt.Errorf("txnlog: read %s at offset %d: %w", r.name, at, err)
		}
	}
}

// findRecord returns the offset of the first good record behind a damaged record
// whose own length cannot be trusted, or 0. Data of znodes may contain whole
// transaction logs; therefore only the transaction after the damaged one, or the
// first transaction of a later epoch, counts as found.
func (r *Reader) findRecord(dataEnd int64) int64 {
	size := min(dataEnd-r.off, searchLimit)
	area := make([]byte, size)
	n, err := r.src.ReadAt(area, r.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	area = area[:n]
	for at := 1; at+recordHeaderSize+txnHeaderSize < len(area); at++ {
		if area[at]|area[at+1]|area[at+2]|area[at+3] != 0 {
			continue // not a checksum of 32 bits
		}
		sum, length := binary.BigEndian.Uint64(area[at:]), int64(int32(binary.BigEndian.Uint32(area[at+8:])))
		end := int64(at) + recordHeaderSize + length
		if length < txnHeaderSize || end >= int64(len(area)) || area[end] != endOfRecord {
			continue
		}
		payload := area[at+recordHeaderSize : end]
		if r.mayFollowDamage(Zxid(binary.BigEndian.Uint64(payload[12:]))) && uint64(adler32.Checksum(payload)) == sum {
			return r.off + int64(at)
		}
	}
	return 0
}

// mayFollowDamage reports whether one transaction is missing between the last one
// and zxid.
func (r *Reader) mayFollowDamage(zxid Zxid) bool {
	damaged := r.last + 1
	if r.last == 0 {
		damaged = r.first
	}
	return damaged == 0 || zxid == damaged+1 || zxid.Epoch() > damaged.Epoch() && zxid.Counter() == 1
}
