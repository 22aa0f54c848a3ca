package tree

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// world is a tree with a counter of zxids.
type world struct {
	*Tree
	zxid int64
	now  int64
}

func newWorld() *world { return &world{Tree: New(), now: 1000} }

func (w *world) applyRequest(caller *Caller, q *proto.Request) ([]Event, []Result, proto.Code) {
	if q.ACL == nil {
		q.ACL = proto.WorldACL()
	}
	txn := w.Prepare(q, caller)
	w.zxid++
	txn.Zxid, txn.Time = w.zxid, w.now
	events, res := w.Apply(txn)
	return events, res, txn.Err
}

func (w *world) createNode(path string, flags int32) (string, proto.Code) {
	_, res, code := w.applyRequest(&Caller{Session: 7}, &proto.Request{Op: proto.OpCreate, Path: path, Flags: flags})
	if code != proto.OK {
		return "", code
	}
	return res[0].Path, code
}

func (w *world) deleteNode(path string, version int32) proto.Code {
	_, _, code := w.applyRequest(&Caller{}, &proto.Request{Op: proto.OpDelete, Path: path, Version: version})
	return code
}

func TestStatFieldsFollowChanges(t *testing.T) {
	w := newWorld()
	_, code := w.createNode("/a", 0) // zxid 1
	require.Equal(t, proto.OK, code)
	w.now = 2000
	w.applyRequest(&Caller{}, &proto.Request{Op: proto.OpSetData, Path: "/a", Data: []byte("xyz"), Version: -1}) // 2
	w.createNode("/a/b", 0)                                                                                      // 3
	w.createNode("/a/c", proto.FlagEphemeral)                                                                    // 4
	require.Equal(t, proto.OK, w.deleteNode("/a/b", -1))                                                         // 5
	w.applyRequest(&Caller{}, &proto.Request{Op: proto.OpSetACL, Path: "/a", Version: 0})                        // 6
	require.Equal(t, proto.Stat{
		Czxid: 1, Mzxid: 2, Pzxid: 5, Ctime: 1000, Mtime: 2000, Version: 1, Cversion: 3, Aversion: 1, DataLength: 3, NumChildren: 1,
	}, statOf(w.Get("/a").Stat()))
	require.EqualValues(t, 7, w.Get("/a/c").Stat().EphemeralOwner)
	root := w.Get("/").Stat()
	require.EqualValues(t, 0, root.Cversion, "minus one for /zookeeper, plus one create")
}

func statOf(s proto.Stat) proto.Stat { return s }

func TestRefusals(t *testing.T) {
	w := newWorld()
	w.createNode("/a", 0)
	w.createNode("/a/e", proto.FlagEphemeral)
	w.createNode("/a/k", 0)
	for _, c := range []struct {
		q    proto.Request
		want proto.Code
	}{
		{proto.Request{Op: proto.OpCreate, Path: "/a"}, proto.NodeExists},
		{proto.Request{Op: proto.OpCreate, Path: "/"}, proto.NodeExists},
		{proto.Request{Op: proto.OpCreate, Path: "/x/y"}, proto.NoNode},
		{proto.Request{Op: proto.OpCreate, Path: "/a/e/y"}, proto.NoChildrenForEphemerals},
		{proto.Request{Op: proto.OpCreate, Path: "relative"}, proto.BadArguments},
		{proto.Request{Op: proto.OpCreate, Path: "/a/"}, proto.BadArguments},
		{proto.Request{Op: proto.OpCreate, Path: "/a/../b"}, proto.NoNode},
		{proto.Request{Op: proto.OpCreate, Path: "/a/.."}, proto.BadArguments},
		{proto.Request{Op: proto.OpCreate, Path: "/a/\x01"}, proto.BadArguments},
		{proto.Request{Op: proto.OpCreate, Path: "/q", Flags: 9}, proto.BadArguments},
		{proto.Request{Op: proto.OpCreate, Path: "/q", ACL: []proto.ACL{}}, proto.InvalidACL},
		{proto.Request{Op: proto.OpCreate, Path: "/q", ACL: []proto.ACL{{Perms: 31, Scheme: "auth"}}}, proto.InvalidACL},
		{proto.Request{Op: proto.OpCreateTTL, Path: "/q", Flags: proto.FlagTTL, TTL: 0}, proto.BadArguments},
		{proto.Request{Op: proto.OpCreateTTL, Path: "/q", Flags: proto.FlagTTL, TTL: MaxTTL + 1}, proto.BadArguments},
		{proto.Request{Op: proto.OpCreateTTL, Path: "/q", TTL: 5}, proto.BadArguments},
		{proto.Request{Op: proto.OpDelete, Path: "/a", Version: -1}, proto.NotEmpty},
		{proto.Request{Op: proto.OpDelete, Path: "/a/k", Version: 1}, proto.BadVersion},
		{proto.Request{Op: proto.OpDelete, Path: "/a/z", Version: -1}, proto.NoNode},
		{proto.Request{Op: proto.OpDelete, Path: "/zookeeper", Version: -1}, proto.BadArguments},
		{proto.Request{Op: proto.OpSetData, Path: "/a", Version: 1}, proto.BadVersion},
		{proto.Request{Op: proto.OpSetData, Path: "/z", Version: -1}, proto.NoNode},
		{proto.Request{Op: proto.OpCheck, Path: "/a", Version: 3}, proto.BadVersion},
		{proto.Request{Op: proto.OpSetACL, Path: "/a", Version: 3}, proto.BadVersion},
		{proto.Request{Op: proto.OpReconfig}, proto.ReconfigDisabled},
		{proto.Request{Op: proto.OpCreate, BadBody: true}, proto.MarshallingError},
	} {
		before := w.Count()
		_, _, code := w.applyRequest(&Caller{Session: 7}, &c.q)
		require.Equal(t, c.want, code, "%+v", c.q)
		require.Equal(t, before, w.Count())
	}
	require.Equal(t, w.zxid, w.LastZxid(), "a refusal uses up a zxid")
	_, _, code := w.applyRequest(&Caller{NoTTL: true}, &proto.Request{Op: proto.OpCreateTTL, Path: "/q", Flags: proto.FlagTTL, TTL: 5})
	require.Equal(t, proto.Unimplemented, code)
}

func TestSequenceSticksAtTheEndAsInZooKeeper(t *testing.T) {
	w := newWorld()
	w.createNode("/p", 0)
	for i, want := range []string{"/p/x0000000000", "/p/x0000000001"} {
		got, _ := w.createNode("/p/x", proto.FlagPersistentSequential)
		require.Equal(t, want, got, i)
	}
	w.createNode("/p/plain", 0)
	got, _ := w.createNode("/p/x", proto.FlagPersistentSequential)
	require.Equal(t, "/p/x0000000003", got, "every create counts")
	w.deleteNode(got, -1)
	got, _ = w.createNode("/p/x", proto.FlagPersistentSequential)
	require.Equal(t, "/p/x0000000004", got, "deletes do not")

	txn, ok := w.PrepareSequence("/p", math.MaxInt32-1)
	require.True(t, ok)
	w.Apply(txn)
	got, _ = w.createNode("/p/x", proto.FlagPersistentSequential)
	require.Equal(t, "/p/x2147483646", got)
	got, _ = w.createNode("/p/x", proto.FlagPersistentSequential)
	require.Equal(t, "/p/x2147483647", got)
	pzxid := w.Get("/p").Stat().Pzxid
	_, code := w.createNode("/p/x", proto.FlagPersistentSequential)
	require.Equal(t, proto.NodeExists, code, "the number sticks")
	got, _ = w.createNode("/p/y", proto.FlagPersistentSequential)
	require.Equal(t, "/p/y2147483647", got, "and is given out again")
	require.Equal(t, pzxid, w.Get("/p").Stat().Pzxid)

	txn, _ = w.PrepareSequence("/p", -5)
	w.Apply(txn)
	got, _ = w.createNode("/p/x", proto.FlagPersistentSequential)
	require.Equal(t, "/p/x-000000005", got)
	_, ok = w.PrepareSequence("/none", 1)
	require.False(t, ok)
}

func TestMultiSeesItsOwnChangesAndIsAllOrNothing(t *testing.T) {
	w := newWorld()
	acl := proto.WorldACL()
	ops := []proto.Request{
		{Op: proto.OpCreate, Path: "/m", ACL: acl},
		{Op: proto.OpCreate2, Path: "/m/s-", ACL: acl, Flags: proto.FlagPersistentSequential},
		{Op: proto.OpCreate, Path: "/m/s-", ACL: acl, Flags: proto.FlagPersistentSequential},
		{Op: proto.OpSetData, Path: "/m", Version: 0},
		{Op: proto.OpCheck, Path: "/m", Version: 1},
		{Op: proto.OpDelete, Path: "/m/s-0000000000", Version: 0},
	}
	events, res, code := w.applyRequest(&Caller{}, &proto.Request{Op: proto.OpMulti, Ops: ops})
	require.Equal(t, proto.OK, code)
	require.Equal(t, "/m/s-0000000001", res[2].Path)
	require.EqualValues(t, 1, res[3].Stat.Version)
	require.EqualValues(t, 1, res[1].Stat.Czxid)
	require.Nil(t, w.Get("/m/s-0000000000"))
	require.Equal(t, Event{proto.EventNodeChildrenChanged, "/m", proto.WorldACL()}, events[len(events)-1])

	before := w.Paths()
	events, res, code = w.applyRequest(&Caller{}, &proto.Request{Op: proto.OpMulti, Ops: []proto.Request{
		{Op: proto.OpDelete, Path: "/m/s-0000000001", Version: -1},
		{Op: proto.OpDelete, Path: "/m", Version: 0},
		{Op: proto.OpCreate, Path: "/n", ACL: acl},
	}})
	require.Equal(t, proto.OK, code)
	require.Empty(t, events)
	require.Equal(t, []proto.Code{proto.OK, proto.BadVersion, proto.RuntimeInconsistency}, []proto.Code{res[0].Err, res[1].Err, res[2].Err})
	require.Equal(t, before, w.Paths())
}

func TestClosingASessionDeletesItsEphemeralsOnly(t *testing.T) {
	w := newWorld()
	w.applyRequest(&Caller{Session: 7}, &proto.Request{Op: proto.OpCreateSession, Flags: 4000})
	require.True(t, w.HasSession(7))
	w.createNode("/a", 0)
	w.createNode("/a/e2", proto.FlagEphemeral)
	w.createNode("/a/e1", proto.FlagEphemeralSequential)
	require.Equal(t, []string{"/a/e10000000001", "/a/e2"}, w.Ephemerals(7))
	events, _, _ := w.applyRequest(&Caller{Session: 7}, &proto.Request{Op: proto.OpCloseSession})
	require.Len(t, events, 4)
	require.False(t, w.HasSession(7))
	require.Empty(t, w.SortedChildren(w.Get("/a")))
	require.Zero(t, w.EphemeralCount())
}

func TestContainersAndTTLNodesBecomeReapable(t *testing.T) {
	w := newWorld()
	w.applyRequest(&Caller{}, &proto.Request{Op: proto.OpCreateContainer, Path: "/c", Flags: proto.FlagContainer})
	w.applyRequest(&Caller{}, &proto.Request{Op: proto.OpCreateTTL, Path: "/t", Flags: proto.FlagTTL, TTL: 500})
	require.Zero(t, w.Get("/c").Stat().EphemeralOwner)
	require.Zero(t, w.Get("/t").Stat().EphemeralOwner)
	require.Empty(t, w.Reapable(1400), "never had a child; not yet out of time")
	w.createNode("/c/x", 0)
	require.Equal(t, []string{"/t"}, w.Reapable(1501))
	w.deleteNode("/c/x", -1)
	require.Equal(t, []string{"/c", "/t"}, w.Reapable(1501))
	w.createNode("/t/x", 0)
	require.Equal(t, []string{"/c"}, w.Reapable(9999))
	_, _, code := w.applyRequest(&Caller{Admin: true}, &proto.Request{Op: proto.OpDeleteContainer, Path: "/c"})
	require.Equal(t, proto.OK, code)
	_, _, code = w.applyRequest(&Caller{Admin: true}, &proto.Request{Op: proto.OpDeleteContainer, Path: "/t"})
	require.Equal(t, proto.NotEmpty, code)
}

func TestACL(t *testing.T) {
	w := newWorld()
	alice := []proto.ID{{Scheme: "ip", ID: "10.1.2.3"}, {Scheme: "digest", ID: Digest("alice:secret")}}
	_, _, code := w.applyRequest(&Caller{IDs: alice}, &proto.Request{Op: proto.OpCreate, Path: "/s", ACL: []proto.ACL{{Perms: proto.PermAll, Scheme: "auth"}}})
	require.Equal(t, proto.OK, code)
	n := w.Get("/s")
	require.Equal(t, "alice:"+Digest("alice:secret")[6:], n.ACL[0].ID)
	require.False(t, Allowed(n.ACL, proto.PermRead, []proto.ID{{Scheme: "ip", ID: "10.1.2.3"}}))
	require.True(t, Allowed(n.ACL, proto.PermRead, alice))
	require.Equal(t, "alice:x", MaskACL(n.ACL, nil)[0].ID)
	_, _, code = w.applyRequest(&Caller{}, &proto.Request{Op: proto.OpSetData, Path: "/s", Version: -1})
	require.Equal(t, proto.NoAuth, code)
	_, _, code = w.applyRequest(&Caller{Admin: true}, &proto.Request{Op: proto.OpSetData, Path: "/s", Version: -1})
	require.Equal(t, proto.OK, code)
	ip := []proto.ACL{{Perms: proto.PermRead, Scheme: "ip", ID: "10.1.0.0/16"}}
	require.True(t, Allowed(ip, proto.PermRead, alice))
	require.False(t, Allowed(ip, proto.PermWrite, alice))
	require.False(t, Allowed(ip, proto.PermRead, []proto.ID{{Scheme: "ip", ID: "10.2.0.1"}}))
}

func TestCloneIsIndependent(t *testing.T) {
	w := newWorld()
	w.createNode("/a", 0)
	w.createNode("/a/e", proto.FlagEphemeral)
	c := w.Clone()
	w.deleteNode("/a/e", -1)
	require.NotNil(t, c.Get("/a/e"))
	require.Equal(t, []string{"/a/e"}, c.Ephemerals(7))
	require.EqualValues(t, 1, c.Get("/a").Stat().NumChildren)
}

func TestChildrenComeInAFixedOrderThatIsNotSorted(t *testing.T) {
	w := newWorld()
	w.createNode("/p", 0)
	for range 50 {
		w.createNode("/p/n", proto.FlagPersistentSequential)
	}
	first := w.Children(w.Get("/p"))
	require.Equal(t, first, w.Children(w.Get("/p")))
	require.NotEqual(t, w.SortedChildren(w.Get("/p")), first)
	require.ElementsMatch(t, w.SortedChildren(w.Get("/p")), first)
}
