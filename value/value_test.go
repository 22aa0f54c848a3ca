package value_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestValueIsSetComparedAndRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := value.New(w.Client(), path, nil), value.New(w.Client(), path, nil)
		require.Equal(w, path, a.Path())
		require.Equal(w, value.State{}, w.get(a))
		require.Empty(w, w.Children("/values"), "reading makes nothing")
		w.set(a, "one")
		now := w.get(b)
		require.Equal(w, "one", string(now.Data))
		require.True(w, now.Exists)
		require.Equal(w, w.node().Mzxid, now.Zxid)
		require.Equal(w, w.node().Version, now.Version)
		w.swap(b, "two", "three", false)
		w.swap(b, "one", "three", true)
		w.try(a, now, "late", false)
		w.try(a, w.get(a), "four", true)
		w.add(b, "teen", "fourteen")
		w.set(b, "")
		w.holds("")
		w.swap(a, "", "again", true)
		w.holds("again")
		w.set(b, "\x00\xff\n")
		require.Equal(w, "\x00\xff\n", string(w.get(a).Data))
	})
}

// The caller may change its slices, and has its own results.
func TestSlicesAreNotShared(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		seed := []byte("seed")
		v := value.New(w.Client(), path, &value.Options{Seed: seed})
		seed[0] = 'X'
		now := w.get(v)
		require.Equal(w, "seed", string(now.Data))
		w.slowly()
		data := []byte("one")
		done := w.startCall(func() error { return v.Set(w.Ctx, data) })
		data[0] = 'X'
		require.NoError(w, <-done)
		w.Server.Heal()
		w.holds("one")
		var given, kept []byte
		got, err := v.Update(w.Ctx, func(old []byte) ([]byte, error) {
			given = old
			kept = append(bytes.Clone(old), '!')
			return kept, nil
		})
		require.NoError(w, err)
		copy(given, "XXX")
		copy(kept, "YYY")
		copy(got, "ZZZ")
		w.swap(v, "one!", "two", true)
		old, new := []byte("two"), []byte("six")
		w.slowly()
		done = w.startCall(func() error { _, err := v.CompareAndSwap(w.Ctx, old, new); return err })
		old[0], new[0] = 'X', 'X'
		require.NoError(w, <-done)
		w.Server.Heal()
		now = w.get(v)
		require.Equal(w, "six", string(now.Data))
		to := []byte("ten")
		w.slowly()
		done = w.startCall(func() error { _, err := v.TrySet(w.Ctx, now, to); return err })
		to[0] = 'X'
		require.NoError(w, <-done)
		w.Server.Heal()
		w.holds("ten")
	})
}

// The first seed counts for all clients, as with Curator's SharedValue.
func TestFirstSeedCounts_CH39(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a := value.New(w.Client(), path, &value.Options{Seed: []byte("a")})
		b := value.New(w.Client(), path, &value.Options{Seed: []byte("b")})
		first := w.get(a)
		require.Equal(w, "a", string(first.Data))
		require.Zero(w, first.Version)
		require.Equal(w, first, w.get(b))
		for now, err := range b.Watch(w.Ctx) {
			require.NoError(w, err)
			require.Equal(w, first, now)
			break
		}
		w.try(b, first, "c", true)
		w.wipe()
		w.swap(b, "b", "d", true)
		w.wipe()
		w.add(b, "!", "b!")
		w.wipe()
		for now, err := range a.Watch(w.Ctx) {
			require.NoError(w, err)
			require.Equal(w, "a", string(now.Data))
			break
		}
	})
}

// A znode that was created by a change, and never set, is in the state of a missing one.
func TestTrySetOfAMissingZnode(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(w *World)
		want   bool
	}{
		"still missing":             {func(*World) {}, true},
		"created empty":             {func(w *World) { w.make("") }, true},
		"created with other data":   {func(w *World) { w.make("x") }, false},
		"created empty and set":     {func(w *World) { w.make(""); w.overwrite("") }, false},
		"created while it is being": {func(w *World) { w.Once(writes, func() { w.overwrite("") }) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				v := value.New(w.Client(), path, nil)
				seen := w.get(v)
				tc.before(w)
				w.try(v, seen, "mine", tc.want)
				require.Equal(w, tc.want, string(w.node().Data) == "mine")
				w.try(v, seen, "again", false)
			})
		})
	}
}

// Bytes that were changed and changed back are the same bytes, in another state.
func TestTrySetTellsBytesThatWereChangedBack(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, nil)
		w.set(v, "one")
		seen := w.get(v)
		w.overwrite("two")
		w.overwrite("one")
		w.try(v, seen, "three", false)
		w.swap(v, "one", "three", true)
		w.try(v, value.State{Zxid: w.get(v).Zxid}, "four", true)
	})
}

func TestWatchShowsPresentAndNewerStates(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v, other := value.New(w.Client(), path, nil), value.New(w.Client(), path, nil)
		var values []string
		var exist []bool
		steps := []func(){
			func() { w.set(other, "one") },
			func() { w.set(other, "two"); w.set(other, "three") },
			func() { w.overwrite("three") }, // the same bytes in another state
			w.wipe,
			func() { w.set(other, "four") },
		}
		for now, err := range v.Watch(w.Ctx) {
			require.NoError(w, err)
			w.Settle()
			values, exist = append(values, string(now.Data)), append(exist, now.Exists)
			if len(steps) == 0 {
				break
			}
			steps[0]()
			steps = steps[1:]
		}
		// The node is made, empty, before the first change.
		require.Equal(w, []string{"", "one", "three", "three", "", "four"}, values)
		require.Equal(w, []bool{false, true, true, true, false, true}, exist)
	})
}

// A watch fires with the loss of its connection; the state is the same.
func TestWatchShowsAStateOnce(t *testing.T) {
	for name, exists := range map[string]bool{"value": true, "missing": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				if exists {
					w.make("one")
				}
				v := value.New(w.Client(), path, nil)
				shown := 0
				ctx, cancel := context.WithCancel(w.Ctx)
				ended := w.startCall(func() (last error) {
					for _, err := range v.Watch(ctx) {
						if last = err; err == nil {
							shown++
						}
					}
					return last
				})
				for range 3 {
					w.Server.CutLink(zktest.Link{Client: "c1"})
					w.Pass(time.Minute)
				}
				cancel()
				require.ErrorIs(w, <-ended, context.Canceled)
				require.Equal(w, 1, shown)
			})
		})
	}
}

func TestWatchEndsWithItsContextAndTheClient(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		v := value.New(client, path, nil)
		var last error
		for _, err := range v.Watch(w.Within(time.Minute)) {
			last = err
		}
		require.ErrorIs(w, last, context.DeadlineExceeded)
		require.ErrorContains(w, last, "value: watch "+path)
		for _, err := range v.Watch(w.Ctx) {
			if last = err; err == nil {
				require.NoError(w, client.Close(w.Ctx))
			}
		}
		require.ErrorIs(w, last, session.ErrClosed)
		w.Settle()
		w.RequireNoWatches()
	})
}

func TestZnodesHaveTheirACL(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		acl := session.WorldACL(31 &^ 16) // all but admin
		given := slices.Clone(acl)
		v := value.New(client, path, &value.Options{ACL: given})
		given[0].Perms = 1 // the caller's own, to change
		w.set(v, "x")
		s := w.Session(client)
		for _, at := range []string{path, path + "/" + w.Children(path)[0]} {
			got, _, err := s.ACL(w.Ctx, at)
			require.NoError(w, err)
			require.Equal(w, acl, got)
		}
	})
}

// One value that is too large fails alone; the others of its batch are made.
func TestDataThatIsTooLargeIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, nil)
		w.set(v, "x")
		large := make([]byte, 2<<20)
		require.ErrorIs(w, v.Set(w.Ctx, large), session.ErrTooLarge)
		w.slowly()
		busy := w.startCall(func() error { return v.Set(w.Ctx, []byte("busy")) })
		small := w.startCall(func() error { _, err := v.Update(w.Ctx, adds("!")); return err })
		alone := w.startCall(func() error { return v.Set(w.Ctx, large) })
		require.NoError(w, <-busy)
		require.ErrorIs(w, <-alone, session.ErrTooLarge)
		require.NoError(w, <-small)
		w.Server.Heal()
		w.holds("busy!")
		grow := func(old []byte) ([]byte, error) { return large, nil }
		_, err := v.Update(w.Ctx, grow)
		require.ErrorIs(w, err, session.ErrTooLarge)
		w.holds("busy!")
	})
}

// The versions of a znode wrap, and -1 means "any".
func TestVersionsWrap_CH40(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, nil)
		w.add(v, "a", "a")
		require.NoError(w, w.Server.SetVersion(path, math.MaxInt32))
		w.add(v, "b", "ab")
		require.NoError(w, w.Server.SetVersion(path, -2))
		w.try(v, w.get(v), "c", true)
		require.Zero(w, w.node().Version, "-1 is stepped over")
		require.NoError(w, w.Server.SetVersion(path, -1))
		_, err := v.Update(w.Ctx, adds("d"))
		require.ErrorIs(w, err, value.ErrVersion)
		_, err = v.CompareAndSwap(w.Ctx, []byte("c"), nil)
		require.ErrorIs(w, err, value.ErrVersion)
		w.swap(v, "other", "", false)
		w.holds("c")
		w.set(v, "e")
		w.add(v, "f", "ef")
	})
}

func TestNothingIsSentWithAnEndedContextOrAWrongArgument(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		ended, cancel := context.WithCancel(w.Ctx)
		cancel()
		w.ResetStats()
		for name, err := range allMethods(ended, value.New(client, path, nil)) {
			require.ErrorIs(w, err, context.Canceled, name)
			require.ErrorContains(w, err, "value: ", name)
			require.ErrorContains(w, err, path, name)
		}
		for of, wrong := range map[string]*value.Value{
			"path": value.New(client, "relative", nil), "root": value.New(client, "/", nil), "client": value.New(nil, path, nil),
		} {
			for name, err := range allMethods(w.Ctx, wrong) {
				require.ErrorIs(w, err, value.ErrInvalidArgument, name)
				require.ErrorContains(w, err, of, name)
			}
		}
		_, err := value.New(client, path, nil).Update(w.Ctx, nil)
		require.ErrorIs(w, err, value.ErrInvalidArgument)
		require.ErrorContains(w, err, "the function is nil")
		require.Zero(w, w.Requests(client))
	})
}

// allMethods calls every method once.
func allMethods(ctx context.Context, v *value.Value) map[string]error {
	errs := map[string]error{}
	_, errs["Get"] = v.Get(ctx)
	errs["Set"] = v.Set(ctx, nil)
	_, errs["CompareAndSwap"] = v.CompareAndSwap(ctx, nil, nil)
	_, errs["TrySet"] = v.TrySet(ctx, value.State{}, nil)
	_, errs["Update"] = v.Update(ctx, adds("x"))
	for _, err := range v.Watch(ctx) {
		errs["Watch"] = err
	}
	return errs
}

// Servers do not report changes of an unreadable value: Watch fails at once, and names
// the znode.
func TestWatchOfAnUnreadableValueIsRefused(t *testing.T) {
	inWorld(t, &zktest.Options{StatNeedsRead: true}, func(w *World) {
		s := w.Session(w.Client())
		acl := session.WorldACL(session.PermAll &^ session.PermRead)
		_, err := s.Create(w.Ctx, "/hidden", []byte("1"), session.Persistent, &session.CreateOptions{ACL: acl})
		require.NoError(w, err)
		for _, err = range value.New(w.Client(), "/hidden", nil).Watch(w.Within(time.Minute)) {
		}
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.ErrorContains(w, err, "/hidden")
	})
}
