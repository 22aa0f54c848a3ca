package locktable_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// keepNone keeps no lock.
func keepNone(string) bool { return false }

func TestRemoveDeletesFreeLocks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		one, two := w.join(c, nil), w.join(w.Client(), nil)
		require.NoError(w, one.Unlock(w.Ctx, w.try(one, lockNames(1200)...)...))
		held := w.try(two, "lock-0003", "lock-0700")
		left, watch, err := one.Remove(w.Ctx, func(name string) bool { return name == "lock-0005" })
		require.NoError(w, err)
		require.Equal(w, []string{"lock-0003", "lock-0700"}, []string{left[0].Name, left[1].Name})
		require.ElementsMatch(w, []string{"lock-0003", "lock-0005", "lock-0700"}, w.Children(dir))
		fired := make(chan struct{}, 10)
		watch.OnFire(func() { fired <- struct{}{} })
		w.Settle()
		require.Empty(w, fired)
		require.NoError(w, held[0].Unlock(w.Ctx))
		<-fired
		watch.Stop()
		left, watch, err = one.Remove(w.Ctx, keepNone)
		require.NoError(w, err)
		require.Len(w, left, 1)
		watch.Stop()
		require.Equal(w, []string{"lock-0700"}, w.Children(dir))
		require.NoError(w, held[1].Context().Err())
		require.Len(w, w.try(one, lockNames(1200)...), 1199)
		require.NoError(w, one.Release(w.Ctx))
		require.NoError(w, two.Release(w.Ctx))
		w.Settle()
		w.RequireNoWatches()
	})
}

func TestRemoveStopsWhenItsGuardFails(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one := w.join(w.Client(), nil)
		require.NoError(w, one.Unlock(w.Ctx, w.try(one, "a")...))
		require.NoError(w, w.Server.Create("/leader", nil))
		_, _, err := one.Remove(w.Ctx, keepNone, one.Guard(), session.CheckOp("/leader", 7))
		require.ErrorIs(w, err, session.ErrBadVersion)
		var txn *session.TxnError
		require.ErrorAs(w, err, &txn)
		require.Equal(w, 1, txn.Index)
		require.Equal(w, []string{"a"}, w.Children(dir))
		require.NoError(w, one.Release(w.Ctx))
	})
}

// beforeTxnOnA runs do before the first transaction of a client on the lock a.
func (w *World) beforeTxnOnA(client string, do func() error) {
	w.Once(func(r zktest.Request) bool { return takesLocks(client)(r) && r.Paths[len(r.Paths)-1] == dir+"/a" }, func() {
		if err := do(); err != nil {
			w.Error(err)
		}
	})
}

// replaceLockA replaces the lock a by a lock with the same version, held by a live
// owner.
func (w *World) replaceLockA(sets int) func() error {
	return func() error {
		record := []byte(`{"format":1,"client":"` + otherOwner + `"}`)
		for _, err := range []error{
			w.Server.Create(dir+".owners/"+otherOwner, nil),
			w.Server.Delete(dir + "/a"), w.Server.Set(dir, nil), w.Server.Create(dir+"/a", record),
		} {
			if err != nil {
				return err
			}
		}
		for range sets {
			if err := w.Server.Set(dir+"/a", record); err != nil {
				return err
			}
		}
		return nil
	}
}

// Between the read of a lock and the transaction that takes or removes the lock,
// another client deletes the lock and creates it again with the same version.
func TestRecreatedLockIsNotTakenForTheFormerOne(t *testing.T) {
	for name, call := range map[string]func(w *World, o *locktable.Owner){
		"TryLock": func(w *World, o *locktable.Owner) { require.Empty(w, w.try(o, "a")) },
		"Remove": func(w *World, o *locktable.Owner) {
			left, watch, err := o.Remove(w.Ctx, keepNone)
			require.NoError(w, err)
			require.Len(w, left, 1)
			watch.Stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				one := w.join(w.Client(), nil)
				require.NoError(w, one.Unlock(w.Ctx, w.try(one, "a")...))
				before, err := w.Server.Get(dir + "/a")
				require.NoError(w, err)
				w.beforeTxnOnA("c1", w.replaceLockA(int(before.Version)))
				call(w, one)
				after, err := w.Server.Get(dir + "/a")
				require.NoError(w, err)
				require.Equal(w, before.Version, after.Version)
				require.Contains(w, string(after.Data), otherOwner)
				require.NoError(w, one.Release(w.Ctx))
			})
		})
	}
}

// A lock taken between the reading and the transaction does not delay the others.
func TestOneConflictDoesNotHoldTheOthersUp(t *testing.T) {
	for name, call := range map[string]func(w *World, o *locktable.Owner){
		"TryLock": func(w *World, o *locktable.Owner) { require.Len(w, w.try(o, append(lockNames(5), "a")...), 5) },
		"Remove": func(w *World, o *locktable.Owner) {
			left, watch, err := o.Remove(w.Ctx, keepNone)
			require.NoError(w, err)
			require.Len(w, left, 1, "the new holder is watched")
			fired := make(chan struct{}, 10)
			watch.OnFire(func() { fired <- struct{}{} })
			require.NoError(w, w.Server.Set(dir+"/a", nil))
			<-fired
			watch.Stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				one := w.join(w.Client(), nil)
				require.NoError(w, one.Unlock(w.Ctx, w.try(one, append(lockNames(5), "a")...)...))
				w.Once(takesLocks("c1"), func() {
					record := []byte(`{"format":1,"client":"` + otherOwner + `"}`)
					for _, err := range []error{w.Server.Create(dir+".owners/"+otherOwner, nil), w.Server.Set(dir+"/a", record)} {
						if err != nil {
							w.Error(err)
						}
					}
				})
				call(w, one)
				require.NoError(w, one.Release(w.Ctx))
			})
		})
	}
}

func TestObserveReadsInTheOrderOfTheNamesAndFires(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, two := w.join(w.Client(), nil), w.join(w.Client(), nil)
		w.try(two, "b")
		for _, change := range []func(){
			func() { w.try(two, "a") }, // there was no znode
			func() { require.NoError(w, two.Release(w.Ctx)) },
		} {
			entries, watch, err := one.Observe(w.Ctx, "b", "a")
			require.NoError(w, err)
			require.Equal(w, []string{"b", "a"}, []string{entries[0].Name, entries[1].Name})
			require.Equal(w, two.Path(), dir+".owners/"+entries[0].Owner)
			fired := make(chan struct{}, 10)
			watch.OnFire(func() { fired <- struct{}{} })
			w.Settle()
			require.Empty(w, fired)
			change()
			<-fired
			watch.Stop()
			watch.Stop()
		}
		require.NoError(w, one.Release(w.Ctx))
		w.Settle()
		w.RequireNoWatches()
	})
}
