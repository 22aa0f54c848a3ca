package fence_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
)

// bucket is an object store whose versions are hashes of the data, as S3's ETags are.
type bucket struct {
	// mu guards objects.
	mu        sync.Mutex
	objects   map[string][]byte
	beforePut func()       // runs before each condition is checked
	failPut   func() error // replaces the reply of a write that was carried out
}

func etag(data []byte) string { return fmt.Sprintf("%x", md5.Sum(data)) }

func (b *bucket) Get(_ context.Context, key string) ([]byte, string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.objects[key]
	if !ok {
		return nil, "", fmt.Errorf("no such key: %w", fs.ErrNotExist)
	}
	return bytes.Clone(data), etag(data), nil
}

func (b *bucket) Put(_ context.Context, key string, data []byte, version string) error {
	if b.beforePut != nil {
		b.beforePut()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	present, ok := b.objects[key]
	if ok != (version != "") || ok && etag(present) != version {
		return fmt.Errorf("PreconditionFailed: %w", fence.ErrVersionMismatch)
	}
	if b.objects == nil {
		b.objects = map[string][]byte{}
	}
	b.objects[key] = bytes.Clone(data)
	if b.failPut != nil {
		return b.failPut()
	}
	return nil
}

// requireObject asserts the data and the token of an object.
func requireObject(t *testing.T, b *bucket, key, data string, token fence.Token) {
	t.Helper()
	got, highest, err := fence.Get(t.Context(), b, key)
	require.NoError(t, err)
	require.Equal(t, data, string(got))
	require.Equal(t, token, highest)
}

func TestPutRefusesALowerTokenAndKeepsTheObject(t *testing.T) {
	var b bucket
	require.NoError(t, fence.Put(t.Context(), &b, "a", at(5), []byte("one")))
	requireObject(t, &b, "a", "one", at(5))
	require.NoError(t, fence.Put(t.Context(), &b, "a", at(5), []byte("two\nlines\n")))
	requireObject(t, &b, "a", "two\nlines\n", at(5))
	require.NoError(t, fence.Put(t.Context(), &b, "a", at(6), nil))
	requireObject(t, &b, "a", "", at(6))
	err := fence.Put(t.Context(), &b, "a", at(5), []byte("too late"))
	var stale *fence.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, &fence.StaleError{Resource: "a", Token: at(5), Highest: at(6)}, stale)
	requireObject(t, &b, "a", "", at(6))
	require.NoError(t, fence.Put(t.Context(), &b, "other", at(1), nil))
}

// The worst moment: the new holder writes between the read and the write of the old
// one, and writes the same data, so that a hash of the data alone would not change.
func TestALateWriteBehindItsReadIsRefused(t *testing.T) {
	for name, first := range map[string]bool{"of an object": true, "of no object": false} {
		t.Run(name, func(t *testing.T) {
			var b bucket
			if first {
				require.NoError(t, fence.Put(t.Context(), &b, "a", at(5), []byte("same")))
			}
			b.beforePut = func() {
				b.beforePut = nil
				require.NoError(t, fence.Put(t.Context(), &b, "a", at(6), []byte("same")))
			}
			require.ErrorIs(t, fence.Put(t.Context(), &b, "a", at(5), []byte("too late")), fence.ErrStale)
			requireObject(t, &b, "a", "same", at(6))
		})
	}
}

func TestUpdateIsAppliedToTheDataThatItReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int64
		b := bucket{beforePut: func() { attempts.Add(1); time.Sleep(time.Millisecond) }} // all read before any writes
		var wg sync.WaitGroup
		for range 20 {
			// Waited for below; ends with its update.
			wg.Go(func() {
				err := fence.Update(t.Context(), &b, "a", at(5), func(data []byte) ([]byte, error) { return append(data, 'x'), nil })
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		requireObject(t, &b, "a", "xxxxxxxxxxxxxxxxxxxx", at(5))
		require.Greater(t, attempts.Load(), int64(20), "some attempts were in vain")
	})
}

// After a new holder has read by Update, no late write changes what it has read.
func TestUpdateWithoutAChangeShowsTheToken(t *testing.T) {
	var b bucket
	require.NoError(t, fence.Put(t.Context(), &b, "a", at(5), []byte("one")))
	require.NoError(t, fence.Update(t.Context(), &b, "a", at(6), func(data []byte) ([]byte, error) {
		require.Equal(t, "one", string(data))
		return data, nil
	}))
	requireObject(t, &b, "a", "one", at(6))
	require.ErrorIs(t, fence.Put(t.Context(), &b, "a", at(5), nil), fence.ErrStale)
	require.NoError(t, fence.Update(t.Context(), &b, "new", at(6), func(data []byte) ([]byte, error) {
		require.Nil(t, data)
		return data, nil
	}))
	require.NoError(t, fence.Update(t.Context(), &b, "new", at(6), func(data []byte) ([]byte, error) {
		require.NotNil(t, data, "the object exists, and is empty")
		return data, nil
	}))
}

func TestErrorsOfAnObjectStoreAreReported(t *testing.T) {
	var b bucket
	errReply := errors.New("reply lost")
	b.failPut = func() error { return errReply }
	require.ErrorIs(t, fence.Put(t.Context(), &b, "a", at(5), []byte("one")), errReply)
	b.failPut = nil
	require.NoError(t, fence.Put(t.Context(), &b, "a", at(5), []byte("one")), "a second call is safe")

	errChange := fmt.Errorf("not now: %w", fence.ErrVersionMismatch)
	err := fence.Update(t.Context(), &b, "a", at(6), func([]byte) ([]byte, error) { return nil, errChange })
	require.ErrorIs(t, err, errChange, "an error of the change ends Update, whatever it wraps")
	requireObject(t, &b, "a", "one", at(5))

	_, _, err = fence.Get(t.Context(), &b, "missing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, data := range []string{"", "no token", "1-1", "1-0\ndata"} {
		b.objects["b"] = []byte(data)
		_, _, err = fence.Get(t.Context(), &b, "b")
		require.ErrorIs(t, err, fence.ErrInvalidArgument)
		require.ErrorContains(t, err, "fence: read b: ")
		require.ErrorContains(t, err, "no fencing token in its first line")
		require.ErrorIs(t, fence.Put(t.Context(), &b, "b", at(5), nil), fence.ErrInvalidArgument)
		require.Equal(t, data, string(b.objects["b"]))
	}
}

// faulty is a store whose every condition fails, or that has no versions.
type faulty struct{ data string }

func (f faulty) Get(context.Context, string) ([]byte, string, error) {
	if f.data != "" {
		return []byte(f.data), "", nil
	}
	return nil, "", fs.ErrNotExist
}

func (faulty) Put(context.Context, string, []byte, string) error { return fence.ErrVersionMismatch }

func TestPutEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errEnough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		// Waited for below; ends with ctx.
		go func() { ended <- fence.Put(ctx, faulty{}, "a", at(5), nil) }()
		synctest.Wait()
		cancel(errEnough)
		err := <-ended
		require.ErrorIs(t, err, errEnough)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, fence.ErrVersionMismatch)
		require.ErrorIs(t, fence.Put(ctx, &bucket{}, "a", at(5), nil), errEnough)
	})
}

func TestInvalidArgumentsOfPut(t *testing.T) {
	ctx := t.Context()
	same := func(data []byte) ([]byte, error) { return data, nil }
	for want, err := range map[string]error{
		"store is nil":               fence.Put(ctx, nil, "a", at(5), nil),
		"change is nil":              fence.Update(ctx, &bucket{}, "a", at(5), nil),
		"resource is empty":          fence.Put(ctx, &bucket{}, "", at(5), nil),
		"epoch must be at least 1":   fence.Update(ctx, &bucket{}, "a", fence.Token{}, same),
		"object without a version":   fence.Update(ctx, faulty{data: "1-1\n"}, "a", at(5), same),
		"fence: read a: invalid arg": func() error { _, _, err := fence.Get(ctx, nil, "a"); return err }(),
	} {
		require.ErrorIs(t, err, fence.ErrInvalidArgument)
		require.ErrorContains(t, err, want)
	}
}
