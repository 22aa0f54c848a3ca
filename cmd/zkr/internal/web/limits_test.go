package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serving serves with limits until the test ends.
func serving(t *testing.T, most limits, h http.Handler) (addr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := Listen(ctx, "127.0.0.1:0", false)
	require.NoError(t, err)
	var over sync.WaitGroup
	// Waited for in the cleanup; ends with ctx.
	over.Go(func() { assert.NoError(t, serve(ctx, l, h, most)) })
	t.Cleanup(func() { cancel(); over.Wait() })
	return l.Addr().String()
}

// brief are limits short enough for a test.
func brief() limits {
	const most = time.Second // for which no machine stalls in the middle of a request
	return limits{header: most, read: most, write: most, idle: most, end: 10 * most}
}

// TestSlowClientIsDropped while it sends a header or a body, or before its next
// request.
func TestSlowClientIsDropped(t *testing.T) {
	t.Parallel()
	addr := serving(t, brief(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	}))
	for _, said := range []string{"", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nabc", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"} {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = io.WriteString(c, said)
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(limit)))
		_, err = io.ReadAll(c)
		require.NoError(t, err, "after %q the connection is closed", said)
		_ = c.Close()
	}
}

// TestClientThatDoesNotReadIsDropped, and does not block writers.
func TestClientThatDoesNotReadIsDropped(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	addr := serving(t, brief(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for part := make([]byte, 1<<20); ; {
			if _, err := w.Write(part); err != nil {
				failed <- err
				return
			}
		}
	}))
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	require.NoError(t, err)
	select {
	case err := <-failed:
		require.Error(t, err)
	case <-time.After(limit):
		t.Fatal("it is still written to")
	}
}

func TestLongHeadersAreRefused(t *testing.T) {
	addr := serving(t, usual(), http.NotFoundHandler())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr, nil)
	require.NoError(t, err)
	r.Header.Set("X", strings.Repeat("x", 2*maxHeader))
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	_ = answer.Body.Close()
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, answer.StatusCode)
}

// TestStreamOutlivesTheLimitsOfOtherAnswers: each of its events has its own.
func TestStreamOutlivesTheLimitsOfOtherAnswers(t *testing.T) {
	t.Parallel()
	b := &board{}
	b.set(Block{Key: "a", HTML: "first"})
	addr := serving(t, brief(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { Stream(w, r, &b.hub, "", b.regions) }))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr, nil)
	require.NoError(t, err)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	says := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("%s: the stream has ended: %v", text, lines.Err())
	}
	says("first")
	for _, text := range []string{"second", "third"} {
		<-time.After(2 * brief().write)
		b.set(Block{Key: "a", HTML: "first", Class: text})
		says(text)
	}
}

// TestStreamsAreBounded: a client beyond the limit is told to retry, and a
// leaving client makes room.
func TestStreamsAreBounded(t *testing.T) {
	b := &board{}
	addr := serving(t, usual(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { Stream(w, r, &b.hub, "", b.regions) }))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	open := func() (code int, again string, leave func()) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr, nil)
		require.NoError(t, err)
		answer, err := client.Do(r) //nolint:bodyclose // closed by leave
		require.NoError(t, err)
		return answer.StatusCode, answer.Header.Get("Retry-After"), func() { cancel(); _ = answer.Body.Close() }
	}
	leaves := make([]func(), 0, maxStreams)
	for range maxStreams {
		code, _, leave := open()
		require.Equal(t, http.StatusOK, code)
		leaves = append(leaves, leave)
	}
	code, again, leave := open()
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Equal(t, "5", again)
	leave()
	for _, leave := range leaves {
		leave()
	}
	require.Eventually(t, func() bool {
		b.hub.mu.Lock()
		defer b.hub.mu.Unlock()
		return b.hub.streams == 0
	}, limit, time.Millisecond, "all have left")
	code, _, leave = open()
	assert.Equal(t, http.StatusOK, code)
	leave()
}

// TestStreamThatCannotBeDrawnEnds: its page asks again, and no stream is left.
func TestStreamThatCannotBeDrawnEnds(t *testing.T) {
	var hub Hub
	hub.Publish()
	w := httptest.NewRecorder()
	done := make(chan struct{})
	// Waited for through done; ends when the stream does.
	go func() {
		defer close(done)
		Stream(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), &hub, "", func() ([]Region, error) { return nil, io.ErrUnexpectedEOF })
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("it goes on")
	}
	assert.NotContains(t, w.Body.String(), "update")
	assert.Zero(t, hub.streams)
}

// TestStreamSaysThatItIsAlive though nothing changes, as an event: scripts learn of
// no comments.
func TestStreamSaysThatItIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hub Hub
		ctx, cancel := context.WithTimeout(context.Background(), 3*alive+time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		Stream(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), &hub, "", func() ([]Region, error) { return nil, nil })
		assert.Equal(t, "retry: 1000\n\n"+strings.Repeat("event: alive\ndata: {}\n\n", 3), w.Body.String())
	})
}
