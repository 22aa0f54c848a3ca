package txnlog

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// readHead reads the file header, the sessions and the lists of permissions.
func (s *Snapshot) readHead() error {
	head, err := s.need(len(snapshotMagic))
	if err != nil {
		return err
	}
	if string(head) != snapshotMagic {
		return fmt.Errorf("%w: the file starts with %q instead of %q", ErrForeign, head, snapshotMagic)
	}
	if head, err = s.readBytes(fileHeaderSize); err != nil {
		return err
	}
	if v := int32(binary.BigEndian.Uint32(head[4:])); v != fileVersion {
		return fmt.Errorf("%w: version %d of snapshots; %d is known", ErrVersion, v, fileVersion)
	}
	s.dbid = int64(binary.BigEndian.Uint64(head[8:]))
	n, err := s.takeLength("number of sessions")
	for ; n > 0 && err == nil; n-- {
		var b []byte
		if b, err = s.readBytes(12); err == nil {
			s.Sessions = append(s.Sessions, SessionTimeout{
				Session: int64(binary.BigEndian.Uint64(b)),
				Timeout: time.Duration(int32(binary.BigEndian.Uint32(b[8:]))) * time.Millisecond,
			})
		}
	}
	if err != nil {
		return err
	}
	return s.skipACLs()
}

// skipACLs skips the table of lists of permissions.
func (s *Snapshot) skipACLs() error {
	lists, err := s.takeLength("number of ACLs")
	for ; lists > 0 && err == nil; lists-- {
		if _, err = s.readBytes(8); err != nil {
			break
		}
		var n int
		for n, err = s.takeLength("length of an ACL"); n > 0 && err == nil; n-- {
			if _, err = s.readBytes(4); err == nil {
				err = s.skipString()
			}
			if err == nil {
				err = s.skipString()
			}
		}
	}
	return err
}

// skipString skips a string, which may be null.
func (s *Snapshot) skipString() error {
	n, err := s.takeInt32()
	if err != nil || n == -1 {
		return err
	}
	if n < 0 {
		return fmt.Errorf("%w: length %d of a string", ErrCorrupt, n)
	}
	_, err = s.readBytes(int(n))
	return err
}

// readNode reads a znode, or the end of the file. A znode is taken in one piece,
// so that the offset of an error is the start of the znode.
func (s *Snapshot) readNode(n *Node) error {
	head, err := s.need(4)
	if err != nil {
		return err
	}
	pathLen := int(int32(binary.BigEndian.Uint32(head)))
	if pathLen < 0 || pathLen > maxRecord {
		return fmt.Errorf("%w: length %d of a path", ErrCorrupt, pathLen)
	}
	head, err = s.need(4 + pathLen)
	if err != nil {
		return err
	}
	path := head[4:]
	if string(path) == "/" {
		_, _ = s.readBytes(len(head)) // is in the window
		return s.readFooter()
	}
	if (pathLen == 0) != (s.nodes == 0) || pathLen > 0 && path[0] != '/' {
		return fmt.Errorf("%w: %.80q is not the path of the next znode", ErrCorrupt, path)
	}
	if head, err = s.need(8 + pathLen); err != nil {
		return err
	}
	dataLen := int(int32(binary.BigEndian.Uint32(head[4+pathLen:])))
	stored := max(dataLen, 0)
	if dataLen < -1 || stored > maxRecord {
		return fmt.Errorf("%w: length %d of the data of %.80q", ErrCorrupt, dataLen, head[4:4+pathLen])
	}
	node, err := s.readBytes(8 + pathLen + stored + 8 + statSize)
	if err != nil {
		return err
	}
	n.Path, n.Data = string(node[4:4+pathLen]), nil
	if n.Path == "" {
		n.Path = "/"
	}
	node = node[8+pathLen:]
	if dataLen >= 0 {
		n.Data = node[:stored:stored]
	}
	c := cursor{b: node[stored:]}
	n.ACL = c.readInt64()
	n.Stat = c.readStat()
	s.last = max(s.last, n.Stat.Czxid, n.Stat.Mzxid, n.Stat.Pzxid)
	s.nodes++
	return nil
}

func (c *cursor) readStat() (st Stat) {
	st.Czxid, st.Mzxid = Zxid(c.readInt64()), Zxid(c.readInt64())
	st.Ctime, st.Mtime = time.UnixMilli(c.readInt64()), time.UnixMilli(c.readInt64())
	st.Version, st.Cversion, st.Aversion = c.readInt32(), c.readInt32(), c.readInt32()
	st.Owner, st.Pzxid = Owner(c.readInt64()), Zxid(c.readInt64())
	return st
}

// readFooter checks the seal of the tree, and reads what servers since 3.6
// (digest) and 3.9 (last zxid) may have written behind it, each with a further seal.
func (s *Snapshot) readFooter() error {
	if err := s.checkSeal(); err != nil {
		return err
	}
	rest, err := io.ReadAll(io.LimitReader(s.src, maxFooter))
	if err != nil {
		return streamError(err)
	}
	s.window = append(append([]byte{}, s.window...), rest...)
	s.buf = s.window
	if len(s.window) >= 12+sealSize {
		if err := s.readDigest(); err != nil {
			return err
		}
	}
	if len(s.window) > 0 {
		b, err := s.readBytes(8)
		if err != nil {
			return err
		}
		s.last = max(s.last, Zxid(binary.BigEndian.Uint64(b)))
		if err := s.checkSeal(); err != nil {
			return err
		}
	}
	if len(s.window) > 0 {
		return fmt.Errorf("%w: %d bytes behind the end", ErrCorrupt, len(s.window))
	}
	return io.EOF
}

// readDigest reads zxid, version and digest. Early versions of 3.6 wrote a string
// in the place of the number.
func (s *Snapshot) readDigest() error {
	b, err := s.readBytes(12)
	if err != nil {
		return err
	}
	s.digestZ, s.digest.Version = Zxid(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[8:]))
	s.last = max(s.last, s.digestZ)
	if s.digest.Version < 2 {
		if err := s.skipString(); err != nil {
			return err
		}
		return s.checkSeal()
	}
	if b, err = s.readBytes(8); err != nil {
		return err
	}
	s.digest.Tree = int64(binary.BigEndian.Uint64(b))
	return s.checkSeal()
}

// checkSeal compares the checksum of all bytes so far with the next bytes, which
// count for the checksum of a further seal.
func (s *Snapshot) checkSeal() error {
	want := uint64(s.sum.Sum32())
	b, err := s.need(sealSize)
	if err != nil {
		return err
	}
	if got := binary.BigEndian.Uint64(b); got != want {
		return fmt.Errorf("%w: checksum %#x of content with checksum %#x", ErrCorrupt, got, want)
	}
	if string(b[8:]) != "\x00\x00\x00\x01/" {
		return fmt.Errorf("%w: %q instead of the end mark", ErrCorrupt, b[8:])
	}
	_, err = s.readBytes(sealSize)
	return err
}
