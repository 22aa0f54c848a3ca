package web

import (
	"bufio"
	"context"
	"encoding/json"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 2 * time.Minute

func TestOnlyThisMachineIsListenedToUnlessToldOtherwise(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:8380": true, "localhost:0": true, "[::1]:80": true, "127.8.9.1:80": true,
		":8380": false, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.1:80": false, "example.org:80": false, "localhost.example.org:80": false,
	} {
		err := CheckAddress(addr, false)
		assert.Equal(t, want, err == nil, addr)
		if !want {
			assert.ErrorIs(t, err, ErrAddress)
		}
		assert.NoError(t, CheckAddress(addr, true), addr)
	}
	for _, addr := range []string{"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000", "a:b:c"} {
		assert.ErrorIs(t, CheckAddress(addr, true), ErrAddress, addr)
	}
	_, err := Listen(t.Context(), "0.0.0.0:0", false)
	require.ErrorIs(t, err, ErrAddress)
}

// TestNamesOfOthersAreRefused: a foreign page that points its name to this
// machine sends its own name.
func TestNamesOfOthersAreRefused(t *testing.T) {
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") })
	for _, c := range []struct {
		hosts Hosts
		host  string
		want  int
	}{
		{Hosts{}, "127.0.0.1:8380", 200}, {Hosts{}, "localhost:1", 200}, {Hosts{}, "[::1]:1", 200}, {Hosts{}, "127.0.0.1", 200},
		{Hosts{}, "evil.example.org:8380", 421}, {Hosts{}, "127.0.0.1.evil.example.org", 421}, {Hosts{}, "10.0.0.1:8380", 421}, {Hosts{}, "", 421},
		{Hosts{Remote: true}, "10.0.0.1:8380", 200}, {Hosts{Remote: true}, "[fe80::1]:8380", 200}, {Hosts{Remote: true}, "evil.example.org", 421},
		{Hosts{Remote: true, Names: []string{"zk.example.org"}}, "ZK.example.org:80", 200}, {Hosts{Names: []string{"zk.example.org"}}, "xzk.example.org", 421},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		Guard(c.hosts, served).ServeHTTP(w, r)
		assert.Equal(t, c.want, w.Code, "%q", c.host)
		assert.Equal(t, c.want == 200, strings.Contains(w.Body.String(), "secret"))
		assert.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
		assert.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe")
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		assert.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}
}

// TestPagesFromElsewhereAreRefused: such pages cannot read the answers, but could cause
// work. Links from such pages work.
func TestPagesFromElsewhereAreRefused(t *testing.T) {
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") })
	for _, c := range []struct {
		site, mode string
		want       int
	}{
		{"", "", 200}, {"none", "navigate", 200}, {"same-origin", "cors", 200}, {"same-origin", "no-cors", 200}, {"same-origin", "navigate", 200},
		{"cross-site", "navigate", 200}, {"same-site", "navigate", 200},
		{"cross-site", "cors", 403}, {"cross-site", "no-cors", 403}, {"cross-site", "websocket", 403}, {"cross-site", "", 403}, {"same-site", "no-cors", 403},
	} {
		for _, path := range []string{"/", "/live/locks", "/api/things", Assets + "live.js"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Host = "127.0.0.1"
			r.Header.Set("Sec-Fetch-Site", c.site)
			r.Header.Set("Sec-Fetch-Mode", c.mode)
			w := httptest.NewRecorder()
			Guard(Hosts{}, served).ServeHTTP(w, r)
			assert.Equal(t, c.want, w.Code, "%s from %s, %s", path, c.site, c.mode)
			assert.Equal(t, c.want == 200, strings.Contains(w.Body.String(), "secret"))
		}
	}
}

func TestNothingCanBeChanged(t *testing.T) {
	h := ReadOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/", nil))
		assert.Equal(t, map[bool]int{true: 200, false: 405}[method == "GET" || method == "HEAD"], w.Code, method)
	}
}

func TestServerEndsWithItsContextAlsoWhileStreamsRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l, err := Listen(ctx, "127.0.0.1:0", false)
	require.NoError(t, err)
	require.Equal(t, "http://"+l.Addr().String()+"/", URL(l))
	var hub Hub
	var serving sync.WaitGroup
	// Waited for below; ends with ctx.
	serving.Go(func() {
		assert.NoError(t, Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			Stream(w, r, &hub, "", func() ([]Region, error) { return nil, nil })
		})))
	})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	r, err := client.Get(URL(l))
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	begin := time.Now()
	cancel()
	serving.Wait()
	assert.Less(t, time.Since(begin), usual().end)
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err)
}

func TestURLCanBeOpened(t *testing.T) {
	l, err := Listen(t.Context(), "0.0.0.0:0", true)
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	assert.True(t, strings.HasPrefix(URL(l), "http://127.0.0.1:"), URL(l))
}

// board is a page whose blocks a test changes.
type board struct {
	hub Hub
	// mu guards the fields below; drawn is when the streams called for the blocks.
	mu     sync.Mutex
	blocks []Block
	drawn  []time.Time
}

func (b *board) set(blocks ...Block) {
	b.mu.Lock()
	b.blocks = blocks
	b.mu.Unlock()
	b.hub.Publish()
}

func (b *board) regions() ([]Region, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return []Region{{Name: "main", Blocks: b.blocks}}, nil
}

// draw is regions for streams.
func (b *board) draw() ([]Region, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drawn = append(b.drawn, time.Now())
	return []Region{{Name: "main", Blocks: b.blocks}}, nil
}

// begun waits until a stream has looked at the board.
func (b *board) begun(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.drawn) > 0
	}, limit, time.Millisecond)
}

// stream reads a board's updates.
func (b *board) stream(t *testing.T, query string) (next func() map[string][]reference) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { Stream(w, r, &b.hub, "", b.draw) }))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+query, nil)
	require.NoError(t, err)
	answer, err := srv.Client().Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { cancel(); _ = answer.Body.Close(); srv.Close() })
	assert.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	lines := bufio.NewScanner(answer.Body)
	return func() map[string][]reference {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var u update
				require.NoError(t, json.Unmarshal([]byte(data), &u))
				return u.Regions
			}
		}
		t.Fatal("the stream has ended: ", lines.Err())
		return nil
	}
}

// blocks describes an update: keys, with a star for blocks with HTML.
func blocks(u map[string][]reference) string {
	var out []string
	for _, ref := range u["main"] {
		if ref.HTML != nil {
			ref.Key += "*"
		}
		out = append(out, ref.Key)
	}
	return strings.Join(out, " ")
}

func TestStreamSendsWhatHasChanged(t *testing.T) {
	t.Parallel()
	b := &board{}
	b.set(Block{Key: "a", HTML: "1"}, Block{Key: "b", HTML: "1"})
	next := b.stream(t, "")
	assert.Equal(t, "a* b*", blocks(next()))
	b.set(Block{Key: "a", HTML: "1"}, Block{Key: "b", HTML: "2"})
	assert.Equal(t, "a b*", blocks(next()))
	b.set(Block{Key: "b", HTML: "2"}, Block{Key: "a", HTML: "1"})
	assert.Equal(t, "b a", blocks(next()), "another order")
	b.set(Block{Key: "b", HTML: "2"}, Block{Key: "a", HTML: "1"}) // nothing
	b.set(Block{Key: "b", HTML: "2"}, Block{Key: "c", HTML: "line\nline\r\n\ndata: x"})
	assert.Equal(t, "b c*", blocks(next()), "unchanged blocks are not sent")
	b.set()
	assert.Equal(t, "", blocks(next()))
	b.set(Block{Key: "b", HTML: "2"})
	assert.Equal(t, "b*", blocks(next()), "a removed block is sent again when it comes back")
	b.set(Block{Key: "b", HTML: "2", Class: "half"})
	assert.Equal(t, "b*", blocks(next()))
}

func TestStreamSendsNothingToAPageThatHasItAll(t *testing.T) {
	b := &board{}
	b.set(Block{Key: "a", HTML: "1"})
	regions, _ := b.regions()
	next := b.stream(t, "?have="+digest(regions))
	b.begun(t)
	b.set(Block{Key: "a", HTML: "1"}, Block{Key: "b", HTML: "1"})
	assert.Equal(t, "a b*", blocks(next()))
	other := b.stream(t, "?have=of-another-page")
	assert.Equal(t, "a* b*", blocks(other()))
}

// TestUnknownStateDoesNotGetOlder: ages are relative to the last known
// moment. Only this moment is sent, not the whole block again.
func TestUnknownStateDoesNotGetOlder(t *testing.T) {
	now := time.Now().Truncate(time.Millisecond)
	then := now.Add(-time.Hour)
	block := Block{Key: "a", HTML: Ago(then.Add(-5 * time.Second))}
	page := func() string {
		w := httptest.NewRecorder()
		Frame{Regions: []Region{{Name: "main", Blocks: []Block{block}}}}.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), 200)
		return w.Body.String()
	}
	assert.Contains(t, page(), ">1h 0m</time>")
	assert.NotContains(t, page(), "data-asof")
	b := &board{}
	b.set(block)
	regions, _ := b.regions()
	next := b.stream(t, "?have="+digest(regions))
	block.AsOf = then
	assert.Contains(t, page(), ">5s</time>")
	assert.Contains(t, page(), `data-asof="`+strconv.FormatInt(then.UnixMilli(), 10)+`"`)
	b.set(block)
	u := next() // with its HTML, if the stream began only now
	assert.Equal(t, then.UnixMilli(), u["main"][0].AsOf)
	block.AsOf = time.Time{}
	b.set(block)
	u = next()
	assert.Equal(t, "a", blocks(u), "its HTML is there already")
	assert.Zero(t, u["main"][0].AsOf)
}

func TestStreamSendsFourTimesASecondAtMost(t *testing.T) {
	b := &board{}
	next := b.stream(t, "")
	stop := make(chan struct{})
	var changing sync.WaitGroup
	// Waited for below; ends with stop.
	changing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				b.set(Block{Key: "a", HTML: template.HTML(strings.Repeat("x", i%100+1))})
			}
		}
	})
	for range 4 {
		next()
	}
	close(stop)
	changing.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := 1; i < 4; i++ { // the time at which the reader gets them says little: the reader may stall
		assert.GreaterOrEqual(t, b.drawn[i].Sub(b.drawn[i-1]), pause)
	}
}

func TestHubWakesEveryReader(t *testing.T) {
	var h Hub
	ctx, cancel := context.WithCancel(t.Context())
	h.Publish()
	v, err := h.Wait(ctx, 0)
	require.NoError(t, err, "published before")
	got := make(chan int64)
	var waiting sync.WaitGroup
	for range 5 {
		// Waited for below; ends with the next publication.
		waiting.Go(func() {
			n, _ := h.Wait(ctx, v)
			got <- n
		})
	}
	h.Publish()
	for range 5 {
		assert.Greater(t, <-got, v)
	}
	waiting.Wait()
	cancel()
	_, err = h.Wait(ctx, v+1)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAges(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m 1s", 3 * time.Hour: "3h 0m", 49*time.Hour + 30*time.Minute: "2d 1h",
	} {
		assert.Equal(t, want, Age(d))
	}
	now := time.Now()
	assert.Empty(t, Ago(time.Time{}))
	var out strings.Builder
	writeAged(&out, "<b>"+string(Ago(now.Add(-5*time.Second)))+"</b>"+string(Ago(now.Add(-2*time.Hour))), now)
	assert.Regexp(t, `^<b><time data-ago="\d+" datetime="[^"]+" title="[^"]+">5s</time></b><time [^>]+>2h 0m</time>$`, out.String())
	out.Reset()
	writeAged(&out, agoOpen+"no end", now)
	assert.Equal(t, agoOpen+"no end", out.String())
}

func TestFrameIsAPageWithoutAnyScriptOfItsOwn(t *testing.T) {
	w := httptest.NewRecorder()
	Frame{
		Title: "<t>", Brand: "b", Where: "</code><script>", Filter: `"><script>x`, FilterHint: "h", Live: "/live/", Keys: Keys(),
		Hidden: map[string]string{"path": "/<a>"}, Scripts: []string{"/more.js"},
		Regions: []Region{{Name: "main", Blocks: []Block{{Key: `"k`, HTML: "<p>here</p>", Class: "half"}}}},
	}.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), 200)
	page := w.Body.String()
	assert.Contains(t, page, `<div class="block half" data-key="&#34;k"`)
	assert.Contains(t, page, "<p>here</p>")
	assert.Contains(t, page, `<script src="/more.js" defer></script>`)
	assert.NotContains(t, page, "<script>")
	assert.NotContains(t, page, "style=")
	assert.NotContains(t, page, "://", "nothing from elsewhere")
	assert.NotContains(t, page, "onclick")
	w = httptest.NewRecorder()
	Frame{}.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/", nil), 404)
	assert.Equal(t, 404, w.Code)
	assert.Empty(t, w.Body.String())
}

func TestAssets(t *testing.T) {
	get := func(url string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		Asset(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))
		return w
	}
	w := get(Assets + "style.css?" + tag("style.css"))
	assert.Equal(t, "text/css; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Contains(t, w.Header().Get("Cache-Control"), "immutable")
	assert.NotContains(t, w.Body.String(), "url(", "no requests from the style")
	assert.NotContains(t, get(Assets+"live.js").Header().Get("Cache-Control"), "immutable")
	assert.Equal(t, 404, get(Assets+"frame.html").Code)
	assert.Equal(t, 404, get(Assets+"../web.go").Code)
	assert.Equal(t, 404, get(Assets+"none.css").Code)
}
