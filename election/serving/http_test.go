package serving_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestHandlerAnswers503WhileAnotherLeads(t *testing.T) {
	inWorld(t, func(w *World) {
		o := serving.Options{RetryAfter: 1500 * time.Millisecond, Address: func(c election.Candidate) string { return c.ID }}
		a, b := w.start("10.0.0.1:80", o), w.start("10.0.0.2:80", o)
		called := 0
		get := func(i *instance) *httptest.ResponseRecorder {
			r := httptest.NewRecorder()
			i.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				called++
				lead, ok := serving.FromContext(r.Context())
				require.True(w, ok)
				require.Equal(w, i.Held(), lead)
			})).ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/", nil))
			return r
		}
		require.Equal(w, http.StatusOK, get(a).Code)
		require.Equal(w, 1, called)
		r := get(b)
		require.Equal(w, http.StatusServiceUnavailable, r.Code)
		require.Equal(w, "2", r.Header().Get("Retry-After"))
		require.Equal(w, "10.0.0.1:80", r.Header().Get(serving.LeaderHeader))
		require.Equal(w, "close", r.Header().Get("Connection"))
		require.Equal(w, "no-store", r.Header().Get("Cache-Control"))
		require.Equal(w, 1, called)
		w.end(a)
		r = get(a)
		require.Equal(w, http.StatusServiceUnavailable, r.Code)
		require.NotContains(w, r.Header(), serving.LeaderHeader)
		w.end(b)
	})
}

// A handler that panics is counted out, too.
func TestPanicOfAHandlerDoesNotKeepTheLeadership(t *testing.T) {
	inWorld(t, func(w *World) {
		a := w.start("a", serving.Options{})
		require.Panics(w, func() {
			a.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("handler") })).
				ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		})
		began := time.Now()
		w.end(a)
		require.Less(w, time.Since(began), time.Second)
	})
}

// realLeader connects to a server over TCP, in real time.
func realLeader(t *testing.T, o *serving.Options) *serving.Leader {
	t.Helper()
	zookeeper, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = zookeeper.Close() })
	client, err := session.Connect(t.Context(), zookeeper.Addr(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	return serving.New(election.New(client, dir, nil), o)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", world.OwnAddress())
	require.NoError(t, err)
	return ln
}

// serve runs Serve until stop is called.
func serve(t *testing.T, l *serving.Leader, s serving.Server, ln net.Listener) (stop context.CancelFunc, out chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out = make(chan error, 1)
	// Waited for by the tests; ends with ctx.
	go func() { out <- l.Serve(ctx, s, ln) }()
	return stop, out
}

// get is the status and the body of a response; 0 if the connection is refused.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

func admitted(t *testing.T, l *serving.Leader, want bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for admits := range l.Observe(ctx) {
		if admits == want {
			return
		}
	}
	t.Fatalf("admission is not %v", want)
}

// The request in progress ends before Serve returns; meanwhile others are refused, and
// probes are served.
func TestServeDrainsAServer(t *testing.T) {
	l := realLeader(t, nil)
	inside, goOn := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "alive") })
	mux.Handle("/", l.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(inside)
		<-goOn
		_, _ = io.WriteString(w, "served")
	})))
	ln := listen(t)
	stop, out := serve(t, l, &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}, ln)
	admitted(t, l, true)
	url := "http://" + ln.Addr().String()
	body := make(chan string, 1)
	// Waited for below; ends with the response.
	go func() {
		_, b := get(t, url+"/work")
		body <- b
	}()
	<-inside
	stop()
	admitted(t, l, false)
	code, _ := get(t, url+"/more")
	require.Equal(t, http.StatusServiceUnavailable, code)
	code, alive := get(t, url+"/livez")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "alive", alive)
	require.Empty(t, out)
	close(goOn)
	require.Equal(t, "served", <-body)
	require.NoError(t, <-out)
	code, _ = get(t, url+"/livez")
	require.Zero(t, code)
}

// A request outside of the gate is cut off at the end of the limit.
func TestServeEndsWhenAProbeDoesNot(t *testing.T) {
	l := realLeader(t, &serving.Options{DrainTimeout: 10 * time.Millisecond})
	inside := make(chan struct{})
	ln := listen(t)
	stop, out := serve(t, l, &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(inside)
		<-r.Context().Done()
	})}, ln)
	code := make(chan int, 1)
	// Waited for below; ends with the connection.
	go func() {
		c, _ := get(t, "http://"+ln.Addr().String())
		code <- c
	}()
	<-inside
	stop()
	require.ErrorIs(t, <-out, serving.ErrDrainTimeout)
	require.Zero(t, <-code)
}

// failingServer is a server that ends by itself.
type failingServer struct {
	err    error
	closed bool
}

func (s *failingServer) Serve(net.Listener) error       { return s.err }
func (s *failingServer) Shutdown(context.Context) error { return nil }
func (s *failingServer) Close() error                   { s.closed = true; return nil }

func TestServerThatEndsByItselfEndsServe(t *testing.T) {
	errAccept := errors.New("too many open files")
	for _, err := range []error{errAccept, nil} {
		l, ln := realLeader(t, nil), listen(t)
		defer ln.Close()
		s := &failingServer{err: err}
		got := l.Serve(t.Context(), s, ln)
		require.Error(t, got)
		if err != nil {
			require.ErrorIs(t, got, err)
		}
		require.True(t, s.closed)
		require.Nil(t, l.Held())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	ln := listen(t)
	defer ln.Close()
	require.ErrorIs(t, realLeader(t, nil).Serve(ended, &failingServer{}, ln), context.Canceled)
}
