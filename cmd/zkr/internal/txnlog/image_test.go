package txnlog_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog/logtest"
)

// image is a transaction log in memory, written as servers do.
type image struct{ logtest.Image }

func newImage() *image { return &image{*logtest.New()} }

// testSession is the session of all transactions of images.
const testSession = 0x1000_0000_0000_0001

// add appends a record and returns its offset.
func (m *image) add(zxid txnlog.Zxid, typ txnlog.Type, body []byte) int64 {
	at := time.UnixMilli(1_700_000_000_000 + int64(zxid&0xffffffff)*1000)
	return m.Add(&logtest.Header{Session: testSession, Cxid: int32(zxid), Zxid: zxid, Time: at, Type: typ}, body)
}

// set appends a setData of /n.
func (m *image) set(zxid txnlog.Zxid, data string) int64 {
	return m.add(zxid, txnlog.TypeSetData, logtest.Set("/n", data, uint32(zxid)))
}

// sets appends a setData for each zxid of a range.
func (m *image) sets(from, to txnlog.Zxid) *image {
	for z := from; z <= to; z++ {
		m.set(z, "value "+z.String())
	}
	return m
}

// padded returns the bytes with n zeros behind.
func (m *image) padded(n int) []byte { return append(append([]byte{}, m.Bytes...), make([]byte, n)...) }

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
