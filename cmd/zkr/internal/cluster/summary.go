package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// The limits of requests to workers. Registrations are foreign data: a worker
// without an answer, or with a too long answer, costs only its own row, never
// the summary.
const (
	workerLimit  = 250 * time.Millisecond // for the answer of a worker
	allLimit     = 500 * time.Millisecond // for the answers of all workers
	beside       = 16                     // workers asked concurrently
	mostListed   = 128                    // workers in a summary
	mostNodes    = 1 + mostListed
	statusLimit  = 4 << 10 // bytes of a node's own status
	summaryLimit = 4 << 20 // bytes of a summary, with each byte of the statuses escaped
)

var (
	// errNotLeading: the node does not lead, or leads no more.
	errNotLeading = errors.New("this node does not lead")
	// errNoTime: unresponsive workers used up the time.
	errNoTime = errors.New("no time was left to ask the node")
)

// newAsker makes a client that asks only the given address, directly: without
// redirects and proxies.
func newAsker() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: nil, MaxIdleConnsPerHost: 2, MaxIdleConns: mostListed, IdleConnTimeout: 10 * time.Second,
			MaxResponseHeaderBytes: statusLimit,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// fetchJSON gets JSON of at most limit bytes from a node, at ip:port.
func fetchJSON(ctx context.Context, client *http.Client, address, path string, size int64, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, res.Body, statusLimit) // makes the connection reusable
		return fmt.Errorf("the node answers %s", res.Status)
	}
	return json.NewDecoder(io.LimitReader(res.Body, size)).Decode(into)
}

// poll is how a leader asks its workers.
type poll struct {
	asker  *http.Client
	flight singleflight.Group // by token of the leadership

	// mu guards the fields below: mute has the znodes of workers without an
	// answer to the last request, with its round. Mute workers are asked after
	// all others, the longest unasked first: so they do not take time from
	// responsive workers, and are heard again when they recover.
	mu    sync.Mutex
	round int
	mute  map[string]int
}

// Summary asks all workers, concurrently and within limits. Summary fails
// unless the node leads from the beginning to the end. Concurrent callers share
// a single poll and its answer.
func (n *Node) Summary(ctx context.Context) (Summary, error) {
	n.mu.Lock()
	lead, peers := n.leadsLocked(), n.peers
	n.mu.Unlock()
	if lead == nil {
		return Summary{}, errNotLeading
	}
	out := Summary{Leader: n.name, Term: lead.Term(), Token: lead.Token(), Left: max(0, len(peers)-mostListed)}
	own := n.Status()
	workers := n.poll.shared(ctx, lead.Token(), peers[:len(peers)-out.Left])
	out.Nodes = append([]Status{own}, workers...)
	slices.SortStableFunc(out.Nodes, inOrder)
	out.At = time.Now()
	if lead.Context().Err() != nil {
		return Summary{}, errNotLeading // another node may lead by now
	}
	return out, nil
}

// shared gathers once for all concurrent callers, in the same leadership.
func (p *poll) shared(ctx context.Context, token int64, peers []peer) []Status {
	list, _, _ := p.flight.Do(strconv.FormatInt(token, 10), func() (any, error) {
		// Other callers wait for this poll, so the poll continues when the first
		// caller leaves.
		return p.gather(context.WithoutCancel(ctx), peers), nil
	})
	return list.([]Status)
}

// gather asks the peers for their statuses.
func (p *poll) gather(ctx context.Context, peers []peer) []Status {
	ctx, cancel := context.WithTimeout(ctx, allLimit)
	defer cancel()
	out := make([]Status, len(peers))
	seats := make(chan struct{}, beside)
	var all sync.WaitGroup
	for _, i := range p.turns(peers) {
		select {
		case seats <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // also if there was a seat at the same moment
			out[i] = unheard(peers[i], errNoTime)
			continue
		}
		// Waited for below; ends with the answer, or its limit.
		all.Go(func() {
			defer func() { <-seats }()
			out[i] = askWorker(ctx, p.asker, peers[i])
		})
	}
	all.Wait()
	p.heard(out)
	return out
}

// turns is the order of the requests to peers.
func (p *poll) turns(peers []peer) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]int, len(peers))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(p.mute[peers[a].Znode], p.mute[peers[b].Znode]) })
	return out
}

// heard records the peers that have answered.
func (p *poll) heard(list []Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.round++
	mute := map[string]int{}
	for _, s := range list {
		switch {
		case s.Error == errNoTime.Error():
			mute[s.Znode] = p.mute[s.Znode]
		case s.Error != "":
			mute[s.Znode] = p.round
		}
	}
	p.mute = mute
}

// askWorker asks a worker. Without an answer, the status is made from the
// registration.
func askWorker(ctx context.Context, client *http.Client, p peer) Status {
	ctx, cancel := context.WithTimeout(ctx, workerLimit)
	defer cancel()
	var s Status
	if err := fetchJSON(ctx, client, p.address, "/status", statusLimit, &s); err != nil {
		return unheard(p, err)
	}
	if s.Name != p.Name || s.Znode != p.Znode {
		// The worker was started again; the registration of its former life goes
		// with its session.
		return unheard(p, errors.New("another node answers at its address"))
	}
	s.Address = p.address
	return s
}

// unheard is the status of a worker known only from the registry.
func unheard(p peer, why error) Status {
	return Status{Name: p.Name, Address: p.address, Role: Worker, Znode: p.Znode, Error: why.Error(), At: time.Now()}
}
