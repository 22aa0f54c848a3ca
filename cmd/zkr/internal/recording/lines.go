package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// maxLine is the longest line: znodes have up to 1 MiB by default, and can be allowed more.
const maxLine = 64 << 20

// lines reads the records of one file.
type lines struct {
	name   string
	src    io.Reader
	scan   *bufio.Scanner
	offset int64 // in the uncompressed file
	begun  bool  // the first record was read
	ended  bool  // the record End was read
}

func newLines(src io.Reader, name string) *lines { return &lines{name: name, src: src} }

// next returns the next record. The error is io.EOF at the end of the file,
// io.ErrUnexpectedEOF if the file ends without an end, and otherwise a
// txnlog.DamageError, or one of the file system.
func (l *lines) next() (*Record, error) {
	if l.scan == nil {
		z, err := gzip.NewReader(l.src)
		if err != nil {
			return nil, l.explain(err)
		}
		l.scan = bufio.NewScanner(z)
		l.scan.Buffer(nil, maxLine)
		l.scan.Split(splitLines)
	}
	if !l.scan.Scan() {
		if err := l.scan.Err(); err != nil {
			return nil, l.explain(err)
		}
		if !l.ended {
			return nil, l.damage(txnlog.ErrCorrupt, "the last record is missing")
		}
		return nil, io.EOF
	}
	line := l.scan.Bytes()
	r, err := decodeLine(line)
	switch {
	case err != nil:
		return nil, l.damage(txnlog.ErrCorrupt, err.Error())
	case !l.begun && r.Kind != Begin:
		return nil, l.damage(txnlog.ErrForeign, "the file does not begin with the record begin")
	case !l.begun && r.Version != formatVersion:
		return nil, l.damage(txnlog.ErrVersion, fmt.Sprintf("version %d of recordings; %d is known", r.Version, formatVersion))
	case l.ended:
		return nil, l.damage(txnlog.ErrCorrupt, "records follow the last one")
	}
	l.begun, l.ended = true, r.Kind == End
	l.offset += int64(len(line)) + 1
	return r, nil
}

// splitLines splits whole lines: what follows the last line break is half written.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

func (l *lines) damage(reason error, detail string) error {
	return &txnlog.DamageError{At: txnlog.Position{File: l.name, Offset: l.offset}, Reason: reason, Detail: detail}
}

// explain turns an error of the stream into one of next.
func (l *lines) explain(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if l.ended {
			return io.EOF // the checksum of the stream is missing; each record has its own
		}
		return io.ErrUnexpectedEOF
	case errors.Is(err, gzip.ErrHeader) && l.offset == 0:
		return l.damage(txnlog.ErrForeign, err.Error())
	case errors.As(err, new(*fs.PathError)):
		return err
	}
	return l.damage(txnlog.ErrCorrupt, err.Error())
}
