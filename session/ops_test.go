package session

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// N1, N2, N3, N4, N6.
func TestEveryOperationDoesWhatItsNameSays(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) { everyOperation(w.ctx, w, w.s) })
}

// everyOperation is a tour of all operations, for any server.
func everyOperation(ctx context.Context, t require.TestingT, s *Session) {
	node, err := s.Create(ctx, "/a", []byte("one"), Persistent, nil)
	require.NoError(t, err)
	assert.Equal(t, "/a", node.Path)
	assert.NotZero(t, node.Stat.Czxid)
	assert.Zero(t, node.Stat.EphemeralOwner)
	_, err = s.Create(ctx, "/a", nil, Persistent, nil)
	require.ErrorIs(t, err, ErrNodeExists)
	_, err = s.Create(ctx, "/no/such", nil, Persistent, nil)
	require.ErrorIs(t, err, ErrNoNode)
	assert.ErrorContains(t, err, "session: create /no/such")

	data, stat, err := s.Get(ctx, "/a")
	require.NoError(t, err)
	assert.Equal(t, "one", string(data))
	assert.Equal(t, node.Stat.Czxid, stat.Czxid)
	stat, err = s.Set(ctx, "/a", []byte("two"), stat.Version)
	require.NoError(t, err)
	assert.EqualValues(t, 1, stat.Version)
	_, err = s.Set(ctx, "/a", nil, 7)
	require.ErrorIs(t, err, ErrBadVersion)

	eph, err := s.Create(ctx, "/a/e-", nil, EphemeralSequential, nil)
	require.NoError(t, err)
	assert.Equal(t, "/a/e-0000000000", eph.Path)
	assert.Equal(t, s.ID(), eph.Stat.EphemeralOwner)
	_, err = s.Create(ctx, eph.Path+"/below", nil, Persistent, nil)
	require.ErrorIs(t, err, ErrNoChildrenForEphemerals)
	children, stat, err := s.Children(ctx, "/a")
	require.NoError(t, err)
	assert.Equal(t, []string{"e-0000000000"}, children)
	assert.EqualValues(t, 1, stat.NumChildren)
	require.ErrorIs(t, s.Delete(ctx, "/a", -1), ErrNotEmpty)
	require.ErrorIs(t, s.Delete(ctx, eph.Path, 3), ErrBadVersion)
	require.NoError(t, s.Sync(ctx, "/a"))

	_, there, err := s.Exists(ctx, "/nowhere")
	require.NoError(t, err)
	assert.False(t, there)
	stat, there, err = s.Exists(ctx, eph.Path)
	require.NoError(t, err)
	assert.True(t, there)
	assert.Equal(t, eph.Stat, stat)

	everyTxn(ctx, t, s)
	severalReads(ctx, t, s)

	acl, stat, err := s.ACL(ctx, "/a")
	require.NoError(t, err)
	assert.Equal(t, WorldACL(zk.PermAll), acl)
	_, err = s.SetACL(ctx, "/a", WorldACL(zk.PermRead), stat.Aversion)
	require.NoError(t, err)
	_, err = s.Set(ctx, "/a", nil, -1)
	require.ErrorIs(t, err, ErrNoAuth)
	_, err = s.SetACL(ctx, "/a", []ACL{{Perms: zk.PermAll, Scheme: "the outcome is unknown", ID: "x"}}, -1)
	require.Error(t, err)
	deletesTrees(ctx, t, s)
}

// deletesTrees deletes a tree of four levels, of which the limit is one too low at first.
func deletesTrees(ctx context.Context, t require.TestingT, s *Session) {
	const n = 1 + 5 + 25 + 125
	for i := range 125 {
		require.NoError(t, s.EnsurePath(ctx, fmt.Sprintf("/tree/%d/%d/%d", i/25, i/5, i), Persistent, nil))
	}
	deleted, err := s.DeleteAll(ctx, "/tree", &DeleteAllOptions{Most: n - 1})
	require.ErrorIs(t, err, ErrTooManyNodes)
	require.Zero(t, deleted)
	deleted, err = s.DeleteAll(ctx, "/tree", &DeleteAllOptions{Most: n})
	require.NoError(t, err)
	require.Equal(t, n, deleted)
	_, err = s.DeleteAll(ctx, "/tree", nil)
	require.ErrorIs(t, err, ErrNoNode)
}

// severalReads reads existing, missing and unreadable nodes.
func severalReads(ctx context.Context, t require.TestingT, s *Session) {
	node, err := s.Create(ctx, "/closed", []byte("x"), Persistent, &CreateOptions{ACL: WorldACL(zk.PermAdmin)})
	require.NoError(t, err)
	empty, err := s.Create(ctx, "/empty", nil, Persistent, nil)
	require.NoError(t, err)
	all, err := s.Gets(ctx, "/a", "/nowhere", "/closed", "/empty", "/a")
	require.NoError(t, err)
	require.Len(t, all, 5)
	data, stat, err := s.Get(ctx, "/a")
	require.NoError(t, err)
	for _, i := range []int{0, 4} {
		assert.Equal(t, Result{Path: "/a", Data: data, Stat: stat}, all[i])
	}
	require.ErrorIs(t, all[1].Err, ErrNoNode)
	assert.ErrorContains(t, all[1].Err, "session: get /nowhere")
	require.ErrorIs(t, all[2].Err, ErrNoAuth)
	assert.Equal(t, "/closed", all[2].Path)
	assert.Empty(t, all[2].Data)
	require.NoError(t, all[3].Err)
	assert.Empty(t, all[3].Data)
	assert.Equal(t, empty.Stat.Czxid, all[3].Stat.Czxid)
	require.NoError(t, s.Delete(ctx, "/closed", node.Stat.Version))
	require.NoError(t, s.Delete(ctx, "/empty", -1))
}

func everyTxn(ctx context.Context, t require.TestingT, s *Session) {
	results, err := s.Txn(ctx,
		CheckOp("/a", -1), CreateOp("/a/t", []byte("x"), Persistent, nil), SetOp("/a/t", []byte("y"), 0),
		CreateOp("/a/c", nil, Container, nil), DeleteOp("/a/t", 1))
	require.NoError(t, err)
	require.Len(t, results, 5)
	assert.Equal(t, "/a/t", results[1].Path)
	assert.EqualValues(t, 1, results[2].Stat.Version)
	assert.Equal(t, "/a/c", results[3].Path)
	assert.NotZero(t, results[3].Stat.Czxid)

	_, err = s.Txn(ctx, CreateOp("/a/u", nil, Persistent, nil), DeleteOp("/a/none", -1), CheckOp("/a", -1))
	var failed *TxnError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 1, failed.Index)
	assert.Equal(t, "delete", failed.Op)
	assert.Equal(t, "/a/none", failed.Path)
	require.ErrorIs(t, err, ErrNoNode)
	assert.Equal(t, "session: transaction: operation 1 on /a/none: "+ErrNoNode.Error(), err.Error())
	require.Len(t, failed.Results, 3)
	require.ErrorIs(t, failed.Results[0].Err, ErrNotRun)
	require.ErrorIs(t, failed.Results[1].Err, ErrNoNode)
	require.ErrorIs(t, failed.Results[2].Err, ErrNotRun)
	_, there, err := s.Exists(ctx, "/a/u")
	require.NoError(t, err)
	assert.False(t, there)

	results, err = s.Txn(ctx)
	require.NoError(t, err)
	assert.Empty(t, results)
	_, err = s.Txn(ctx, Op{})
	require.ErrorIs(t, err, ErrInvalidOption)
}
