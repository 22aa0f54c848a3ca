package httpfence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/httpfence"
)

// at is a token of epoch 1.
func at(number int64) fence.Token { return fence.Token{Epoch: 1, Number: number} }

// data are resources in memory, written by PUT.
type data struct {
	// mu guards values.
	mu     sync.Mutex
	values map[string]string
}

func (d *data) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Method == http.MethodPut && err == nil {
		if d.values == nil {
			d.values = map[string]string{}
		}
		d.values[r.URL.Path] = string(text)
		token, _ := fence.FromContext(r.Context())
		w.Header().Set("Seen", token.String())
		w.WriteHeader(http.StatusCreated)
	}
	fmt.Fprint(w, d.values[r.URL.Path])
}

// server is a server with a client that sends tokens.
type server struct {
	*httptest.Server
	client *http.Client
}

func start(t *testing.T, h http.Handler) server {
	t.Helper()
	s := server{httptest.NewServer(h), &http.Client{Transport: &httpfence.Transport{}}}
	t.Cleanup(func() { s.client.CloseIdleConnections(); s.Close() })
	return s
}

// reply is a response that was read.
type reply struct {
	status int
	header http.Header
	body   string
	stale  error // of CheckResponse
}

// send sends a request, with a token unless it is zero.
func (s server) send(ctx context.Context, method, path string, token fence.Token, body string) (reply, error) {
	if !token.IsZero() {
		ctx = fence.NewContext(ctx, token)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text), httpfence.CheckResponse(resp)}, err
}

// put puts a body and returns the reply.
func (s server) put(t *testing.T, path string, token fence.Token, body string) reply {
	t.Helper()
	r, err := s.send(t.Context(), http.MethodPut, path, token, body)
	require.NoError(t, err)
	return r
}

func TestALowerTokenIsRefusedWith412AndBothTokens(t *testing.T) {
	var d data
	s := start(t, httpfence.Handler(&fence.Memory{}, &d, nil))
	first := s.put(t, "/a", at(5), "five")
	require.Equal(t, http.StatusCreated, first.status)
	require.Equal(t, "five", first.body)
	require.Equal(t, "1-5", first.header.Get("Seen"), "the handler has the token")
	require.NoError(t, first.stale)
	require.Equal(t, http.StatusCreated, s.put(t, "/a", at(6), "six").status)

	late := s.put(t, "/a", at(5), "too late")
	require.Equal(t, http.StatusPreconditionFailed, late.status)
	require.Equal(t, "application/problem+json", late.header.Get("Content-Type"))
	require.Equal(t, "1-6", late.header.Get(httpfence.Header))
	require.JSONEq(t, `{"title":"stale fencing token","status":412,"resource":"/a","token":"1-5","highest":"1-6",
		"detail":"fence: write /a: stale fencing token: token 1-5 is lower than 1-6, the highest seen"}`, late.body)
	var stale *fence.StaleError
	require.ErrorAs(t, late.stale, &stale)
	require.Equal(t, &fence.StaleError{Resource: "/a", Token: at(5), Highest: at(6)}, stale)
	require.Equal(t, "six", d.values["/a"])
	require.Equal(t, http.StatusCreated, s.put(t, "/b", at(1), "one").status)
}

func TestAWriteWithoutAValidTokenIsRefused(t *testing.T) {
	var d data
	s := start(t, httpfence.Handler(&fence.Memory{}, &d, nil))
	missing := s.put(t, "/a", fence.Token{}, "x")
	require.Equal(t, http.StatusPreconditionRequired, missing.status)
	require.Contains(t, missing.body, "send the header Fencing-Token")
	require.NoError(t, missing.stale)
	for _, headers := range [][]string{{""}, {"5"}, {"1-0"}, {"1-5", "1-6"}} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/a", nil)
		r.Header[httpfence.Header] = headers
		w := httptest.NewRecorder()
		httpfence.Handler(&fence.Memory{}, &d, nil).ServeHTTP(w, r)
		require.Equal(t, http.StatusBadRequest, w.Code, "%q", headers)
		require.Contains(t, w.Body.String(), "header Fencing-Token")
	}
	require.Empty(t, d.values)
}

func TestASafeRequestNeedsNoTokenAndShowsTheOneThatItHas(t *testing.T) {
	var d data
	s := start(t, httpfence.Handler(&fence.Memory{}, &d, nil))
	s.put(t, "/a", at(5), "five")
	for _, token := range []fence.Token{{}, at(6)} {
		r, err := s.send(t.Context(), http.MethodGet, "/a", token, "")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.status)
		require.Equal(t, "five", r.body)
	}
	require.ErrorIs(t, s.put(t, "/a", at(5), "too late").stale, fence.ErrStale)
	for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodPatch, "UNKNOWN"} {
		r, err := s.send(t.Context(), method, "/a", fence.Token{}, "")
		require.NoError(t, err)
		require.Equal(t, http.StatusPreconditionRequired, r.status)
	}
}

func TestBodiesAreReadBeforeTheCheckUpToALimit(t *testing.T) {
	var d data
	s := start(t, httpfence.Handler(&fence.Memory{}, &d, &httpfence.Options{MaxBody: 4, Resource: func(*http.Request) string { return "all" }}))
	require.Equal(t, http.StatusRequestEntityTooLarge, s.put(t, "/a", at(9), "12345").status)
	require.Equal(t, http.StatusCreated, s.put(t, "/a", at(5), "1234").status, "the refused request has left no token")

	// A client that is frozen while it sends does not keep others waiting.
	sending, frozen := io.Pipe()
	ended := make(chan error, 1)
	// Waited for below; ends with its request.
	go func() {
		req, err := http.NewRequestWithContext(fence.NewContext(t.Context(), at(5)), http.MethodPut, s.URL+"/b", sending)
		if err == nil {
			var resp *http.Response
			if resp, err = s.client.Do(req); err == nil {
				err = httpfence.CheckResponse(resp)
				resp.Body.Close()
			}
		}
		ended <- err
	}()
	_, err := frozen.Write([]byte("la"))
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, s.put(t, "/a", at(6), "new").status)
	require.NoError(t, frozen.Close())
	require.ErrorIs(t, <-ended, fence.ErrStale)
	require.NotContains(t, d.values, "/b")
}

// checker is a Checker that does what a test wants.
type checker func(write func(context.Context) error) error

func (c checker) Do(ctx context.Context, _ string, _ fence.Token, write func(context.Context) error) error {
	return c(func(context.Context) error { return write(ctx) })
}

func TestTheResponseIsSentAfterTheWriteIsComplete(t *testing.T) {
	errCommit := errors.New("commit failed: secret detail")
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") })
	failing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such thing", http.StatusNotFound) })
	silent := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	var said error
	passOn := checker(func(write func(context.Context) error) error {
		said = write(context.Background())
		return said
	})
	for name, c := range map[string]struct {
		checker checker
		next    http.Handler
		status  int
		body    string
	}{
		"written":      {passOn, ok, http.StatusOK, "done"},
		"nothing said": {passOn, silent, http.StatusOK, ""},
		"rolled back":  {passOn, failing, http.StatusNotFound, "no such thing\n"},
		"commit failed": {func(write func(context.Context) error) error {
			return errors.Join(write(context.Background()), errCommit)
		}, ok, http.StatusInternalServerError, ""},
		"stale at the end": {func(write func(context.Context) error) error {
			_ = write(context.Background())
			return fence.Check("/a", at(1), at(2))
		}, ok, http.StatusPreconditionFailed, ""},
		"check not made":     {func(func(context.Context) error) error { return errCommit }, ok, http.StatusServiceUnavailable, ""},
		"refused beforehand": {func(func(context.Context) error) error { return fence.Check("/a", at(1), at(2)) }, ok, http.StatusPreconditionFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			said = nil
			s := start(t, httpfence.Handler(c.checker, c.next, nil))
			r := s.put(t, "/a", at(5), "x")
			require.Equal(t, c.status, r.status)
			require.NotContains(t, r.body, "secret")
			if c.status < 405 {
				require.Equal(t, c.body, r.body)
				require.Equal(t, c.status >= 400, said != nil, "the Checker is told of a failure")
			} else {
				require.NotContains(t, r.body, "done")
			}
		})
	}
}

func TestInvalidArgumentsOfAHandlerAreReportedByEachResponse(t *testing.T) {
	for want, h := range map[string]http.Handler{
		"checker is nil": httpfence.Handler(nil, &data{}, nil),
		"next is nil":    httpfence.Handler(&fence.Memory{}, nil, nil),
		"MaxBody":        httpfence.Handler(&fence.Memory{}, &data{}, &httpfence.Options{MaxBody: -1}),
	} {
		r := start(t, h).put(t, "/a", at(1), "x")
		require.Equal(t, http.StatusInternalServerError, r.status)
		require.Contains(t, r.body, want)
	}
	empty := httpfence.Handler(&fence.Memory{}, &data{}, &httpfence.Options{Resource: func(*http.Request) string { return "" }})
	r := start(t, empty).put(t, "/a", at(1), "x")
	require.Equal(t, http.StatusBadRequest, r.status)
	require.Contains(t, r.body, "resource is empty")
}

func TestWriteErrorLeavesOtherErrorsAlone(t *testing.T) {
	for _, err := range []error{nil, errors.New("disk full")} {
		w := httptest.NewRecorder()
		require.False(t, httpfence.WriteError(w, err))
		require.Empty(t, w.Header())
		require.Zero(t, w.Body.Len())
	}
}

// The former request, and other conditions, stay as they are.
func TestTransportSendsTheTokenOfTheContext(t *testing.T) {
	var got []string
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.Header.Get(httpfence.Header))
		return &http.Response{StatusCode: http.StatusPreconditionFailed, Request: r, Body: http.NoBody}, nil
	})
	transport := &httpfence.Transport{Base: base}
	transport.CloseIdleConnections() // base has none
	send := func(ctx context.Context) (*http.Request, error) {
		r := httptest.NewRequestWithContext(ctx, http.MethodPut, "/a", bytes.NewReader(nil))
		resp, err := transport.RoundTrip(r)
		if err == nil {
			require.NoError(t, httpfence.CheckResponse(resp), "412 of another condition")
			resp.Body.Close()
		}
		return r, err
	}
	r, err := send(fence.NewContext(t.Context(), at(7)))
	require.NoError(t, err)
	require.Empty(t, r.Header, "the request of the caller is not changed")
	_, err = send(t.Context())
	require.NoError(t, err)
	_, err = send(fence.NewContext(t.Context(), fence.Token{Epoch: 1}))
	require.ErrorIs(t, err, fence.ErrInvalidArgument)
	require.Equal(t, []string{"1-7", ""}, got)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
