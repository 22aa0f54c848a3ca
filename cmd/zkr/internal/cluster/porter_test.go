//go:build unix

package cluster

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// signed is a signed order for a node.
func signed(s Secret, node, path string, at time.Time) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8081"+path, http.NoBody)
	s.sign(r, node, at)
	return r
}

const killPath = "/control/kill"

// TestOrdersToNodesAreSigned: for this node, this order, and now. D12
func TestOrdersToNodesAreSigned(t *testing.T) {
	now := time.Now()
	part := func(i int, text string) func(*http.Request) {
		return func(r *http.Request) {
			parts := strings.Split(r.Header.Get("Authorization"), " ")
			parts[i] = text
			r.Header.Set("Authorization", strings.Join(parts, " "))
		}
	}
	for name, c := range map[string]struct {
		secret, with Secret
		node         string
		at           time.Time
		change       func(*http.Request)
		ok           bool
	}{
		"good":               {testSecret, testSecret, "n1", now, nil, true},
		"a little old":       {testSecret, testSecret, "n1", now.Add(-signLimit + time.Second), nil, true},
		"a little early":     {testSecret, testSecret, "n1", now.Add(signLimit - time.Second), nil, true},
		"not signed":         {testSecret, testSecret, "n1", now, func(r *http.Request) { r.Header.Del("Authorization") }, false},
		"another secret":     {testSecret, "guessed-by-a-stranger", "n1", now, nil, false},
		"no secret at all":   {"", "", "n1", now, nil, false},
		"the empty secret":   {"", testSecret, "n1", now, nil, false},
		"without a secret":   {testSecret, "", "n1", now, nil, false},
		"long ago":           {testSecret, testSecret, "n1", now.Add(-signLimit - time.Second), nil, false},
		"in the future":      {testSecret, testSecret, "n1", now.Add(signLimit + time.Second), nil, false},
		"before it began":    {testSecret, testSecret, "n1", now.Add(-time.Hour - time.Second), nil, false},
		"to another node":    {testSecret, testSecret, "n2", now, nil, false},
		"to n1, in capitals": {testSecret, testSecret, "N1", now, nil, false},
		"another order":      {testSecret, testSecret, "n1", now, func(r *http.Request) { r.URL.Path = "/control/resign" }, false},
		"another method":     {testSecret, testSecret, "n1", now, func(r *http.Request) { r.Method = http.MethodPut }, false},
		"another scheme":     {testSecret, testSecret, "n1", now, part(0, "Bearer"), false},
		"another time":       {testSecret, testSecret, "n1", now, part(1, "1"), false},
		"no number":          {testSecret, testSecret, "n1", now, part(1, "x"), false},
		"too large a number": {testSecret, testSecret, "n1", now, part(1, "99999999999999999999"), false},
		"another nonce":      {testSecret, testSecret, "n1", now, part(2, "x"), false},
		"no nonce":           {testSecret, testSecret, "n1", now, part(2, ""), false},
		"another mac":        {testSecret, testSecret, "n1", now, part(3, strings.Repeat("0", 64)), false},
		"a mac too many":     {testSecret, testSecret, "n1", now, part(3, "x x"), false},
		"the form's key":     {testSecret, testSecret, "n1", now, part(3, testSecret.key(forForm)), false},
	} {
		r := signed(c.with, c.node, killPath, c.at)
		if c.change != nil {
			c.change(r)
		}
		p := newPorter(c.secret, "n1", now.Add(-time.Hour))
		assert.Equal(t, c.ok, p.admits(r, now), name)
		if !c.ok {
			assert.Empty(t, p.seen, "%s: without the secret nothing is remembered", name)
		}
	}
	r := signed(testSecret, "n1", killPath, now)
	part(2, strings.Repeat("n", longestNonce+1))(r)
	parts := strings.Split(r.Header.Get("Authorization"), " ")
	part(3, testSecret.signature(r, "n1", parts[1], parts[2]))(r)
	assert.False(t, newPorter(testSecret, "n1", now).admits(r, now), "too long a nonce")
}

// TestOrderIsLetInOnce, even if sent several times.
func TestOrderIsLetInOnce(t *testing.T) {
	now := time.Now()
	p := newPorter(testSecret, "n1", now)
	r := signed(testSecret, "n1", killPath, now)
	var admitted atomic.Int32
	var all sync.WaitGroup
	for range 50 {
		// Waited for below; ends at once.
		all.Go(func() {
			if p.admits(r, now) {
				admitted.Add(1)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, admitted.Load())
	assert.True(t, p.admits(signed(testSecret, "n1", killPath, now), now), "the same order signed again is another order")

	again := newPorter(testSecret, "n1", now.Add(time.Second))
	assert.False(t, again.admits(r, now.Add(time.Second)), "a process killed by the order and restarted has forgotten the order")
}

// TestPorterForgetsNoOrderTooEarly: orders arrive at any time, signed with
// wrong clocks, and arrive again. No order is admitted twice, and none is
// remembered indefinitely.
func TestPorterForgetsNoOrderTooEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(1e12)
		p := newPorter(testSecret, "n1", now)
		var orders []*http.Request
		admitted := map[int]bool{}
		ms := rapid.IntRange(-40_000, 40_000)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "pause")) * time.Millisecond)
			if len(orders) == 0 || rapid.Bool().Draw(t, "new") {
				skew := time.Duration(ms.Draw(t, "skew")) * time.Millisecond
				orders = append(orders, signed(testSecret, "n1", killPath, now.Add(skew)))
			}
			i := rapid.IntRange(0, len(orders)-1).Draw(t, "which")
			if p.admits(orders[i], now) {
				if admitted[i] {
					t.Fatalf("order %d is let in twice", i)
				}
				admitted[i] = true
			}
		}
		now = now.Add(3 * signLimit)
		p.admits(signed(testSecret, "n1", killPath, now), now)
		if len(p.seen) != 1 {
			t.Fatalf("%d nonces are remembered", len(p.seen))
		}
	})
}

// TestNodeDoesWhatItIsToldOnce: over HTTP. D12
func TestNodeDoesWhatItIsToldOnce(t *testing.T) {
	died := 0
	n, err := NewNode("n1", "127.0.0.1:8081", nil)
	require.NoError(t, err)
	door := n.Handler(testSecret, func() { died++ })
	give := func(r *http.Request) int {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r)
		return w.Code
	}
	get := signed(testSecret, "n1", killPath, time.Now())
	get.Method = http.MethodGet
	assert.Equal(t, http.StatusMethodNotAllowed, give(get))
	evil := signed(testSecret, "n1", killPath, time.Now())
	evil.Header.Set("Origin", "http://evil.example")
	assert.Equal(t, http.StatusForbidden, give(evil), "from another page")
	named := signed(testSecret, "n1", killPath, time.Now())
	named.Host = "evil.example"
	assert.Equal(t, http.StatusMisdirectedRequest, give(named))
	assert.Equal(t, http.StatusForbidden, give(signed(testSecret, "n2", killPath, time.Now())))
	assert.Equal(t, http.StatusConflict, give(signed(testSecret, "n1", "/control/resign", time.Now())), "the node does not lead")
	assert.Zero(t, died)
	good := signed(testSecret, "n1", killPath, time.Now())
	assert.Equal(t, http.StatusAccepted, give(good))
	assert.Equal(t, http.StatusForbidden, give(good), "again")
	assert.Equal(t, 1, died)
}

func TestOtherPagesAreKnownByTheirOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		headers map[string][]string
		foreign bool
	}{
		"another program": {nil, false},
		"own page":        {map[string][]string{"Origin": {"http://127.0.0.1:8081"}, "Sec-Fetch-Site": {"same-origin"}}, false},
		"typed in":        {map[string][]string{"Sec-Fetch-Site": {"none"}}, false},
		"another port":    {map[string][]string{"Origin": {"http://127.0.0.1:8082"}}, true},
		"another scheme":  {map[string][]string{"Origin": {"https://127.0.0.1:8081"}}, true},
		"no name":         {map[string][]string{"Origin": {"null"}}, true},
		"no URL":          {map[string][]string{"Origin": {"http://%"}}, true},
		"two":             {map[string][]string{"Origin": {"http://127.0.0.1:8081", "http://evil.example"}}, true},
		"empty":           {map[string][]string{"Origin": {""}}, true},
		"same site":       {map[string][]string{"Sec-Fetch-Site": {"same-site"}}, true},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8081/nodes", http.NoBody)
		for k, v := range c.headers {
			r.Header[k] = v
		}
		assert.Equal(t, c.foreign, foreign(r), name)
	}
}

func FuzzAuthorizationOfStrangers(f *testing.F) {
	good := signed(testSecret, "n1", killPath, time.Now())
	f.Add(good.Header.Get("Authorization"))
	f.Add(signScheme + "1 x y")
	f.Add("")
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8081"+killPath, http.NoBody)
		r.Header.Set("Authorization", header)
		if newPorter("another secret than that", "n1", time.UnixMilli(0)).admits(r, time.Now()) {
			t.Errorf("%q", header)
		}
	})
}
