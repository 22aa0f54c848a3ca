package txnlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/adler32"
	"io"
	"os"
	"time"
)

const (
	snapshotMagic = "ZKSN"
	statSize      = 60
	sealSize      = 13 // checksum, "/"
	// maxFooter bounds what follows the seal of the tree: digest and last zxid
	// with their seals.
	maxFooter = 256
)

// Stat is what a server stores of a znode beside path, data and ACL.
type Stat struct {
	// Czxid and Mzxid are the transactions that created the znode and that changed
	// its data last; Pzxid is the last that changed its list of children.
	Czxid, Mzxid, Pzxid Zxid
	// Ctime and Mtime are the times of Czxid and Mzxid.
	Ctime, Mtime time.Time
	// Version and Aversion count changes of the data and of the ACL. Cversion
	// counts created children; a server's API shows another number.
	Version, Cversion, Aversion int32
	Owner                       Owner
}

// Node is a znode in a snapshot.
type Node struct {
	Path string
	// Data is nil if the znode has none. Size is, in a recording, the length of all data
	// if Data is only the beginning.
	Data []byte
	Size int
	// ACL is the number of the list of permissions within the snapshot, or -1 for
	// a znode open to all.
	ACL  int64
	Stat Stat
}

// SessionTimeout is a session in a snapshot.
type SessionTimeout struct {
	Session int64
	Timeout time.Duration
}

// Snapshot reads one snapshot. A Snapshot is not safe for concurrent use.
type Snapshot struct {
	// Sessions are the sessions that existed when the snapshot was begun.
	Sessions []SessionTimeout

	name    string
	src     io.Reader
	closer  io.Closer
	window  []byte // bytes read ahead
	buf     []byte
	off     int64 // of window, in uncompressed bytes
	sum     hash.Hash32
	nodes   int
	end     error // io.EOF after the last node, or the damage
	dbid    int64
	digest  Digest
	digestZ Zxid
	last    Zxid
}

// OpenSnapshot opens a snapshot, compressed if its name ends in .gz or .snappy, and
// reads the part before the znodes. The caller closes the snapshot.
func OpenSnapshot(path string) (*Snapshot, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("txnlog: open snapshot: %w", err)
	}
	s, err := NewSnapshot(f, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.closer = f
	return s, nil
}

// NewSnapshot reads a snapshot from src. The name is used in errors, and its ending
// tells the compression.
func NewSnapshot(src io.Reader, name string) (*Snapshot, error) {
	s := &Snapshot{name: name, buf: make([]byte, windowSize), sum: adler32.New()}
	if f, ok := parseName(name); ok {
		s.last = f.Zxid
	}
	var err error
	if s.src, err = openStream(src, name); err != nil {
		return nil, s.fail(err)
	}
	if err := s.readHead(); err != nil {
		return nil, s.fail(err)
	}
	return s, nil
}

// Close closes the file of OpenSnapshot.
func (s *Snapshot) Close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}

// DBID returns the database id in the file header.
func (s *Snapshot) DBID() int64 { return s.dbid }

// Digest returns the digest of the tree and the transaction after which the
// server computed the digest. Servers before 3.6 write none, and the version is 0.
// Both are known after Next has returned io.EOF.
func (s *Snapshot) Digest() (Digest, Zxid) { return s.digest, s.digestZ }

// End returns the newest zxid in the snapshot and its name: a state made of the
// snapshot is exact only after all transactions up to End, or later, have been
// applied. End is known after Next has returned io.EOF. Servers before 3.6 record
// only the zxids of znodes, so that deletions after End may be in the snapshot.
func (s *Snapshot) End() Zxid { return s.last }

// Next reads the next znode into n, parents before children. The data of n is valid
// until the next call.
//
// The error is io.EOF after the last znode, if the checksums are right: only then
// are all znodes known to be as the server wrote them. Any damage is a
// *DamageError. Further calls return the same error.
func (s *Snapshot) Next(n *Node) error {
	if s.end == nil {
		if err := s.readNode(n); err != nil {
			s.end = s.fail(err)
		}
	}
	return s.end
}

// fail makes a DamageError of a reason.
func (s *Snapshot) fail(err error) error {
	for _, reason := range []error{ErrForeign, ErrVersion, ErrCorrupt, ErrTruncated} {
		if errors.Is(err, reason) {
			return &DamageError{At: Position{s.name, s.off}, Reason: err, Detail: fmt.Sprintf("after %d znodes", s.nodes)}
		}
	}
	if errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("txnlog: read %s at offset %d: %w", s.name, s.off, err)
}

// need returns the next n bytes without taking them.
func (s *Snapshot) need(n int) ([]byte, error) {
	if n > maxRecord {
		return nil, fmt.Errorf("%w: length %d", ErrCorrupt, n)
	}
	if len(s.window) < n {
		s.window = s.buf[:copy(s.buf, s.window)]
	}
	for len(s.window) < n {
		have := len(s.window)
		if have == len(s.buf) { // grows with the bytes that exist
			s.buf = append(s.buf, make([]byte, len(s.buf))...)
		}
		got, err := s.src.Read(s.buf[have:])
		s.window = s.buf[:have+got]
		if err != nil && len(s.window) < n {
			return nil, streamError(err)
		}
	}
	return s.window[:n], nil
}

// readBytes takes n bytes, which count for the checksum.
func (s *Snapshot) readBytes(n int) ([]byte, error) {
	b, err := s.need(n)
	if err != nil {
		return nil, err
	}
	_, _ = s.sum.Write(b) // never fails
	s.window = s.window[n:]
	s.off += int64(n)
	return b, nil
}

func (s *Snapshot) takeInt32() (int32, error) {
	b, err := s.readBytes(4)
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(b)), nil
}

// takeLength takes the length of a string or the number of elements of a vector.
func (s *Snapshot) takeLength(what string) (int, error) {
	n, err := s.takeInt32()
	if err == nil && n < 0 {
		err = fmt.Errorf("%w: %s %d", ErrCorrupt, what, n)
	}
	return int(n), err
}
