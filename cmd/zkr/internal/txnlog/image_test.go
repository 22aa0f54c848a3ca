package txnlog_test

import (
	"encoding/binary"
	"hash/adler32"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// image is a transaction log in memory, written as servers do.
type image struct{ b []byte }

func newImage() *image {
	return &image{append([]byte("ZKLG"), 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)}
}

// testSession is the session of all transactions of images.
const testSession = 0x1000_0000_0000_0001

func putString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// putACL appends the permissions world:anyone:cdrwa.
func putACL(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, 1), 31)
	return putString(putString(b, "world"), "anyone")
}

func createBody(path, data string, ephemeral bool, cversion uint32) []byte {
	b := putACL(putString(putString(nil, path), data))
	if ephemeral {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return binary.BigEndian.AppendUint32(b, cversion)
}

func setBody(path, data string, version uint32) []byte {
	return binary.BigEndian.AppendUint32(putString(putString(nil, path), data), version)
}

// payload encodes header and record.
func payload(zxid txnlog.Zxid, millis int64, typ txnlog.Type, body []byte) []byte {
	p := binary.BigEndian.AppendUint64(nil, testSession)
	p = binary.BigEndian.AppendUint32(p, uint32(zxid))
	p = binary.BigEndian.AppendUint64(p, uint64(zxid))
	p = binary.BigEndian.AppendUint64(p, uint64(millis))
	p = binary.BigEndian.AppendUint32(p, uint32(typ))
	return append(p, body...)
}

// add appends a record and returns its offset.
func (m *image) add(zxid txnlog.Zxid, typ txnlog.Type, body []byte) int64 {
	at := int64(len(m.b))
	p := payload(zxid, 1_700_000_000_000+int64(zxid&0xffffffff)*1000, typ, body)
	m.b = binary.BigEndian.AppendUint64(m.b, uint64(adler32.Checksum(p)))
	m.b = binary.BigEndian.AppendUint32(m.b, uint32(len(p)))
	m.b = append(append(m.b, p...), 'B')
	return at
}

// set appends a setData of /n.
func (m *image) set(zxid txnlog.Zxid, data string) int64 {
	return m.add(zxid, txnlog.TypeSetData, setBody("/n", data, uint32(zxid)))
}

// sets appends a setData for each zxid of a range.
func (m *image) sets(from, to txnlog.Zxid) *image {
	for z := from; z <= to; z++ {
		m.set(z, "value "+z.String())
	}
	return m
}

// padded returns the bytes with n zeros behind.
func (m *image) padded(n int) []byte { return append(append([]byte{}, m.b...), make([]byte, n)...) }

// serverDir writes logs into a new folder of a server.
func serverDir(t testing.TB, logs map[string][]byte) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "version-2"), 0o755))
	for name, content := range logs {
		writeFile(t, root, name, content)
	}
	return root
}

func writeFile(t testing.TB, root, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(root, "version-2", name)
	require.NoError(t, os.WriteFile(path, content, 0o644))
	return path
}

func openDir(t testing.TB, name, root string) *txnlog.Folder {
	t.Helper()
	f, err := txnlog.OpenFolder(name, root)
	require.NoError(t, err)
	return f
}
