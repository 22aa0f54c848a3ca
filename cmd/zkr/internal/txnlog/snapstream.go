package txnlog

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/golang/snappy"
)

// The endings of compressed snapshots' names (snapshot.compression.method).
const (
	gzipSuffix   = ".gz"
	snappySuffix = ".snappy"
)

// openStream returns the uncompressed bytes of a snapshot with this name.
func openStream(src io.Reader, name string) (io.Reader, error) {
	switch {
	case strings.HasSuffix(name, gzipSuffix):
		z, err := gzip.NewReader(bufio.NewReader(src))
		if errors.Is(err, gzip.ErrHeader) {
			return nil, fmt.Errorf("%w: not compressed by gzip", ErrForeign)
		}
		if err != nil {
			return nil, streamError(err)
		}
		return z, nil
	case strings.HasSuffix(name, snappySuffix):
		return newSnappyReader(src)
	}
	return src, nil
}

// streamError sorts an error of reading into the reasons of a DamageError.
func streamError(err error) error {
	var bits flate.CorruptInputError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &bits):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// The framing of snappy-java's SnappyOutputStream: a header, then blocks of
// snappy's block format, each with its compressed length as a 32-bit integer. It
// is not the framing format of snappy itself.
const (
	snappyMagic      = "\x82SNAPPY\x00"
	snappyHeaderSize = 16 // magic, version, lowest compatible version
	snappyVersion    = 1
	// maxSnappyBlock bounds the memory for one block; servers write 32 KiB.
	maxSnappyBlock = 16 << 20
)

type snappyReader struct {
	src        *bufio.Reader
	compressed []byte
	block      []byte // memory of rest
	rest       []byte
}

func newSnappyReader(src io.Reader) (io.Reader, error) {
	r := &snappyReader{src: bufio.NewReader(src)}
	var head [snappyHeaderSize]byte
	n, err := io.ReadFull(r.src, head[:])
	switch {
	case string(head[:min(n, len(snappyMagic))]) != snappyMagic[:min(n, len(snappyMagic))]:
		return nil, fmt.Errorf("%w: not compressed by snappy-java", ErrForeign)
	case err != nil:
		return nil, streamError(err)
	}
	if lowest := binary.BigEndian.Uint32(head[12:]); lowest > snappyVersion {
		return nil, fmt.Errorf("%w: version %d of snappy-java's framing", ErrVersion, lowest)
	}
	return r, nil
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.readBlock(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *snappyReader) readBlock() error {
	var head [4]byte
	if _, err := io.ReadFull(r.src, head[:]); err != nil {
		return err // io.EOF between two blocks is the end
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxSnappyBlock {
		return fmt.Errorf("%w: snappy block of %d bytes", ErrCorrupt, size)
	}
	if int(size) > cap(r.compressed) {
		r.compressed = make([]byte, size)
	}
	block := r.compressed[:size]
	if _, err := io.ReadFull(r.src, block); err != nil {
		return io.ErrUnexpectedEOF
	}
	n, err := snappy.DecodedLen(block)
	if err != nil || n > maxSnappyBlock {
		return fmt.Errorf("%w: snappy block of %d bytes", ErrCorrupt, size)
	}
	if r.rest, err = snappy.Decode(r.block[:cap(r.block)], block); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if len(r.rest) > cap(r.block) {
		r.block = r.rest
	}
	return nil
}
