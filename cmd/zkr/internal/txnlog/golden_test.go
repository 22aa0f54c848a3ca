package txnlog_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

var update = flag.Bool("update", false, "write the golden files again, with the ZooKeeper of this machine") // read only

// goldenVersions are the folders of testdata with the files of a server's version.
func goldenVersions(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "zookeeper-*"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	return dirs
}

// readLog reads one log to its end so far.
func readLog(t testing.TB, path string) []*txnlog.Txn {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	out, err := readAll(txnlog.NewReader(f, path))
	require.NoError(t, err, path)
	return out
}

// readAll returns the transactions of a reader, and the error that ended it unless
// it is io.EOF.
func readAll(r *txnlog.Reader) ([]*txnlog.Txn, error) {
	var out []*txnlog.Txn
	for {
		var txn txnlog.Txn
		switch err := r.Next(&txn); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, err
		}
		out = append(out, txn.Clone())
	}
}

// describe writes a transaction in a line, without what differs from run to run.
func describe(t *txnlog.Txn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", t.Zxid, t.Type)
	if t.Failed() {
		fmt.Fprintf(&b, " failed %d", t.Err)
	}
	if t.PathsKnown {
		b.WriteString(" with paths")
	}
	if t.Digest.Version != 0 {
		fmt.Fprintf(&b, " digest %d", t.Digest.Version)
	}
	for _, c := range t.Changes {
		fmt.Fprintf(&b, "; %s %s", c.Type, c.Path)
		switch c.Type {
		case txnlog.TypeCreateSession:
			fmt.Fprintf(&b, "%s", c.Timeout)
		case txnlog.TypeError:
			fmt.Fprintf(&b, "%d", c.Err)
		case txnlog.TypeReconfig, txnlog.TypeDelete, txnlog.TypeDeleteContainer, txnlog.TypeCloseSession:
		case txnlog.TypeSetACL, txnlog.TypeCheck:
			fmt.Fprintf(&b, " v%d", c.Version)
		case txnlog.TypeSetData:
			if strings.HasPrefix(c.Path, "/zookeeper/config") {
				break // addresses differ
			}
			fmt.Fprintf(&b, " %q v%d", c.Data, c.Version)
		default:
			fmt.Fprintf(&b, " %q cversion %d%s", c.Data, c.ParentCversion, describeOwner(c.Owner))
		}
	}
	return b.String()
}

func describeOwner(o txnlog.Owner) string {
	switch {
	case o.Container():
		return " container"
	case o.TTL() != 0:
		return " ttl " + o.TTL().String()
	case o.Session() != 0:
		return " ephemeral"
	}
	return ""
}

// describeSnapshot lists the znodes of a snapshot, below their checksum.
func describeSnapshot(t testing.TB, path string) []string {
	t.Helper()
	s, err := txnlog.OpenSnapshot(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	out := []string{fmt.Sprintf("%d sessions", len(s.Sessions))}
	for {
		var n txnlog.Node
		err := s.Next(&n)
		if errors.Is(err, io.EOF) {
			digest, at := s.Digest()
			return append(out, fmt.Sprintf("digest %d at %s, end %s", digest.Version, at, s.End()))
		}
		require.NoError(t, err, path)
		data := fmt.Sprintf("%q", n.Data)
		if n.Path == "/zookeeper/config" {
			data = "..."
		}
		out = append(out, fmt.Sprintf("%s %s v%d cversion %d czxid %s mzxid %s pzxid %s%s", n.Path, data,
			n.Stat.Version, n.Stat.Cversion, n.Stat.Czxid, n.Stat.Mzxid, n.Stat.Pzxid, describeOwner(n.Stat.Owner)))
	}
}

// describeFolder describes all files of a server.
func describeFolder(t testing.TB, root string) string {
	t.Helper()
	f, err := txnlog.OpenFolder("golden", root)
	require.NoError(t, err)
	var b strings.Builder
	for _, log := range f.Logs {
		fmt.Fprintln(&b, filepath.Base(log.Path))
		for _, txn := range readLog(t, log.Path) {
			fmt.Fprintln(&b, "  "+describe(txn))
		}
	}
	for _, s := range f.Snapshots {
		fmt.Fprintln(&b, filepath.Base(s.Path))
		for _, line := range describeSnapshot(t, s.Path) {
			fmt.Fprintln(&b, "  "+line)
		}
	}
	return b.String()
}

// TestFilesOfServersAreRead compares files written by real servers with their
// descriptions. TestGoldenOnApache writes both.
func TestFilesOfServersAreRead(t *testing.T) {
	for _, version := range goldenVersions(t) {
		for _, kind := range goldenKinds {
			t.Run(filepath.Base(version)+" "+kind.name, func(t *testing.T) {
				dir := filepath.Join(version, kind.name)
				want, err := os.ReadFile(dir + ".golden")
				require.NoError(t, err)
				require.Equal(t, string(want), describeFolder(t, dir))
			})
		}
	}
}

// TestGoldenFilesHaveAllTypes guards the golden files: each type of a transaction
// and each kind of znode is among them, as a client asked for it.
func TestGoldenFilesHaveAllTypes(t *testing.T) {
	for _, version := range goldenVersions(t) {
		seen := map[txnlog.Type]int{}
		var failedMulti, closed, owners int
		for _, kind := range goldenKinds {
			f, err := txnlog.OpenFolder("golden", filepath.Join(version, kind.name))
			require.NoError(t, err)
			for _, log := range f.Logs {
				for _, txn := range readLog(t, log.Path) {
					seen[txn.Type]++
					for _, c := range txn.Changes {
						seen[c.Type]++
						if describeOwner(c.Owner) != "" {
							owners++
						}
					}
					if txn.Type == txnlog.TypeMulti && txn.Failed() {
						failedMulti++
						require.EqualValues(t, -110, txn.Err, "node exists")
					}
					if txn.Type == txnlog.TypeCloseSession && len(txn.Changes) > 1 {
						closed++
						require.True(t, slices.ContainsFunc(txn.Changes, func(c txnlog.Change) bool { return c.Path == "/ephemeral" }))
					}
					require.Equal(t, kind.digest && txn.Type != txnlog.TypeError, txn.Digest.Version != 0 && txn.Type != txnlog.TypeError)
				}
			}
		}
		for _, typ := range []txnlog.Type{
			txnlog.TypeError, txnlog.TypeCreate, txnlog.TypeDelete, txnlog.TypeSetData, txnlog.TypeSetACL, txnlog.TypeCheck, txnlog.TypeMulti, txnlog.TypeCreate2,
			txnlog.TypeReconfig, txnlog.TypeCreateContainer, txnlog.TypeDeleteContainer, txnlog.TypeCreateTTL, txnlog.TypeCreateSession, txnlog.TypeCloseSession,
		} {
			require.Positive(t, seen[typ], typ)
		}
		require.Positive(t, failedMulti)
		require.Positive(t, closed)
		require.GreaterOrEqual(t, owners, 3)
	}
}
