package tree

import (
	"fmt"
	"path"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// twin does the same as Tree in the dumbest way: a list of nodes, searched from
// the front, and counters computed from scratch.
type twin struct{ nodes []*twinNode }

type twinNode struct {
	path     string
	data     string
	owner    int64
	sets     int32
	created  int64
	changed  int64
	kidsAt   int64
	creates  int32
	deletes  int32
	children int
}

func newTwin() *twin { return &twin{nodes: []*twinNode{{path: "/"}}} }

func (w *twin) findNode(p string) *twinNode {
	for _, n := range w.nodes {
		if n.path == p {
			return n
		}
	}
	return nil
}

func (w *twin) createNode(p, data string, owner, zxid int64, seq bool) (string, proto.Code) {
	parent := w.findNode(path.Dir(p))
	switch {
	case parent == nil:
		return "", proto.NoNode
	case seq:
		p += fmt.Sprintf("%010d", parent.creates)
	}
	switch {
	case w.findNode(p) != nil:
		return "", proto.NodeExists
	case parent.owner != 0:
		return "", proto.NoChildrenForEphemerals
	}
	w.nodes = append(w.nodes, &twinNode{path: p, data: data, owner: owner, created: zxid, changed: zxid, kidsAt: zxid})
	parent.creates++
	parent.children++
	parent.kidsAt = zxid
	return p, proto.OK
}

func (w *twin) deleteNode(p string, version int32, zxid int64) proto.Code {
	n := w.findNode(p)
	switch {
	case p == "/":
		return proto.BadArguments
	case n == nil:
		return proto.NoNode
	case version != -1 && version != n.sets:
		return proto.BadVersion
	case n.children > 0:
		return proto.NotEmpty
	}
	w.dropNode(n, zxid)
	return proto.OK
}

func (w *twin) dropNode(n *twinNode, zxid int64) {
	parent := w.findNode(path.Dir(n.path))
	parent.deletes++
	parent.children--
	parent.kidsAt = zxid
	var left []*twinNode
	for _, m := range w.nodes {
		if m != n {
			left = append(left, m)
		}
	}
	w.nodes = left
}

func (w *twin) setData(p, data string, version int32, zxid int64) proto.Code {
	n := w.findNode(p)
	switch {
	case n == nil:
		return proto.NoNode
	case version != -1 && version != n.sets:
		return proto.BadVersion
	}
	n.data, n.changed = data, zxid
	n.sets++
	return proto.OK
}

func (w *twin) closeSession(owner, zxid int64) {
	for _, n := range append([]*twinNode(nil), w.nodes...) {
		if n.owner == owner {
			w.dropNode(n, zxid)
		}
	}
}

func (n *twinNode) String() string {
	return fmt.Sprintf("%s=%s v%d c%d own%d cz%d mz%d pz%d kids%d", n.path, n.data, n.sets, n.creates+n.deletes, n.owner, n.created, n.changed, n.kidsAt, n.children)
}

func (w *twin) dumpNodes() string {
	var out []string
	for _, n := range w.nodes {
		out = append(out, n.String())
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

// dumpTree writes the tree as the twin does. The root has an additional child,
// which no create has counted.
func dumpTree(t *Tree) string {
	var out []string
	for _, p := range t.UserPaths() {
		n := t.Get(p)
		s := n.Stat()
		if p == "/" {
			s.NumChildren--
			s.Cversion++
		}
		out = append(out, fmt.Sprintf("%s=%s v%d c%d own%d cz%d mz%d pz%d kids%d",
			p, n.Data, s.Version, s.Cversion, s.EphemeralOwner, s.Czxid, s.Mzxid, s.Pzxid, s.NumChildren))
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

func TestTreeDoesWhatItsDumbTwinDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, dumb := newWorld(), newTwin()
		replica := w.Clone()
		paths := []string{"/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/z", "/"}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			p := rapid.SampledFrom(paths).Draw(t, "path")
			version := rapid.SampledFrom([]int32{-1, -1, 0, 1}).Draw(t, "version")
			session := rapid.SampledFrom([]int64{7, 8}).Draw(t, "session")
			data := fmt.Sprint(i)
			q := &proto.Request{Path: p, Data: []byte(data), ACL: proto.WorldACL(), Version: version}
			zxid := w.zxid + 1
			var wantPath string
			var want proto.Code
			switch rapid.IntRange(0, 5).Draw(t, "op") {
			case 0, 1:
				q.Op, q.Flags = proto.OpCreate, int32(rapid.IntRange(0, 3).Draw(t, "flags"))
				owner := int64(0)
				if q.Flags&1 != 0 {
					owner = session
				}
				seq := q.Flags >= 2
				if p == "/" && !seq {
					want = proto.NodeExists
					break
				}
				wantPath, want = dumb.createNode(p, data, owner, zxid, seq)
			case 2:
				q.Op = proto.OpDelete
				want = dumb.deleteNode(p, version, zxid)
			case 3:
				q.Op = proto.OpSetData
				want = dumb.setData(p, data, version, zxid)
			case 4:
				q.Op = proto.OpCloseSession
				dumb.closeSession(session, zxid)
			case 5:
				q.Op = proto.OpCheck
				n := dumb.findNode(p)
				if n == nil {
					want = proto.NoNode
				} else if version != -1 && n.sets != version {
					want = proto.BadVersion
				}
			}
			txn := w.Prepare(q, &Caller{Session: session})
			w.zxid++
			txn.Zxid, txn.Time = w.zxid, w.now
			_, res := w.Apply(txn)
			replica.Apply(txn)
			require.Equal(t, want, txn.Err, "%v %s", q.Op, p)
			if wantPath != "" {
				require.Equal(t, wantPath, res[0].Path)
			}
		}
		require.Equal(t, dumb.dumpNodes(), dumpTree(w.Tree))
		require.Equal(t, dumpTree(w.Tree), dumpTree(replica), "a replica with the same transactions has the same state")
	})
}

func TestMultiIsTheSameAsItsPartsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ops []proto.Request
		for range rapid.IntRange(1, 8).Draw(t, "parts") {
			ops = append(ops, proto.Request{
				Op:      rapid.SampledFrom([]proto.Op{proto.OpCreate, proto.OpCreate, proto.OpDelete, proto.OpSetData, proto.OpCheck}).Draw(t, "op"),
				Path:    rapid.SampledFrom([]string{"/a", "/a/b", "/c"}).Draw(t, "path"),
				Flags:   rapid.SampledFrom([]int32{0, 1, 2}).Draw(t, "flags"),
				Version: rapid.SampledFrom([]int32{-1, 0, 1}).Draw(t, "version"),
				ACL:     proto.WorldACL(),
			})
		}
		caller := &Caller{Session: 7}
		together, apart := newWorld(), newWorld()
		together.createNode("/a", 0)
		apart.createNode("/a", 0)
		_, res, code := together.applyRequest(caller, &proto.Request{Op: proto.OpMulti, Ops: ops})
		require.Equal(t, proto.OK, code)
		failed := false
		for i := range ops {
			_, one, code := apart.applyRequest(caller, &ops[i])
			switch {
			case failed:
				require.Equal(t, proto.RuntimeInconsistency, res[i].Err)
			case code != proto.OK:
				require.Equal(t, code, res[i].Err)
				failed = true
			case res[i].Err == proto.OK && res[i].Op != proto.OpError:
				require.Equal(t, one[0].Path, res[i].Path)
				require.Equal(t, one[0].Stat.Version, res[i].Stat.Version)
			}
			if failed {
				continue
			}
		}
		if failed {
			require.Equal(t, []string{"/", "/a"}, together.UserPaths())
		} else {
			require.Equal(t, apart.UserPaths(), together.UserPaths())
		}
	})
}

func FuzzValidPath(f *testing.F) {
	for _, p := range []string{"/", "/a", "/a/../b", "//", "/a/", "", "/\x00", "/\xff", "/é", "/a/.", "/..a"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if !ValidPath(p) {
			return
		}
		if p[0] != '/' || strings.ContainsAny(p, "\x00\n") || p != "/" && path.Clean(p) != p {
			t.Fatalf("%q accepted", p)
		}
	})
}
