package fence_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/internal/objecttest"
)

// bucket is an object store whose versions are hashes of the data, as S3's ETags are.
type bucket struct {
	// mu guards objects.
	mu      sync.Mutex
	objects map[string][]byte
	failPut func() error // replaces the reply of a write that was carried out
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

func TestPutRefusesALowerTokenAndKeepsTheObject(t *testing.T) { objecttest.LowerToken(t, &bucket{}) }

func TestALateWriteBehindItsReadIsRefused(t *testing.T) { objecttest.LateBehindItsRead(t, &bucket{}) }

func TestUpdateIsAppliedToTheDataThatItReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { objecttest.ConcurrentUpdates(t, &bucket{}, 20) })
}

func TestUpdateWithoutAChangeShowsTheToken(t *testing.T) { objecttest.ShownToken(t, &bucket{}) }

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
}

func TestObjectsWithoutATokenAreReportedAndStay(t *testing.T) {
	objecttest.Unfenced(t, &bucket{})
	b := bucket{objects: map[string][]byte{"b": []byte("no token")}}
	_, _, err := fence.Get(t.Context(), &b, "b")
	require.ErrorContains(t, err, "fence: read b: ")
	require.ErrorContains(t, err, "no fencing token in its first line")
}

// The store of these tests is one as the interface demands.
func TestTheBucketOfTheTestsChecksItsConditions(t *testing.T) { objecttest.Conditions(t, &bucket{}) }

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
