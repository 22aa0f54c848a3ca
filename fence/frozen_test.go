//go:build unix

package fence_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/internal/frozen"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestALateWriteToAZnodeIsRefusedByTheGuard(t *testing.T) {
	t.Parallel() // it waits
	testLateWriteToAZnode(t, frozen.InProcess(t))
}

func TestOnApacheALateWriteToAZnodeIsRefusedByTheGuard(t *testing.T) {
	testLateWriteToAZnode(t, frozen.OnApache(t))
}

// testLateWriteToAZnode freezes the process of a holder until another client holds. Its
// late write to a znode goes through without the guard, and is refused with it.
func testLateWriteToAZnode(t *testing.T, servers string) {
	for _, fenced := range []bool{false, true} {
		t.Run(fmt.Sprintf("fenced=%v", fenced), func(t *testing.T) {
			target := fmt.Sprintf("/data/fenced-%v", fenced)
			refused := frozen.Case{
				Serve: func() string { return target },
				Write: func(ctx context.Context, w frozen.Writer, value string) error {
					return w.Client.Retry(ctx, func(s *session.Session) error {
						if err := s.EnsurePath(ctx, w.Target, session.Persistent, nil); err != nil {
							return err
						}
						ops := []session.Op{session.SetOp(w.Target, []byte(value), -1)}
						if fenced {
							ops = append(ops, w.Held.Guard())
						}
						_, err := s.Txn(ctx, ops...)
						return err
					})
				},
				Refusal: session.ErrNoNode,
			}.Run(t, servers)
			require.Equal(t, fenced, refused)
			require.Equal(t, lastValue(fenced), read(t, servers, target))
		})
	}
}

// read reads a znode.
func read(t *testing.T, servers, path string) string {
	t.Helper()
	client, err := session.Connect(t.Context(), servers, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close(t.Context())) }()
	var data []byte
	require.NoError(t, client.Retry(t.Context(), func(s *session.Session) (err error) {
		data, _, err = s.Get(t.Context(), path)
		return err
	}))
	return string(data)
}

// lastValue is the value that remains after a late write.
func lastValue(fenced bool) string {
	if fenced {
		return frozen.Next
	}
	return frozen.Late
}

// remote is the client of an object store that is served by [bucket] over HTTP.
type remote struct{ url string }

// do sends a request and returns the status, the ETag and the body of the reply.
func (r remote) do(ctx context.Context, method, key, body string, header map[string]string) (status int, etag string, data []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, r.url+"/"+key, strings.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	data, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("ETag"), data, err
}

func (r remote) Get(ctx context.Context, key string) ([]byte, string, error) {
	status, version, data, err := r.do(ctx, http.MethodGet, key, "", nil)
	if err == nil && status == http.StatusNotFound {
		err = fs.ErrNotExist
	}
	return data, version, err
}

func (r remote) Put(ctx context.Context, key string, data []byte, version string) error {
	header := map[string]string{"If-Match": version}
	if version == "" {
		header = map[string]string{"If-None-Match": "*"}
	}
	status, _, _, err := r.do(ctx, http.MethodPut, key, string(data), header)
	if err == nil && status == http.StatusPreconditionFailed {
		err = fence.ErrVersionMismatch
	}
	return err
}

// ServeHTTP makes the bucket an object store for other processes. PUT without a
// condition replaces the object.
func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := filepath.Base(r.URL.Path)
	data, version, err := b.Get(r.Context(), key)
	switch {
	case r.Method == http.MethodGet && err != nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		w.Header().Set("ETag", version)
		_, _ = w.Write(data)
	default:
		if r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != "" {
			version = r.Header.Get("If-Match")
		}
		data, err = io.ReadAll(r.Body)
		if err == nil && b.Put(r.Context(), key, data, version) != nil {
			w.WriteHeader(http.StatusPreconditionFailed)
		}
	}
}

func TestALateWriteToAnObjectIsRefused(t *testing.T) {
	t.Parallel() // it waits
	testLateWriteToAnObject(t, frozen.InProcess(t))
}

func TestOnApacheALateWriteToAnObjectIsRefused(t *testing.T) {
	testLateWriteToAnObject(t, frozen.OnApache(t))
}

func testLateWriteToAnObject(t *testing.T, servers string) {
	for _, fenced := range []bool{false, true} {
		t.Run(fmt.Sprintf("fenced=%v", fenced), func(t *testing.T) {
			b := &bucket{}
			refused := frozen.Case{
				Serve: func() string {
					server := httptest.NewServer(b)
					t.Cleanup(func() { http.DefaultClient.CloseIdleConnections(); server.Close() })
					return server.URL
				},
				Write: func(ctx context.Context, w frozen.Writer, value string) error {
					if fenced {
						return fence.Put(ctx, remote{w.Target}, "a", w.Token, []byte(value))
					}
					_, _, _, err := remote{w.Target}.do(ctx, http.MethodPut, "a", "1-1\n"+value, nil)
					return err
				},
			}.Run(t, servers)
			require.Equal(t, fenced, refused)
			data, _, err := fence.Get(t.Context(), b, "a")
			require.NoError(t, err)
			require.Equal(t, lastValue(fenced), string(data))
		})
	}
}
