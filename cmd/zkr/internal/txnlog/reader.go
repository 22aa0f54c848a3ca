package txnlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
)

const (
	fileHeaderSize = 16 // magic, version, database id
	logMagic       = "ZKLG"
	fileVersion    = 2

	recordHeaderSize = 12  // checksum, length
	endOfRecord      = 'B' // one byte after the record
	// maxRecord bounds the memory for one record. Servers refuse requests above
	// jute.maxbuffer, 1 MiB by default.
	maxRecord = 256 << 20
	// windowSize is the usual size of the buffer.
	windowSize = 256 << 10
)

// Reader reads one transaction log. A Reader keeps one buffer, which grows to the
// size of the largest record. A Reader is not safe for concurrent use.
type Reader struct {
	src  io.ReaderAt
	name string

	window []byte // bytes read ahead, from offset start on
	buf    []byte // the memory of window
	start  int64

	opened bool
	dbid   int64
	first  Zxid  // by the name of the file, or 0
	off    int64 // of the next record
	last   Zxid
	// lastAt and lastHeader are the place and the first bytes of the last record,
	// which tell whether the file was rewritten.
	lastAt     int64
	lastHeader [recordHeaderSize]byte
	incomplete int64
	padding    padding
}

// NewReader returns a Reader of the log in src, such as an *os.File. The name is
// used in positions and errors, and tells the zxid of the first record. NewReader
// does not read.
func NewReader(src io.ReaderAt, name string) *Reader {
	r := &Reader{src: src, name: name, buf: make([]byte, windowSize)}
	if f, ok := parseName(name); ok && !f.snapshot {
		r.first = f.Zxid
	}
	return r
}

// Offset returns the offset of the next record.
func (r *Reader) Offset() int64 { return r.off }

// Last returns the zxid of the last record read, or 0.
func (r *Reader) Last() Zxid { return r.last }

// DBID returns the database id in the file header, once a record has been read.
func (r *Reader) DBID() int64 { return r.dbid }

// Incomplete returns the number of bytes of a half-written record after the last
// complete record, as of the last io.EOF.
func (r *Reader) Incomplete() int64 { return r.incomplete }

// Next reads the next transaction into t. The data and the content of t are valid
// until the next call; Txn.Clone copies them.
//
// The error is io.EOF at the end so far: at the end of the file, at the zeros of
// the preallocated rest, or at a record that the server has not yet written
// completely. Calling Next again later returns transactions written since.
//
// The error is a *DamageError if the file is damaged. Next returns the error
// again until Skip succeeds, or until the file has changed.
func (r *Reader) Next(t *Txn) error {
	if !r.opened {
		if err := r.readFileHeader(); err != nil {
			return err
		}
	}
	if ok, err := r.readRecord(t); ok || err != nil {
		return err
	}
	if err := r.checkRewritten(); err != nil {
		return err
	}
	// The server may have been writing the record while the window was read. The
	// server writes in order: a record whose end was in the file before the
	// record is read again is complete, or damaged.
	dataEnd, err := r.findDataEnd()
	if err != nil {
		return err
	}
	r.dropWindow()
	if ok, err := r.readRecord(t); ok || err != nil {
		return err
	}
	err = r.explain(dataEnd)
	r.dropWindow()
	r.incomplete = 0
	if errors.Is(err, io.EOF) {
		r.incomplete = dataEnd - r.off
	}
	return err
}

// Skip goes on behind a damaged record, if the offset of a record after the
// damage is known.
func (r *Reader) Skip(e *DamageError) bool {
	if e.Resume <= r.off {
		return false
	}
	r.off = e.Resume
	return true
}

// readFileHeader checks the start of the file. A file without a whole header has
// just been created.
func (r *Reader) readFileHeader() error {
	r.dropWindow()
	head, err := r.peek(fileHeaderSize)
	if err != nil {
		return err
	}
	if n := min(len(head), len(logMagic)); string(head[:n]) != logMagic[:n] {
		return r.damage(0, ErrForeign, fmt.Sprintf("the file starts with %q instead of %q", head[:n], logMagic))
	}
	if len(head) < fileHeaderSize {
		r.incomplete = int64(len(head))
		return io.EOF
	}
	if v := int32(binary.BigEndian.Uint32(head[4:])); v != fileVersion {
		return r.damage(0, ErrVersion, fmt.Sprintf("version %d of transaction logs; %d is known", v, fileVersion))
	}
	r.dbid, r.off, r.opened, r.incomplete = int64(binary.BigEndian.Uint64(head[8:])), fileHeaderSize, true, 0
	return nil
}

// readRecord decodes the record at the offset and goes on behind the record. If the bytes
// are no good record, readRecord returns false. The error is an error of reading.
func (r *Reader) readRecord(t *Txn) (bool, error) {
	head, err := r.peek(recordHeaderSize)
	if len(head) < recordHeaderSize {
		return false, err
	}
	sum, n := binary.BigEndian.Uint64(head), int32(binary.BigEndian.Uint32(head[8:]))
	if n < txnHeaderSize || n > maxRecord {
		return false, nil
	}
	size := recordHeaderSize + int(n) + 1
	if size > searchLimit && !r.endsRecord(r.off+int64(size)-1) {
		return false, nil // a damaged length must not cost memory
	}
	record, err := r.peek(size)
	if len(record) < size {
		return false, err
	}
	payload := record[recordHeaderSize : size-1 : size-1]
	if record[size-1] != endOfRecord || uint64(adler32.Checksum(payload)) != sum || !decodePayload(payload, t) {
		return false, nil
	}
	t.At, t.Size = Position{r.name, r.off}, int64(size)
	copy(r.lastHeader[:], record)
	r.lastAt, r.last, r.off, r.incomplete = r.off, t.Zxid, r.off+int64(size), 0
	return true, nil
}

// endsRecord reports whether a byte is the end of a record.
func (r *Reader) endsRecord(at int64) bool {
	var b [1]byte
	n, _ := r.src.ReadAt(b[:], at) // an error is met again when the record is read
	return n == 1 && b[0] == endOfRecord
}

// peek returns n bytes from the offset on, or fewer at the end of the file.
func (r *Reader) peek(n int) ([]byte, error) {
	skip := r.off - r.start
	if skip < 0 || skip > int64(len(r.window)) {
		r.dropWindow()
		skip = 0
	}
	if have := r.window[skip:]; len(have) >= n {
		return have[:n], nil
	}
	return r.fill(int(skip), n)
}

// fill moves the window to the offset and reads on until the window has n bytes.
// The buffer grows with the bytes that exist, not with the length that a damaged
// record claims.
func (r *Reader) fill(skip, n int) ([]byte, error) {
	have := copy(r.buf, r.window[skip:])
	r.start = r.off
	for {
		if have == len(r.buf) {
			bigger := make([]byte, 2*len(r.buf))
			copy(bigger, r.buf)
			r.buf = bigger
		}
		got, err := r.src.ReadAt(r.buf[have:], r.start+int64(have))
		have += got
		r.window = r.buf[:have]
		switch {
		case have >= n:
			return r.window[:n], nil
		case errors.Is(err, io.EOF):
			return r.window, nil
		case err != nil:
			return nil, fmt.Errorf("txnlog: read %s at offset %d: %w", r.name, r.start+int64(have), err)
		case got == 0:
			return nil, fmt.Errorf("txnlog: read %s at offset %d: %w", r.name, r.start+int64(have), io.ErrNoProgress)
		}
	}
}

// dropWindow forgets the bytes read ahead.
func (r *Reader) dropWindow() { r.window, r.start = r.buf[:0], r.off }

func (r *Reader) damage(resume int64, reason error, detail string) error {
	return &DamageError{At: Position{r.name, r.off}, Last: r.last, Resume: resume, Reason: reason, Detail: detail}
}
