// Package objecttest has the tests that every object store for fence.Put and fence.Update
// must pass: one in the memory of a test, and a real one.
package objecttest

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zkrecipes/zkrecipes/fence"
)

// at is a token of epoch 1.
func at(number int64) fence.Token { return fence.Token{Epoch: 1, Number: number} }

// put writes an object, and fails the test if the write fails.
func put(t *testing.T, store fence.ObjectStore, key string, token fence.Token, data string) {
	t.Helper()
	if err := fence.Put(t.Context(), store, key, token, []byte(data)); err != nil {
		t.Fatalf("put %s with %v: %v", key, token, err)
	}
}

// refuse fails the test unless a write is refused with both tokens.
func refuse(t *testing.T, store fence.ObjectStore, key string, token, highest fence.Token) {
	t.Helper()
	err := fence.Put(t.Context(), store, key, token, []byte("too late"))
	var stale *fence.StaleError
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Resource: key, Token: token, Highest: highest}) {
		t.Fatalf("put %s with %v, which is lower than %v: %v", key, token, highest, err)
	}
}

// requireObject fails the test unless an object has the data and the token.
func requireObject(t *testing.T, store fence.ObjectStore, key, data string, token fence.Token) {
	t.Helper()
	got, highest, err := fence.Get(t.Context(), store, key)
	if err != nil || string(got) != data || highest != token {
		t.Fatalf("%s has %q and %v instead of %q and %v: %v", key, got, highest, data, token, err)
	}
}

// LowerToken asserts that a lower token is refused, and that the object stays.
func LowerToken(t *testing.T, store fence.ObjectStore) {
	put(t, store, "a", at(5), "one")
	requireObject(t, store, "a", "one", at(5))
	put(t, store, "a", at(5), "two\nlines\n")
	requireObject(t, store, "a", "two\nlines\n", at(5))
	put(t, store, "a", at(6), "")
	requireObject(t, store, "a", "", at(6))
	refuse(t, store, "a", at(5), at(6))
	requireObject(t, store, "a", "", at(6))
	put(t, store, "other", at(1), "")
}

// interrupted is a store in which something happens between a read and its write.
type interrupted struct {
	fence.ObjectStore
	beforePut func()
}

func (s *interrupted) Put(ctx context.Context, key string, data []byte, version string) error {
	if do := s.beforePut; do != nil {
		s.beforePut = nil
		do()
	}
	return s.ObjectStore.Put(ctx, key, data, version)
}

// LateBehindItsRead has the worst moment: the new holder writes between the read and the
// write of the former one, and writes the same data, so that a hash of the data alone
// would not change.
func LateBehindItsRead(t *testing.T, store fence.ObjectStore) {
	for key, first := range map[string]bool{"of an object": true, "of no object": false} {
		if first {
			put(t, store, key, at(5), "same")
		}
		late := &interrupted{store, func() { put(t, store, key, at(6), "same") }}
		refuse(t, late, key, at(5), at(6))
		requireObject(t, store, key, "same", at(6))
	}
}

// together is a store in which n clients have read before any of them writes.
type together struct {
	fence.ObjectStore
	reads    sync.WaitGroup
	rest     atomic.Int64 // reads to come
	attempts atomic.Int64 // to write
}

func (s *together) Get(ctx context.Context, key string) ([]byte, string, error) {
	data, version, err := s.ObjectStore.Get(ctx, key)
	if s.rest.Add(-1) >= 0 {
		s.reads.Done()
	}
	return data, version, err
}

func (s *together) Put(ctx context.Context, key string, data []byte, version string) error {
	s.attempts.Add(1)
	s.reads.Wait()
	return s.ObjectStore.Put(ctx, key, data, version)
}

// ConcurrentUpdates asserts that each of n updates at the same time is applied once, to
// the data that it replaces.
func ConcurrentUpdates(t *testing.T, store fence.ObjectStore, n int) {
	s := &together{ObjectStore: store}
	s.reads.Add(n)
	s.rest.Store(int64(n))
	var wg sync.WaitGroup
	for range n {
		// Waited for below; ends with its update.
		wg.Go(func() {
			err := fence.Update(t.Context(), s, "together", at(5), func(data []byte) ([]byte, error) { return append(data, 'x'), nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	requireObject(t, store, "together", strings.Repeat("x", n), at(5))
	if s.attempts.Load() <= int64(n) {
		t.Fatalf("%d attempts of %d updates: all of them succeeded at once", s.attempts.Load(), n)
	}
}

// ShownToken asserts that no late write changes what a new holder has read by Update.
func ShownToken(t *testing.T, store fence.ObjectStore) {
	update := func(key string, token fence.Token, want string, exists bool) {
		t.Helper()
		err := fence.Update(t.Context(), store, key, token, func(data []byte) ([]byte, error) {
			if string(data) != want || (data != nil) != exists {
				t.Fatalf("%s has %q, exists=%v", key, data, data != nil)
			}
			return data, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put(t, store, "shown", at(5), "one")
	update("shown", at(6), "one", true)
	requireObject(t, store, "shown", "one", at(6))
	refuse(t, store, "shown", at(5), at(6))
	update("new", at(6), "", false)
	update("new", at(6), "", true)
}

// Unfenced asserts that objects that do not exist, or have no token, are reported and
// stay as they are.
func Unfenced(t *testing.T, store fence.ObjectStore) {
	if _, _, err := fence.Get(t.Context(), store, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("get a missing object: %v", err)
	}
	for key, data := range map[string]string{"empty": "", "text": "no token", "line": "1-1", "zero": "1-0\ndata"} {
		if err := store.Put(t.Context(), key, []byte(data), ""); err != nil {
			t.Fatal(err)
		}
		if _, _, err := fence.Get(t.Context(), store, key); !errors.Is(err, fence.ErrInvalidArgument) {
			t.Fatalf("get %q: %v", data, err)
		}
		if err := fence.Put(t.Context(), store, key, at(5), nil); !errors.Is(err, fence.ErrInvalidArgument) {
			t.Fatalf("put over %q: %v", data, err)
		}
		if got, _, err := store.Get(t.Context(), key); err != nil || string(got) != data {
			t.Fatalf("%q was changed to %q: %v", data, got, err)
		}
	}
}

// Conditions asserts that a store checks its conditions: the package fence relies on
// ErrVersionMismatch for a write that was not carried out.
func Conditions(t *testing.T, store fence.ObjectStore) {
	ctx := t.Context()
	write := func(data, version string, want error) {
		t.Helper()
		if err := store.Put(ctx, "plain", []byte(data), version); !errors.Is(err, want) {
			t.Fatalf("write %q over version %q: %v instead of %v", data, version, err, want)
		}
	}
	version := func(want string) string {
		t.Helper()
		data, version, err := store.Get(ctx, "plain")
		if err != nil || string(data) != want || version == "" {
			t.Fatalf("got %q, version %q: %v", data, version, err)
		}
		return version
	}
	write("one", "", nil)
	first := version("one")
	write("two", "", fence.ErrVersionMismatch)
	write("two", first, nil)
	second := version("two")
	if first == second {
		t.Fatalf("different data has the same version %q", first)
	}
	write("three", first, fence.ErrVersionMismatch)
	version("two")
	if err := store.Put(ctx, "nothing", nil, second); !errors.Is(err, fence.ErrVersionMismatch) {
		t.Fatalf("a condition on a missing object: %v", err)
	}
}
