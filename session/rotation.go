package session

import (
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/chance"
)

// rotation hands out the addresses of servers in turn. It is go-zookeeper's HostProvider.
//
// It answers "all tried" only once the session is over. go-zookeeper would then
// wait a second, during which a lease can run out, before it tries again, and
// look at that moment whether it was closed; while the session lives the
// dialer does the waiting.
type rotation struct {
	over   func() bool
	random *chance.Source
	// resolve returns the addresses of servers. It may take a while.
	resolve func(servers []string) []target

	// mu guards the fields below: the ensemble; its servers in this session's order, those that
	// are tried besides when a round of them has failed, and how often they were replaced; the
	// addresses of this round, how many of them have been tried, and the last one; whether the
	// next round has the others, too; and why the last address is to be left: a dial of it may
	// have been on its way when the servers were replaced.
	mu       sync.Mutex
	of       ensemble
	servers  []string
	spare    []string
	replaced int
	round    []target
	tried    int
	last     target
	again    bool
	leave    error
}

// newRotation makes a session's own random order, so that clients spread over
// the servers. A session on trial has one round, of all servers.
func newRotation(e ensemble, trial bool, resolve func(servers []string) []target, over func() bool, random *chance.Source) *rotation {
	r := &rotation{over: over, random: random, resolve: resolve}
	r.replace(e, nil, nil)
	r.again = trial
	return r
}

// ensemble is what the servers are from.
func (r *rotation) ensemble() ensemble {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of
}

// leaving is why the present server is to be left, if it is.
func (r *rotation) leaving() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leave
}

// onSpare reports whether the last address is of a server that is tried only besides, and was
// tried for that.
func (r *rotation) onSpare() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.round) > 0 && slices.Contains(r.spare, r.last.server)
}

// replace takes the servers of e in place of the present ones, those of first ahead. The next
// dial begins a round of them; leave is why there should be one, if it is not nil.
func (r *rotation) replace(e ensemble, first []string, leave error) {
	order := slices.Clone(e.servers)
	chance.Shuffle(r.random, order)
	later := without(order, first)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of, r.replaced = e, r.replaced+1
	r.servers, r.spare = slices.Concat(without(order, later), later), without(e.given, e.servers)
	r.round, r.tried, r.again, r.leave = nil, 0, false, leave
}

// without is list without the elements of those.
func without(list, those []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(those, one) })
}

// Init ignores go-zookeeper's list: the rotation has its own.
func (r *rotation) Init([]string) error { return nil }

// Len is the number of addresses in the present round, or of servers before the first.
func (r *rotation) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(len(r.round), len(r.servers))
}

// Next is the address to try next. Each round resolves the names again; a round ends with
// its last address, or with a connection. Only go-zookeeper's
// connecting goroutine calls Next, so no round begins twice.
func (r *rotation) Next() (server string, allTried bool) {
	for !r.beginRound() {
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = r.round[r.tried]
	r.tried++
	return r.last.shown(), r.over()
}

// beginRound begins a round if the last one is over. It reports false if the servers were replaced
// meanwhile.
func (r *rotation) beginRound() bool {
	r.mu.Lock()
	over, servers, replaced := r.tried == len(r.round), r.servers, r.replaced
	if r.again {
		servers = slices.Concat(servers, r.spare)
	}
	r.mu.Unlock()
	if !over {
		return true
	}
	round := r.resolve(servers)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replaced != replaced {
		return false
	}
	if len(round) > 1 && round[0].address == r.last.address { // it has just failed
		round[0], round[1] = round[1], round[0]
	}
	r.round, r.tried, r.again, r.leave = round, 0, true, nil
	return true
}

// Connected ends the round: the next dial, if any, may be weeks later, when the addresses of
// the round are those of others. It goes to the server behind the present one, which has
// failed then.
func (r *rotation) Connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried, r.again = len(r.round), false
	if at := slices.Index(r.servers, r.last.server); at >= 0 {
		r.servers = slices.Concat(r.servers[at+1:], r.servers[:at+1])
	}
}

// target is the address that was handed out last.
func (r *rotation) target() target {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// server is the address that was handed out last, as users see it.
func (r *rotation) server() string { return r.target().shown() }
