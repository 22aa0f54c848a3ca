package rebalanser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// Members with different versions of this package in one group, and records
// that none of them has written.

// newer is the beginning of a record of an unknown, newer format.
const newer = `{"format":2,`

// has requires this data at a znode.
func (w *World) has(znode, data string) {
	w.Helper()
	n, err := w.Server.Get(znode)
	require.NoError(w, err)
	require.Equal(w, data, string(n.Data), znode)
}

// contains requires a part in a znode's data.
func (w *World) contains(znode, part string) {
	w.Helper()
	n, err := w.Server.Get(znode)
	require.NoError(w, err)
	require.Contains(w, string(n.Data), part, znode)
}

// unreadable are the paths of the unreadable records in the status.
func (w *World) unreadable(a *rebalanser.Admin) (paths []string) {
	w.Helper()
	for _, u := range w.status(a).Unreadable {
		require.ErrorIs(w, u.Err, rebalanser.ErrRecord)
		require.ErrorContains(w, u.Err, u.Path)
		paths = append(paths, u.Path)
	}
	return paths
}

// A barrier whose record cannot be read stays taken while members come and go, until
// an operator has repaired the record as the status says.
func TestUnreadableBarrierFreesNothing(t *testing.T) {
	for _, data := range []string{
		"garbage", "null", "[]", "{", `{"client":7}`, `{"owner":"x"}`, `{"client":"x"}`, `{"client":"../x-latch-0000000001"}`,
		`{"client":""} {}`, newer + `"holders":["a"]}`, newer + `"client":""}`, `{"format":"1"}`, `{"format":0}`, `{"format":1.5}`,
	} {
		t.Run(data, func(t *testing.T) {
			inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
				a := w.stock(2)
				barrier := path + "/barriers/r00"
				require.NoError(w, w.Server.Create(barrier, []byte(data)))
				c1 := w.node("c1", rebalanser.Options{}).run()
				w.Pass(time.Minute)
				require.Equal(w, []string{"r01"}, w.of("c1"))
				w.has(barrier, data)
				st := w.status(a)
				require.Empty(w, st.Unowned, "the owner is unknown")
				require.Equal(w, []string{barrier}, w.unreadable(a))
				require.ErrorContains(w, st.Unreadable[0].Err, "set the data of this znode to the empty string")
				require.Equal(w, "r00", st.Unreadable[0].Resource)
				require.Len(w, st.Waiting, 1)
				require.Empty(w, st.Waiting[0].On)
				if strings.HasPrefix(data, newer) {
					require.ErrorContains(w, st.Unreadable[0].Err, "format 2, this version supports formats up to 1")
				}
				c2 := w.node("c2", rebalanser.Options{}).run()
				c1.stop()
				w.Pass(time.Minute)
				require.Equal(w, []string{"r01"}, w.of("c2"))
				_, err := a.RemoveResources(w.Ctx, "r00")
				require.NoError(w, err)
				w.Pass(time.Minute)
				w.has(barrier, data)
				require.Equal(w, []string{barrier}, w.unreadable(a), "the barrier is not swept")
				_, err = a.AddResources(w.Ctx, "r00")
				require.NoError(w, err)
				w.Pass(time.Minute)
				require.Equal(w, []string{"r01"}, w.of("c2"))
				require.NoError(w, w.Server.Set(barrier, nil))
				w.Settle()
				require.Equal(w, []string{"r00", "r01"}, w.of("c2"))
				require.Empty(w, w.unreadable(a))
				c2.stop()
			})
		})
	}
}

// A resource held by a member of a newer version in an unknown format stays
// with this member until given back. Fields that the member has added to a
// barrier survive.
func TestOlderMemberLeavesWhatANewerOneHolds(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(1)
		barrier := path + "/barriers/r00"
		require.NoError(w, w.Server.Create(barrier, nil))
		theirs := w.Session(w.Client())
		_, err := theirs.Set(w.Ctx, barrier, []byte(newer+`"holders":["them"]}`), -1)
		require.NoError(w, err)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Pass(time.Minute)
		require.Empty(w, w.of("c1"))
		_, err = theirs.Set(w.Ctx, barrier, []byte(`{"format":1,"lease":{"of":"them"}}`), -1)
		require.NoError(w, err)
		w.Settle()
		require.Equal(w, []string{"r00"}, w.of("c1"))
		w.contains(barrier, c1.group.State().Client)
		w.contains(barrier, `,"lease":{"of":"them"}}`)
		_, err = theirs.Txn(w.Ctx, c1.resource("r00").Guard(), session.SetOp(path, nil, 99))
		require.ErrorIs(w, err, session.ErrBadVersion)
		c1.stop()
		w.has(barrier, `{"format":1,"lease":{"of":"them"}}`)
	})
}

// The limit of moves does not count moves with an unreadable barrier, which may
// stay unreadable.
func TestUnreadableBarrierHoldsNoOtherMoveUp(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(4)
		garbled := ""
		c1 := w.node("c1", rebalanser.Options{MaxMoves: 1})
		c1.before = func(_ context.Context, what string, rs []*rebalanser.Resource) error {
			if what[0] == '-' && garbled == "" {
				garbled = path + "/barriers/" + rs[0].Name()
				return w.Server.Set(garbled, []byte("garbage"))
			}
			return nil
		}
		c1.run()
		w.Settle()
		w.node("c2", rebalanser.Options{MaxMoves: 1}).run()
		w.Pass(time.Minute)
		w.has(garbled, "garbage")
		require.Len(w, w.of("c1"), 2)
		require.Len(w, w.of("c2"), 1, "the next move")
	})
}

// Fields that a newer version has added to a record survive a rewrite by this
// version.
func TestUnknownFieldsSurviveInAllRecords(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		const more = `"more":{"a":[1,2]}}`
		shard := path + "/assignments/static-1"
		rewritten := []string{path + "/epoch", path + "/config", shard}
		require.NoError(w, w.Server.Set(path+"/epoch", []byte(`{"format":1,"epoch":7,"client":"x","since":"2026-01-01T00:00:00Z",`+more)))
		require.NoError(w, w.Server.Set(path+"/config", []byte(`{"paused":false,`+more)))
		require.NoError(w, w.Server.Create(shard, []byte(`{"client":"x","generation":3,"epoch":7,"count":0,"resources":[],`+more)))
		if w.mode == rebalanser.GlobalBarrier {
			rewritten = append(rewritten, path+"/status")
			require.NoError(w, w.Server.Set(path+"/status", []byte(`{"format":1,"generation":3,"state":"confirmed","epoch":7,`+more)))
		}
		c1 := w.node("c1", rebalanser.Options{Instance: "static-1"}).run()
		w.Settle()
		require.Equal(w, names(2), w.of("c1"))
		require.NoError(w, a.Pause(w.Ctx))
		st := w.status(a)
		require.Empty(w, st.Unreadable)
		require.EqualValues(w, 8, st.Epoch)
		require.EqualValues(w, 4, st.Generation)
		require.True(w, st.Paused)
		require.NoError(w, a.Resume(w.Ctx))
		_, err := a.AddResources(w.Ctx, "r02")
		require.NoError(w, err)
		w.Settle()
		for _, znode := range rewritten {
			w.contains(znode, `{"format":1,`)
			w.contains(znode, ","+more)
		}
		w.contains(shard, `"r02"`)
		c1.stop()
	})
}

// A coordinator that cannot read a record to rewrite leaves the group without
// changes; the error names the record. A newer version may be next in the
// queue.
func TestCoordinatorRefusesRecordsOfANewerFormat(t *testing.T) {
	for _, node := range []string{"epoch", "status", "assignments/somebody"} {
		t.Run(node, func(t *testing.T) {
			inWorld(t, rebalanser.GlobalBarrier, nil, func(w *World) {
				a, znode := w.stock(2), path+"/"+node
				format, newest := 2, 1
				if strings.HasPrefix(node, "assignments/") {
					format, newest = 3, 2
				}
				data := fmt.Sprintf(`{"format":%d,"owners":{"a":["b"]}}`, format)
				if w.Server.Set(znode, []byte(data)) != nil {
					require.NoError(w, w.Server.Create(znode, []byte(data)))
				}
				c1 := w.node("c1", rebalanser.Options{}).run()
				err := c1.awaitEnd()
				require.ErrorIs(w, err, rebalanser.ErrRecord)
				require.ErrorContains(w, err, fmt.Sprintf("%s: the record has format %d, this version supports formats up to %d", znode, format, newest))
				w.has(znode, data)
				require.Empty(w, w.Children(path+"/clients"))
				require.Equal(w, []string{znode}, w.unreadable(a))
			})
		})
	}
}

// A member whose own assignment is in a newer format does not know its
// resources: the member gives everything back, and returns the reason.
func TestMemberLeavesWhenItsAssignmentIsOfANewerFormat(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c1, c2 := w.node("c1", rebalanser.Options{}).run(), w.node("c2", rebalanser.Options{})
		w.Settle()
		c2.run()
		w.Settle()
		require.Len(w, w.of("c2"), 1)
		znode, format := path+"/status", 2
		if w.mode == rebalanser.ResourceBarrier {
			format = 3
			znode = path + "/assignments/" + c2.group.State().Client
		}
		data := fmt.Sprintf(`{"format":%d,"generation":9}`, format)
		require.NoError(w, w.Server.Set(znode, []byte(data)))
		err := c2.awaitEnd()
		require.ErrorIs(w, err, rebalanser.ErrRecord)
		require.ErrorContains(w, err, fmt.Sprintf("%s: the record has format %d", znode, format))
		require.Empty(w, w.of("c2"))
		if w.mode == rebalanser.ResourceBarrier {
			w.Settle()
			w.shared(2, c1)
			return
		}
		require.ErrorIs(w, c1.awaitEnd(), rebalanser.ErrRecord)
		w.has(znode, data)
	})
}

// A configuration of a newer format may pause the group: no change begins, no
// member gives up a resource, and no client replaces the configuration.
func TestConfigurationOfANewerFormatPausesTheGroup(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		data := newer + `"policy":"freeze"}`
		require.NoError(w, w.Server.Set(path+"/config", []byte(data)))
		_, err := a.AddResources(w.Ctx, "r02")
		require.NoError(w, err)
		w.Pass(time.Minute)
		require.Equal(w, names(2), w.of("c1"))
		require.ErrorIs(w, c1.group.State().Err, rebalanser.ErrRecord)
		require.ErrorContains(w, c1.group.State().Err, path+"/config: the record has format 2")
		for _, err := range []error{a.Pause(w.Ctx), a.Resume(w.Ctx)} {
			require.ErrorIs(w, err, rebalanser.ErrRecord)
			require.ErrorContains(w, err, path+"/config: the record has format 2")
		}
		w.has(path+"/config", data)
		require.Equal(w, []string{path + "/config"}, w.unreadable(a))
		require.NoError(w, w.Server.Set(path+"/config", []byte(`{}`)))
		w.Settle()
		require.Equal(w, names(3), w.of("c1"))
		require.NoError(w, c1.group.State().Err)
	})
}

// Garbage in a record other than a barrier stops no member: the status lists
// the record, and the next write replaces the garbage.
func TestGarbageInOtherRecordsIsListedAndReplaced(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		all := []string{path + "/assignments/static-1", path + "/config", path + "/epoch"}
		if w.mode == rebalanser.GlobalBarrier {
			all = append(all, path+"/status")
		}
		require.NoError(w, w.Server.Create(all[0], nil))
		for _, znode := range all {
			require.NoError(w, w.Server.Set(znode, []byte("garbage")))
		}
		require.Equal(w, all, w.unreadable(a))
		c1 := w.node("c1", rebalanser.Options{Instance: "static-1"}).run()
		w.Settle()
		require.Equal(w, names(2), w.of("c1"))
		require.Equal(w, []string{path + "/config"}, w.unreadable(a), "no client has written it")
		require.NoError(w, a.Pause(w.Ctx))
		require.Empty(w, w.unreadable(a))
		require.NoError(w, a.Resume(w.Ctx))
		c1.stop()
	})
}
