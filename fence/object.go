package fence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
)

// ErrVersionMismatch is returned by an [ObjectStore] whose object has another version
// than the condition of a Put.
var ErrVersionMismatch = errors.New("the object has another version")

// ObjectStore is a store with conditional writes, such as S3, Google Cloud Storage or
// Azure Blob Storage. Reads must see all completed writes, and a condition must be
// checked atomically with its write.
type ObjectStore interface {
	// Get returns the data of an object and its version: an ETag, a generation. The
	// version is not empty, and differs for different data; it may be a hash of the
	// data. The error wraps fs.ErrNotExist if no object exists.
	Get(ctx context.Context, key string) (data []byte, version string, err error)
	// Put writes an object on the condition that its version is still version, or,
	// if version is empty, that no object exists (If-Match, If-None-Match: *). The
	// error wraps ErrVersionMismatch if the condition does not hold, and only then: Put
	// must not repeat a write whose reply was lost, as clients of object stores do by
	// default, because the repetition would fail although the object was written. With
	// any other error the object may have been written.
	Put(ctx context.Context, key string, data []byte, version string) error
}

// Put writes data and token as the object at key, unless the object has a higher token.
// Put reads the object before it writes: keep fenced objects small. For large data, write
// the data to a new key without a fence, and Put the name of the key.
//
// The first line of the object is the token's text: versions that are hashes of the
// data, such as S3's ETags, thus differ for different tokens. Read the object with
// [Get]. Do not delete a fenced object, which would delete its token: put empty data.
//
// The error wraps ErrStale, ErrInvalidArgument, the context's error, or an error of the
// store. With an error of the store's Put, other than ErrVersionMismatch, the object may
// have been written. A call of Put again is safe: it replaces only data of the same
// token or a lower one.
func Put(ctx context.Context, store ObjectStore, key string, token Token, data []byte) error {
	return Update(ctx, store, key, token, func([]byte) ([]byte, error) { return data, nil })
}

// Update replaces the data of the object at key by change(data), and its token by token,
// unless the object has a higher token. change gets nil if no object exists; change is
// called again if another write came between, and an error of change ends Update with
// nothing written. Errors are otherwise those of [Put].
//
// A new holder that continues the work of a former one reads by Update, with a change
// that returns its argument: after that, no late write of the former holder can change
// the data.
func Update(ctx context.Context, store ObjectStore, key string, token Token, change func(data []byte) ([]byte, error)) error {
	if ctx.Err() != nil {
		return holding.Failure(ctx, "fence", "write", key, context.Cause(ctx))
	}
	switch {
	case store == nil:
		return fmt.Errorf("fence: write %s: %w: store is nil", key, ErrInvalidArgument)
	case change == nil:
		return fmt.Errorf("fence: write %s: %w: change is nil", key, ErrInvalidArgument)
	}
	if err := Check(key, token, Token{}); err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		done, err := updateOnce(ctx, store, key, token, change)
		if done {
			return err
		}
		if !pause(ctx, tries) {
			return holding.Failure(ctx, "fence", "write", key, fmt.Errorf("%w, after %d attempts: %w", context.Cause(ctx), tries+1, err))
		}
	}
}

// updateOnce makes one attempt. done is false if another write came between the read and
// the write.
func updateOnce(ctx context.Context, store ObjectStore, key string, token Token, change func([]byte) ([]byte, error)) (done bool, err error) {
	data, highest, version, err := read(ctx, store, key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, holding.Failure(ctx, "fence", "read", key, err)
	}
	if err := Check(key, token, highest); err != nil {
		return true, err
	}
	data, err = change(data)
	if err != nil {
		return true, err
	}
	if err := store.Put(ctx, key, fmt.Appendf(nil, "%v\n%s", token, data), version); err != nil {
		return !errors.Is(err, ErrVersionMismatch), holding.Failure(ctx, "fence", "write", key, err)
	}
	return true, nil
}

// Get returns the data of an object written by [Put] or [Update], and its token. The
// error wraps fs.ErrNotExist if no object exists, and ErrInvalidArgument if the object
// has no token in its first line.
func Get(ctx context.Context, store ObjectStore, key string) ([]byte, Token, error) {
	if store == nil {
		return nil, Token{}, fmt.Errorf("fence: read %s: %w: store is nil", key, ErrInvalidArgument)
	}
	data, token, _, err := read(ctx, store, key)
	if err != nil {
		return nil, Token{}, holding.Failure(ctx, "fence", "read", key, err)
	}
	return data, token, nil
}

// read reads an object and takes its first line off.
func read(ctx context.Context, store ObjectStore, key string) (data []byte, token Token, version string, err error) {
	data, version, err = store.Get(ctx, key)
	if err != nil {
		return nil, Token{}, "", err
	}
	if version == "" {
		return nil, Token{}, "", fmt.Errorf("%w: the store returned an object without a version", ErrInvalidArgument)
	}
	line, rest, found := bytes.Cut(data, []byte("\n"))
	token, err = ParseToken(string(line))
	if !found || err != nil {
		return nil, Token{}, "", fmt.Errorf("%w: the object has no fencing token in its first line; "+
			"write it once, without a fence, with the line 1-1 before its data", ErrInvalidArgument)
	}
	return rest, token, version, nil
}

// pause waits before the next attempt, for a random time that grows to a second, and
// reports whether ctx goes on. Another writer has succeeded since the last attempt.
func pause(ctx context.Context, tries int) bool {
	limit := min(time.Second, 5*time.Millisecond<<min(tries, 10))
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
