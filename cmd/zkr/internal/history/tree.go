package history

import (
	"bytes"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// tree has the znodes at and below a root, as they are after a transaction. Numbers of
// children and versions of lists are not kept: recognition does not need them.
type tree struct {
	root  string
	nodes map[string]*recognize.Node
	// owned are the ephemeral znodes of sessions.
	owned map[int64]map[string]bool
	// fresh are the znodes of the last transaction that were not there before it.
	fresh map[string]bool
}

func newTree(root string) *tree {
	return &tree{root: root, nodes: map[string]*recognize.Node{}, owned: map[int64]map[string]bool{}, fresh: map[string]bool{}}
}

// within reports whether a path is at or below the root.
func (t *tree) within(path string) bool {
	rest, below := strings.CutPrefix(path, t.root)
	return below && (rest == "" || t.root == "/" || rest[0] == '/')
}

// load takes a znode of a snapshot.
func (t *tree) load(n *txnlog.Node) {
	if !t.within(n.Path) {
		return
	}
	t.put(known(n.Path, n.Data, n.Size, n.Stat))
}

// known makes a znode with this stat. Size is the length of all data if data is only the
// beginning.
func known(path string, data []byte, size int, st txnlog.Stat) *recognize.Node {
	size = max(size, len(data))
	n := recognize.NewNode(path, bytes.Clone(data), session.Stat{
		Czxid: int64(st.Czxid), Mzxid: int64(st.Mzxid), Pzxid: int64(st.Pzxid),
		Ctime: st.Ctime.UnixMilli(), Mtime: st.Mtime.UnixMilli(), Version: st.Version, Aversion: st.Aversion,
		EphemeralOwner: st.Owner.Session(), DataLength: int32(size), //nolint:gosec // a record is shorter
	})
	n.Size = size
	return n
}

// adopt makes the tree of these znodes, which are the tree's from then on.
func (t *tree) adopt(nodes map[string]*recognize.Node) {
	t.nodes = nodes
	for _, n := range nodes {
		t.own(n)
	}
}

func (t *tree) put(n *recognize.Node) {
	t.nodes[n.Path] = n
	t.own(n)
}

// own notes an ephemeral znode with its session.
func (t *tree) own(n *recognize.Node) {
	if owner := n.Stat.EphemeralOwner; owner != 0 {
		if t.owned[owner] == nil {
			t.owned[owner] = map[string]bool{}
		}
		t.owned[owner][n.Path] = true
	}
}

func (t *tree) remove(path string) {
	n := t.nodes[path]
	if n == nil {
		return
	}
	delete(t.nodes, path)
	if owner := n.Stat.EphemeralOwner; owner != 0 {
		if delete(t.owned[owner], path); len(t.owned[owner]) == 0 {
			delete(t.owned, owner)
		}
	}
}

// apply makes the state after a transaction. The changed znodes are returned by their paths,
// nil for removed ones. A transaction that a snapshot has in part is applied again without
// harm: what exists is not created, and an older change changes nothing.
func (t *tree) apply(txn *txnlog.Txn) map[string]*recognize.Node {
	if txn.Failed() {
		return nil
	}
	changed := map[string]*recognize.Node{}
	clear(t.fresh)
	for i := range txn.Changes {
		switch ch := &txn.Changes[i]; {
		case ch.Type == txnlog.TypeCloseSession && !txn.PathsKnown:
			for path := range t.owned[txn.Session] {
				changed[path] = nil
				t.remove(path)
			}
		case !t.within(ch.Path):
		case ch.Stat != nil: // in a recording
			n := known(ch.Path, ch.Data, ch.Size, *ch.Stat)
			t.noteFresh(ch.Path, changed)
			t.remove(ch.Path)
			t.put(n)
			changed[ch.Path] = n
		case ch.Type.Creates():
			t.create(txn, ch, changed)
		case ch.Type.Deletes():
			if t.nodes[ch.Path] != nil {
				changed[ch.Path] = nil
				t.remove(ch.Path)
			}
		case ch.Type == txnlog.TypeSetData || ch.Type == txnlog.TypeReconfig:
			t.set(txn, ch, changed)
		}
	}
	return changed
}

func (t *tree) create(txn *txnlog.Txn, ch *txnlog.Change, changed map[string]*recognize.Node) {
	if t.nodes[ch.Path] != nil {
		return
	}
	zxid, ms := int64(txn.Zxid), txn.Time.UnixMilli()
	n := recognize.NewNode(ch.Path, bytes.Clone(ch.Data), session.Stat{
		Czxid: zxid, Mzxid: zxid, Pzxid: zxid, Ctime: ms, Mtime: ms,
		EphemeralOwner: ch.Owner.Session(), DataLength: int32(len(ch.Data)), //nolint:gosec // a record is shorter
	})
	t.noteFresh(ch.Path, changed)
	t.put(n)
	changed[ch.Path] = n
}

// noteFresh notes a znode that is about to be created, unless the same transaction has removed it.
func (t *tree) noteFresh(path string, changed map[string]*recognize.Node) {
	if _, touched := changed[path]; !touched && t.nodes[path] == nil {
		t.fresh[path] = true
	}
}

func (t *tree) set(txn *txnlog.Txn, ch *txnlog.Change, changed map[string]*recognize.Node) {
	old := t.nodes[ch.Path]
	if old == nil || int64(txn.Zxid) < old.Stat.Mzxid || int64(txn.Zxid) == old.Stat.Mzxid && ch.Version <= old.Stat.Version {
		return // one transaction may create a znode and change it, or change it twice
	}
	st := old.Stat
	st.Mzxid, st.Mtime, st.Version = int64(txn.Zxid), txn.Time.UnixMilli(), ch.Version
	st.DataLength = int32(len(ch.Data)) //nolint:gosec // a record is shorter
	n := recognize.NewNode(ch.Path, bytes.Clone(ch.Data), st)
	t.put(n)
	changed[ch.Path] = n
}
