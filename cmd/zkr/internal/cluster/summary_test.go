//go:build unix

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
)

// stranger is a server that answers for any number of workers, by do. With do
// nil, the server never answers.
func (b *bed) stranger(do http.HandlerFunc) (address string) {
	b.Helper()
	over := make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do != nil {
			do(w, r)
			return
		}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	b.Cleanup(func() {
		close(over)
		ts.Close()
	})
	return strings.TrimPrefix(ts.URL, "http://")
}

// workersAt are count peers, numbered from a number on; the number of each is
// its port.
func workersAt(count, from int) (out []peer) {
	for i := from; i < from+count; i++ {
		out = append(out, peer{entry: entry{Name: fmt.Sprint("w", i), Znode: fmt.Sprintf("/election/x-%010d", i)}, address: fmt.Sprint("10.0.0.1:", i)})
	}
	return out
}

// network answers requests without a real network. All delays are in virtual
// time.
type network func(*http.Request) (*http.Response, error)

func (n network) RoundTrip(r *http.Request) (*http.Response, error) { return n(r) }

// polls makes a poll over a network.
func polls(n network) *poll {
	asker := newAsker()
	asker.Transport = n
	return &poll{asker: asker}
}

// answers is an answer of a network.
func answers(code int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Body: io.NopCloser(body), Header: http.Header{}}
}

// hangs never answers.
func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// is answers as the worker with this port.
func is(r *http.Request) (*http.Response, error) {
	text, err := json.Marshal(Status{Name: "w" + r.URL.Port(), Znode: fmt.Sprintf("/election/x-%010s", r.URL.Port()), Role: Worker})
	return answers(http.StatusOK, bytes.NewReader(text)), err
}

// TestWorkerCostsItsOwnRowOnly, with any answer. D10
func TestWorkerCostsItsOwnRowOnly(t *testing.T) {
	text := func(code int, body string) network {
		return func(*http.Request) (*http.Response, error) { return answers(code, strings.NewReader(body)), nil }
	}
	elsewhere := func(*http.Request) (*http.Response, error) {
		res := answers(http.StatusFound, strings.NewReader(""))
		res.Header.Set("Location", "http://10.0.0.1:10/status")
		return res, nil
	}
	for name, do := range map[string]network{
		"never":          hangs,
		"nothing":        text(http.StatusOK, ""),
		"no JSON":        text(http.StatusOK, "<html>"),
		"too much":       text(http.StatusOK, `{"name":"w9","znode":"/election/x-0000000009","cause":"`+strings.Repeat("x", statusLimit)+`"}`),
		"a refusal":      text(http.StatusTeapot, "no"),
		"another one":    text(http.StatusOK, `{"name":"w8","znode":"/election/x-0000000009"}`),
		"another life":   text(http.StatusOK, `{"name":"w9","znode":"/election/x-0000000019"}`),
		"a redirect":     elsewhere,
		"an end":         func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"half an answer": text(http.StatusOK, `{"name":"w9","znode":"/election/x-00000`),
		"a slow one":     func(r *http.Request) (*http.Response, error) { <-time.After(workerLimit + 1); return hangs(r) },
		"a slow body":    func(r *http.Request) (*http.Response, error) { return answers(http.StatusOK, slow{r.Context()}), nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			p := polls(func(r *http.Request) (*http.Response, error) {
				if r.URL.Port() == "9" {
					return do(r)
				}
				asked++
				return is(r)
			})
			begin := time.Now()
			list := p.gather(t.Context(), workersAt(2, 9))
			assert.LessOrEqual(t, time.Since(begin), workerLimit+1, name)
			require.Len(t, list, 2, name)
			assert.NotEmpty(t, list[0].Error, name)
			assert.Equal(t, []any{"w9", "/election/x-0000000009", "10.0.0.1:9", Worker}, []any{list[0].Name, list[0].Znode, list[0].Address, list[0].Role})
			assert.Empty(t, list[0].Cause, "no field of its answer is used")
			assert.Empty(t, list[1].Error, "%s: the other worker", name)
			assert.Equal(t, 1, asked, "only registered nodes are asked")
		})
	}
}

// slow is a body that never arrives.
type slow struct{ ctx context.Context }

func (s slow) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// TestLeaderAsksWithinLimits: no worker of many answers. The leader asks some of the
// workers concurrently, and the rest cost no time. D10
func TestLeaderAsksWithinLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		p := polls(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			res, err := hangs(r)
			mu.Lock()
			now--
			mu.Unlock()
			return res, err
		})
		begin := time.Now()
		list := p.gather(t.Context(), workersAt(mostListed, 1))
		assert.Equal(t, allLimit, time.Since(begin))
		assert.Equal(t, beside, most)
		late := 0
		for _, s := range list {
			require.NotEmpty(t, s.Error)
			if s.Error == errNoTime.Error() {
				late++
			}
		}
		// Some workers may be asked in the very last moment.
		rounds := int(allLimit / workerLimit)
		assert.GreaterOrEqual(t, late, mostListed-beside*(rounds+1))
		assert.LessOrEqual(t, late, mostListed-beside*rounds)
	})
}

// TestMuteWorkersDelayNoOtherWorker: after some polls, responsive workers are
// heard in each poll, with any number of mute workers; recovered workers are
// heard again.
func TestMuteWorkersDelayNoOtherWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mute = 100
		talks := map[string]bool{"500": true}
		p := polls(func(r *http.Request) (*http.Response, error) {
			if talks[r.URL.Port()] {
				return is(r)
			}
			return hangs(r)
		})
		workers := append(workersAt(mute, 1), workersAt(1, 500)...)
		heard := func(i int) bool {
			list := p.gather(t.Context(), workers)
			for i, w := range workers {
				require.Equal(t, w.Name, list[i].Name, "the rows are in the order of the registry")
			}
			return list[i].Error == ""
		}
		const rounds = mute/(beside*int(allLimit/workerLimit)) + 1
		within := func(i int) {
			t.Helper()
			for range rounds {
				if heard(i) {
					return
				}
			}
			t.Errorf("%s is not heard in %d rounds", workers[i].Name, rounds)
		}
		assert.False(t, heard(mute), "too many workers are asked first")
		within(mute)
		for range 2 * rounds {
			assert.True(t, heard(mute), "from then on always")
		}
		talks["91"] = true
		within(90)
		assert.True(t, heard(90))
		workers = workers[90:]
		heard(0)
		assert.Len(t, p.mute, 9, "unregistered workers are forgotten")
	})
}

// TestOnePollAtATime: every caller gets the answer of the poll in progress, and
// a leaving caller does not end the poll for the others. Another leadership
// needs another poll.
func TestOnePollAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polled := 0
		p := polls(func(r *http.Request) (*http.Response, error) {
			polled++
			<-time.After(workerLimit / 2)
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			return is(r)
		})
		gone, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		ask := func(ctx context.Context, token int64) {
			// Waited for below; ends with its answer.
			all.Go(func() {
				list := p.shared(ctx, token, workersAt(1, 7))
				if assert.Len(t, list, 1) {
					assert.Empty(t, list[0].Error)
				}
			})
		}
		ask(gone, 1)
		synctest.Wait()
		leave()
		for range 30 {
			ask(t.Context(), 1)
		}
		synctest.Wait()
		assert.Equal(t, 1, polled)
		ask(t.Context(), 2)
		synctest.Wait()
		assert.Equal(t, 2, polled)
		all.Wait()
		ask(t.Context(), 1)
		all.Wait()
		assert.Equal(t, 3, polled, "the next caller asks again")
	})
}

// TestSummaryIsOfOneLeadership: a node that loses the leadership during the
// poll returns no summary. Workers beyond the limit are counted.
func TestSummaryIsOfOneLeadership(t *testing.T) {
	b := newQuietBed(t)
	leader := b.nodes("n1")[0]
	owner := b.owner(leader.Status())
	know := func(list []peer) {
		leader.mu.Lock()
		defer leader.mu.Unlock()
		leader.peers = list
	}
	// The first list of workers, which the leader gets as it begins to lead, must have arrived.
	reg, err := discovery.NewRegistry(b.client(), registries, nil).
		Register(b.ctx, instance(workers, netip.MustParseAddrPort("127.0.0.1:1"), entry{Name: "w", Znode: "/election/x"}))
	require.NoError(t, err)
	knows := func(n int) {
		b.until(func() bool {
			leader.mu.Lock()
			defer leader.mu.Unlock()
			return len(leader.peers) == n
		}, "%d workers are known", n)
	}
	knows(1)
	require.NoError(t, reg.Unregister(b.ctx))
	knows(0)
	leader.poll.asker.Transport = network(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	know(workersAt(mostListed+22, 5))
	s, err := leader.Summary(b.ctx)
	require.NoError(t, err)
	assert.Len(t, s.Nodes, 1+mostListed)
	assert.Equal(t, "n1", s.Nodes[0].Name)
	assert.Equal(t, 22, s.Left)

	leader.poll.asker.Transport = network(func(*http.Request) (*http.Response, error) {
		assert.NoError(t, b.srv.ExpireSession(owner))
		assert.Eventually(t, func() bool { return leader.Leads() == nil }, limit, time.Millisecond, "the node leads no more")
		return nil, io.ErrUnexpectedEOF
	})
	know(workersAt(1, 7))
	_, err = leader.Summary(b.ctx)
	require.ErrorIs(t, err, errNotLeading)
	b.until(func() bool { return leader.Leads() != nil }, "it leads again")
	s, err = leader.Summary(b.ctx)
	require.NoError(t, err)
	assert.Len(t, s.Nodes, 1)
}

// TestStatusFitsIntoItsLimit: with all fields at their largest.
func TestStatusFitsIntoItsLimit(t *testing.T) {
	long := strings.Repeat("x", longestName)
	s := Status{
		Name: long, Address: "[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:65535", Role: Leader, Since: time.Now(),
		Znode: "/election/_c_" + long + "-latch-0000000000", Watched: "_c_" + long + "-latch-0000000000", Cause: strings.Repeat("cause ", 100),
		TrustedUntil: time.Now(), Led: &Led{Cause: strings.Repeat("cause ", 100), From: time.Now(), Until: time.Now()}, At: time.Now(),
	}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	assert.Less(t, len(text), statusLimit/2)
	assert.LessOrEqual(t, (1+mostListed)*statusLimit*6, summaryLimit, "a byte becomes six at the most: \\u003c")
}
