package session

import (
	"net"
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

	reach *reachability
	// mu guards the fields below: the ensemble; its servers in this session's order, and how
	// often they were replaced; the addresses of this round, how many of them have been tried,
	// the last one, and the remote address of the connection to it; how many rounds have begun;
	// and what is to be done about the present server, and the address that is the first of the
	// next round, until a round begins: a dial may have been on its way when the servers were
	// replaced.
	mu       sync.Mutex
	of       ensemble
	former   []string // the servers of the configuration before
	servers  []string
	replaced int
	round    []target
	tried    int
	last     target
	remote   string
	rounds   int
	decision decision
	ahead    *target
}

// decision is whether a session is to leave its server.
type decision struct {
	undecided *ensemble // the former ensemble, until the client knows which server it is at
	first     []string  // the servers to go to, if one can be reached
	leave     error     // why, nil if the session is to stay
}

// standing is where a session is, and what is to be done about it.
type standing struct {
	decision

	target target
	remote string
	rounds int
	former []string // the servers of the configuration before
	// spare: the present server is not in the ensemble by name, and was tried besides.
	spare bool
}

// newRotation makes a session's own random order, so that clients spread over
// the servers.
func newRotation(e ensemble, reach *reachability, resolve func(servers []string) []target, over func() bool, random *chance.Source) *rotation {
	r := &rotation{over: over, random: random, resolve: resolve, reach: reach}
	r.replace(e, nil)
	return r
}

// ensemble is what the servers are from.
func (r *rotation) ensemble() ensemble {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of
}

// stand is where the session is.
func (r *rotation) stand() standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	spare := len(r.round) > 0 && !slices.Contains(r.servers, r.last.server)
	return standing{decision: r.decision, target: r.last, remote: r.remote, rounds: r.rounds, former: r.former, spare: spare}
}

// decide notes a decision about a standing, unless it is over.
func (r *rotation) decide(at standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds == at.rounds {
		r.decision = decision{first: at.first, leave: at.leave}
	}
}

// goTo makes to the first address of the next round, and the present one the second, unless the
// standing is over; it reports whether it is not.
func (r *rotation) goTo(to target, at standing) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds == at.rounds {
		r.ahead = &to
	}
	return r.rounds == at.rounds
}

// replace takes the servers of e in place of the present ones. The next dial begins a round of
// them. former is the ensemble before, if the session is to leave its server for the change.
func (r *rotation) replace(e ensemble, former *ensemble) {
	order := slices.Clone(e.servers)
	chance.Shuffle(r.random, order)
	r.mu.Lock()
	defer r.mu.Unlock()
	if former != nil && r.decision.undecided != nil {
		former = r.decision.undecided
	}
	if r.of.followed {
		r.former = r.of.servers
	}
	r.of, r.servers, r.replaced = e, order, r.replaced+1
	r.round, r.tried, r.decision, r.ahead = nil, 0, decision{undecided: former}, nil
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
	followed := r.of.followed
	if followed {
		given := slices.Clone(r.of.given)
		chance.Shuffle(r.random, given)
		servers = r.reach.order(servers, given)
	}
	r.mu.Unlock()
	if !over {
		return true
	}
	round := r.resolve(servers)
	if followed {
		round = distinct(round) // the servers given to Connect may be the same by other names
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replaced != replaced {
		return false
	}
	if r.ahead != nil {
		first := []target{*r.ahead}
		if r.last.address != "" { // it was left in good health
			first = append(first, r.last)
		}
		round = slices.Concat(first, slices.DeleteFunc(round, func(t target) bool {
			return slices.ContainsFunc(first, func(f target) bool { return f.address == t.address })
		}))
	} else if len(round) > 1 && round[0].address == r.last.address { // it has just failed
		round[0], round[1] = round[1], round[0]
	}
	r.round, r.tried, r.rounds = round, 0, r.rounds+1
	r.decision, r.ahead = decision{}, nil
	return true
}

// distinct is round with the first of the targets of each address.
func distinct(round []target) []target {
	seen := map[string]bool{}
	return slices.DeleteFunc(round, func(t target) bool {
		again := seen[t.address]
		seen[t.address] = true
		return again
	})
}

// Connected ends the round: the next dial, if any, may be weeks later, when the addresses of
// the round are those of others. It goes to the server behind the present one, which has
// failed then.
func (r *rotation) Connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried = len(r.round)
	r.reach.setAnswered(r.last.server)
	if at := slices.Index(r.servers, r.last.server); at >= 0 {
		r.servers = slices.Concat(r.servers[at+1:], r.servers[:at+1])
	}
}

// dialed notes the remote address of a connection to the last address.
func (r *rotation) dialed(remote net.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.remote = ""; remote != nil {
		r.remote = remote.String()
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
