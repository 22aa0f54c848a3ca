package locktable_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
)

// otherOwner is a valid name of an owner.
const otherOwner = "_c_00000000-0000-4000-8000-000000000000-owner"

// A lock whose record cannot be read stays taken while owners come and go, until a person
// has repaired the record as the error says.
func TestUnreadableRecordFreesNothing(t *testing.T) {
	for _, data := range []string{
		"garbage", "null", "[]", "{", `{"client":7}`, `{"owner":"x"}`, `{"client":"x"}`, `{"client":"../` + otherOwner + `"}`,
		`{"client":""} {}`, `{"format":2,"holders":["a"]}`, `{"format":"1"}`, `{"format":0}`, `{"format":1.5}`,
	} {
		t.Run(data, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c := w.Client()
				one := w.join(c, nil)
				require.NoError(w, w.Server.Create(dir+"/a", []byte(data)))
				require.Equal(w, []string{"b"}, namesOf(w.try(one, "a", "b")))
				out := w.startLock(w.withinMinute(), one, "a")
				left, watch, err := one.Remove(w.Ctx, func(string) bool { return false })
				require.NoError(w, err)
				require.Len(w, left, 2)
				watch.Stop()
				n, err := w.Server.Get(dir + "/a")
				require.NoError(w, err)
				require.Equal(w, data, string(n.Data))
				entries, err := locktable.New(c, dir, nil).Entries(w.Ctx)
				require.NoError(w, err)
				require.ErrorIs(w, entries[0].Err, locktable.ErrRecord)
				require.ErrorContains(w, entries[0].Err, dir+"/a")
				require.ErrorContains(w, entries[0].Err, "set the data of this znode to the empty string")
				require.Equal(w, strings.Contains(data, `"format"`), strings.Contains(entries[0].Err.Error(), "supports formats up to 1"))
				w.requirePending(out)
				require.NoError(w, w.Server.Set(dir+"/a", nil))
				got := <-out
				require.NoError(w, got.err)
				require.NoError(w, one.Release(w.Ctx))
			})
		})
	}
}

// Fields of a record from a newer version survive.
func TestUnknownFieldsSurvive(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one := w.join(w.Client(), nil)
		const theirs = `{"format":1,"lease":{"of":"them"}}`
		require.NoError(w, w.Server.Create(dir+"/a", []byte(theirs)))
		held := w.try(one, "a")
		n, err := w.Server.Get(dir + "/a")
		require.NoError(w, err)
		require.JSONEq(w, `{"format":1,"client":"`+one.Path()[len(dir+".owners/"):]+`","lease":{"of":"them"}}`, string(n.Data))
		require.NoError(w, one.Unlock(w.Ctx, held...))
		n, err = w.Server.Get(dir + "/a")
		require.NoError(w, err)
		require.Equal(w, theirs, string(n.Data))
		require.NoError(w, one.Release(w.Ctx))
	})
}

// The lock of a known and gone owner is free; the lock of a live owner is not.
func TestLockOfAGoneOwnerIsFree(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		one := w.join(c, nil)
		record := []byte(`{"format":1,"client":"` + otherOwner + `"}`)
		require.NoError(w, w.Server.Create(dir+".owners/"+otherOwner, nil))
		require.NoError(w, w.Server.Create(dir+"/a", record))
		require.Empty(w, w.try(one, "a"))
		entries, err := locktable.New(c, dir, nil).Entries(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, otherOwner, entries[0].Owner)
		require.NoError(w, w.Server.Delete(dir+".owners/"+otherOwner))
		entries, err = locktable.New(c, dir, nil).Entries(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, entries[0].Owner)
		require.NotZero(w, entries[0].Token)
		require.Len(w, w.try(one, "a"), 1)
		require.NoError(w, one.Release(w.Ctx))
	})
}

func TestEntriesOfAMissingTableAreNone(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		entries, err := locktable.New(w.Client(), "/none", nil).Entries(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, entries)
	})
}

// Any data is read as a record, or refused.
func FuzzEntry(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", `{"format":1,"client":"` + otherOwner + `","more":[1]}`, `{"more":1}`, `{"format":2}`, `{"client":"../x"}`, `{"client":""} {}`,
	} {
		f.Add([]byte(seed))
	}
	table := locktable.New(nil, dir, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		e := table.Entry("a", data, session.Stat{Mzxid: 7, Mtime: 1000})
		require.Equal(t, "a", e.Name)
		require.EqualValues(t, 7, e.Token)
		require.Equal(t, time.UnixMilli(1000).UTC(), e.Since)
		if e.Err != nil {
			require.ErrorIs(t, e.Err, locktable.ErrRecord)
			require.Empty(t, e.Owner)
			return
		}
		require.True(t, e.Owner == "" || len(e.Owner) == len(otherOwner) || len(e.Owner) == len(otherOwner)-4, e.Owner)
	})
}
