//go:build unix

package cluster

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(standInMode); mode != "" {
		standIn(mode)
		return
	}
	world.Beside(16)
	goleak.VerifyTestMain(patient{m})
}

// patient waits for goroutines that end a little after the tests: a client
// closes its session at an unresponsive server.
type patient struct{ *testing.M }

func (p patient) Run() int {
	code := p.M.Run()
	for end := time.Now().Add(limit); goleak.Find() != nil && time.Now().Before(end); { // Find waits between looks
	}
	return code
}

const (
	tick  = 200 * time.Millisecond
	calm  = 20 * tick       // the longest session: on a busy machine short ones get lost
	limit = 2 * time.Minute // no working step takes so long
)

// bed is a server, with nodes in this process.
type bed struct {
	*testing.T
	srv  *zktest.Server
	ctx  context.Context
	tick time.Duration
	// sessions of nodes last so long
	sessions time.Duration

	// mu guards the observations at the server: most is the largest number of
	// coordinators listed after any change, doubled has the nodes listed as
	// both.
	mu      sync.Mutex
	most    int
	doubled []string
}

func newBed(t *testing.T) *bed { t.Helper(); return newBedOf(t, tick) }

// newQuietBed is for tests without expiring sessions: no session expires even
// on a busy machine.
func newQuietBed(t *testing.T) *bed { t.Helper(); return newBedOf(t, 10*tick) }

// newSteadyBed is for tests in which leaders survive a disturbance: the proof
// takes a third of a session.
func newSteadyBed(t *testing.T) *bed { t.Helper(); return newBedOf(t, 5*tick/2) }

func newBedOf(t *testing.T, tick time.Duration) *bed {
	t.Helper()
	t.Parallel()
	srv, err := zktest.Start(&zktest.Options{TickTime: tick, Addr: world.OwnAddress()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	b := &bed{T: t, srv: srv, ctx: ctx, tick: tick, sessions: 20 * tick}
	srv.OnApply(func(zktest.Txn) { b.applied() })
	return b
}

// applied looks at the registries after each change.
func (b *bed) applied() {
	leading, _ := b.srv.Children(registries + coordinators) // an error: no coordinator was registered yet
	working, _ := b.srv.Children(registries + workers)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most = max(b.most, len(leading))
	for _, l := range leading {
		one, err := b.srv.Get(registries + coordinators + "/" + l)
		if err != nil {
			continue
		}
		for _, w := range working {
			if other, err := b.srv.Get(registries + workers + "/" + w); err == nil && other.EphemeralOwner == one.EphemeralOwner {
				b.doubled = append(b.doubled, l)
			}
		}
	}
}

// expire ends the session of a silent node at once, as time would.
func (b *bed) expire(s Status) {
	b.Helper()
	assert.NoError(b, b.srv.ExpireSession(b.owner(s)))
}

// lone asserts that at most one coordinator was listed at any time, and no node as
// both coordinator and worker.
func (b *bed) lone() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.LessOrEqual(b, b.most, 1, "coordinators listed at the same time")
	assert.Empty(b, b.doubled, "listed as coordinator and worker")
}

// connect connects by servers.
func connect(servers string, timeout, tick time.Duration) Connect {
	return func(ctx context.Context, dial Dialer) (*session.Client, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return session.Connect(ctx, servers, &session.Options{Timeout: timeout, TickTime: tick, Dialer: dial})
	}
}

// client connects the test.
func (b *bed) client() *session.Client {
	b.Helper()
	c, err := session.Connect(b.ctx, b.srv.Addr(), nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// run is a running node.
type run struct {
	*Node
	proxy *Proxy
	web   *httptest.Server
	// stopped is closed when the node runs again; nil while running
	stopped atomic.Pointer[chan struct{}]
	stop    context.CancelFunc
	over    chan error
}

const testSecret = Secret("only-the-tests-know")

// node starts a node and returns when the node has a place in the order.
func (b *bed) node(name string) *run {
	b.Helper()
	proxy, err := NewProxy(b.ctx, b.srv.Addr())
	require.NoError(b, err)
	ts := httptest.NewUnstartedServer(nil)
	n, err := NewNode(name, ts.Listener.Addr().String(), connect(proxy.Servers(), b.sessions, b.tick))
	require.NoError(b, err)
	ctx, stop := context.WithCancel(b.ctx)
	r := &run{Node: n, proxy: proxy, web: ts, stop: stop, over: make(chan error, 1)}
	handler := n.Handler(testSecret, stop)
	ts.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if stopped := r.stopped.Load(); stopped != nil {
			select {
			case <-*stopped:
			case <-q.Context().Done():
			case <-b.ctx.Done():
			}
		}
		handler.ServeHTTP(w, q)
	})
	ts.Start()
	// Waited for by the clean-up; ends with ctx.
	go func() { r.over <- n.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		assert.NoError(b, <-r.over)
		proxy.Close()
		ts.Close()
	})
	b.until(func() bool { return n.Status().Role != Joining }, "%s joins", name)
	return r
}

// nodes starts nodes one after the other.
func (b *bed) nodes(names ...string) []*run {
	b.Helper()
	var out []*run
	for _, name := range names {
		out = append(out, b.node(name))
	}
	b.until(func() bool { return out[0].Leads() != nil }, "%s leads", names[0])
	return out
}

// patientMonitor is a monitor that waits for answers, however busy the machine is. It does
// not run.
func (b *bed) patientMonitor() *Monitor {
	b.Helper()
	m := NewMonitor(b.client())
	m.patience = time.Minute
	return m
}

// monitor starts a monitor.
func (b *bed) monitor() *Monitor {
	b.Helper()
	m := NewMonitor(b.client())
	b.run(m)
	return m
}

// run runs a monitor.
func (b *bed) run(m *Monitor) {
	b.Helper()
	ctx, stop := context.WithCancel(b.ctx)
	over := make(chan error, 1)
	// Waited for by the clean-up; ends with ctx.
	go func() { over <- m.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		assert.ErrorIs(b, <-over, context.Canceled)
	})
}

// sees waits until the monitor does.
func (b *bed) sees(m *Monitor, ok func(View) bool, what string) View {
	b.Helper()
	v, err := m.Await(b.ctx, ok)
	require.NoError(b, err, "the monitor sees %s; its view is %+v", what, m.View())
	return v
}

func (b *bed) until(ok func() bool, format string, args ...any) {
	b.Helper()
	require.Eventually(b, ok, limit, 10*time.Millisecond, append([]any{format}, args...)...)
}

// answer is a response whose body has been read.
type answer struct {
	*http.Response
	text string
}

// get asks a server.
func (b *bed) get(url string) answer {
	b.Helper()
	return b.do(http.MethodGet, url, "", nil)
}

// do sends a form, with headers.
func (b *bed) do(method, url, form string, headers map[string]string) answer {
	b.Helper()
	r, err := http.NewRequestWithContext(b.ctx, method, url, strings.NewReader(form))
	require.NoError(b, err)
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range headers {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(r)
	require.NoError(b, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(b, err)
	return answer{res, string(text)}
}
