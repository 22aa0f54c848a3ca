package barrier

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The model has parties that follow decide, one request at a time, on a server
// that handles one request at a time. All interleavings are tried, with parties
// that give up, crash (their znode goes at any later time) and arrive again.

const (
	modelParties  = 4
	modelArrivals = 9 // of all parties together, at most
)

// modelLimit is how many states are too many to try.
const modelLimit = 1_000_000

var errModelLimit = errors.New("too many states")

// The next step of a party of the model.
const (
	pcIdle    int8 = iota
	pcRead         // reads the record, with a watch
	pcList         // lists
	pcTxn          // sends the transaction
	pcWait         // waits for its watch
	pcSeats        // waits for its watch, or a seat
	pcInside       // has a seat
	pcLeaving      // waits for the others to leave
)

type modelParty struct {
	pc       int8
	seq      int8
	arrivals int8   // number of further arrivals
	round    int8   // of the read record
	chosen   uint16 // by number
	stale    uint16
	seat     int8
	arrival  bool
	gone     bool
	fired    bool // the watch
}

// model is comparable, and therefore its own key.
type model struct {
	double bool
	crowd  bool // there are more parties than k
	k      int
	nodes  [modelArrivals]int8 // by number: the owner of the znode, from 1
	rounds [modelArrivals]int8 // by number: the round of the release
	round  int8
	next   int8
	faults int8 // how many may still happen
	p      [modelParties]modelParty
}

func (m *model) record(round int8) record {
	r := record{Kind: kindBarrier, Parties: m.k, Round: int64(round)}
	if m.double {
		r.Kind = kindDouble
	}
	for n, in := range m.rounds {
		if in > 0 && in <= round {
			r.Released = r.Released.Add(int32(n))
		}
	}
	return r
}

// name is the ID of a party, counted from 1.
func name(party int8) string { return "?ABCD"[party : party+1] }

func (m *model) members() (out []member) {
	for n, party := range m.nodes {
		if party > 0 {
			out = append(out, member{seq: int32(n), id: name(party)})
		}
	}
	return out
}

// steps are all possible next states, and whether a step was a fault.
func (m model) steps(rule func(observation) decision) (next []model, faults []model, err error) {
	for i := range m.p {
		after := m
		ok, err := step(&after, i, rule)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			next = append(next, after)
		}
		if m.faults == 0 || m.p[i].pc == pcIdle {
			continue
		}
		left, crashed := m, m
		left.faults--
		if left.giveUp(i) {
			faults = append(faults, left)
		}
		crashed.faults--
		crashed.p[i] = modelParty{arrivals: m.p[i].arrivals}
		faults = append(faults, crashed)
	}
	// The znode of a party that has crashed goes at some time.
	for n, party := range m.nodes {
		if party > 0 && (m.p[party-1].pc == pcIdle || int(m.p[party-1].seq) != n) {
			after := m
			after.nodes[n] = 0
			next = append(next, after)
		}
	}
	return next, faults, nil
}

// giveUp ends the context of party i: the party deletes its znode.
func (m *model) giveUp(i int) bool {
	p := &m.p[i]
	if p.pc == pcLeaving {
		return false
	}
	m.nodes[p.seq] = 0
	*p = modelParty{arrivals: p.arrivals}
	return true
}

// step lets party i send its next request; false without a request.
func step(m *model, i int, rule func(observation) decision) (bool, error) {
	p := &m.p[i]
	switch p.pc {
	case pcIdle:
		if p.arrivals == 0 || m.next == modelArrivals {
			return false, nil
		}
		m.nodes[m.next] = int8(i + 1)
		*p = modelParty{pc: pcRead, seq: m.next, arrivals: p.arrivals - 1, arrival: true}
		m.next++
		return true, nil
	case pcWait, pcSeats:
		if !p.fired && (p.pc == pcWait || m.nodes[p.seat] > 0) {
			return false, nil
		}
		p.pc = pcRead
		return step(m, i, rule)
	case pcRead:
		p.round, p.fired = m.round, false
		return true, m.decide(i, rule, false)
	case pcList:
		return true, m.decide(i, rule, true)
	case pcTxn:
		return true, m.txn(i)
	case pcInside:
		m.nodes[p.seq] = 0
		p.pc = pcLeaving
		return true, nil
	case pcLeaving:
		for n, in := range m.rounds {
			if in == m.rounds[p.seq] && m.nodes[n] > 0 {
				return false, nil
			}
		}
		*p = modelParty{arrivals: p.arrivals}
		return true, nil
	}
	return false, nil
}

func (m *model) decide(i int, rule func(observation) decision, listed bool) error {
	p := &m.p[i]
	all := m.members()
	v := observation{
		record: m.record(p.round), count: len(all), self: int32(p.seq), id: name(int8(i + 1)),
		arrival: p.arrival, gone: p.gone, listed: listed,
	}
	if listed {
		v.members, v.count = all, 0
	} else {
		p.arrival = false
	}
	d := rule(v)
	switch d.act {
	case actList:
		p.pc = pcList
	case actWait:
		p.pc = pcWait
	case actSeats:
		p.pc, p.seat = pcSeats, int8(d.seats[0].seq)
	case actMissing:
		p.pc, p.gone = pcRead, true
	case actGone:
		*p = modelParty{arrivals: p.arrivals + 1} // the party arrives again
	case actRelease:
		p.pc, p.chosen, p.stale = pcTxn, mask(d.chosen), mask(d.stale)
	case actPassed:
		return m.pass(i, int8(d.round))
	case actTooMany:
		if !m.crowd {
			return fmt.Errorf("party %d is said to be one too many", i+1)
		}
		m.giveUp(i)
	default:
		return fmt.Errorf("party %d decides %d", i+1, d.act)
	}
	return nil
}

func mask(members []member) (out uint16) {
	for _, m := range members {
		out |= 1 << m.seq
	}
	return out
}

// txn is the release, and where safety is checked.
func (m *model) txn(i int) error {
	p := &m.p[i]
	p.pc = pcRead
	if p.round != m.round {
		return nil
	}
	ready := map[int8]bool{}
	for n := range m.nodes {
		if (p.chosen|p.stale)&(1<<n) != 0 && m.nodes[n] == 0 {
			return nil
		}
		if p.chosen&(1<<n) != 0 {
			ready[m.nodes[n]] = true
		}
	}
	if len(ready) != m.k {
		return fmt.Errorf("round %d is released for %d parties of %d", m.round+1, len(ready), m.k)
	}
	if m.double {
		for n, in := range m.rounds {
			if in > 0 && m.nodes[n] > 0 {
				return fmt.Errorf("round %d is released while %d is inside", m.round+1, n)
			}
		}
	}
	before := m.record(m.round)
	m.round++
	var seqs []int32
	for n := range m.nodes {
		if p.chosen&(1<<n) != 0 {
			m.rounds[n] = m.round
			seqs = append(seqs, int32(n))
		}
		if p.stale&(1<<n) != 0 || p.chosen&(1<<n) != 0 && !m.double {
			m.nodes[n] = 0
		}
	}
	if want, got := m.record(m.round), before.next(seqs); !slices.Equal(want.Released, got.Released) {
		return fmt.Errorf("the record says %v after %v", got.Released, want.Released)
	}
	for j := range m.p {
		m.p[j].fired = true
	}
	if p.chosen&(1<<p.seq) != 0 {
		return m.pass(i, m.round)
	}
	return nil
}

// pass lets party i through; the party must have been released in this round.
func (m *model) pass(i int, round int8) error {
	p := &m.p[i]
	if m.rounds[p.seq] == 0 || m.rounds[p.seq] != round {
		return fmt.Errorf("party %d passes round %d, and was released in %d", i+1, round, m.rounds[p.seq])
	}
	if !m.double {
		*p = modelParty{arrivals: p.arrivals}
		return nil
	}
	p.pc = pcInside
	if m.nodes[p.seq] == 0 {
		*p = modelParty{arrivals: p.arrivals} // the seat is lost
	}
	return nil
}

// stuck checks a state without further steps except faults.
func (m *model) stuck() error {
	waiting := map[int8]bool{}
	for n, party := range m.nodes {
		switch {
		case party == 0:
		case m.rounds[n] > 0:
			return fmt.Errorf("party %d was released and does not pass", party)
		default:
			waiting[party] = true
		}
	}
	if len(waiting) >= m.k {
		return fmt.Errorf("%d parties of %d wait indefinitely", len(waiting), m.k)
	}
	for i, p := range m.p {
		if p.pc != pcIdle && m.nodes[p.seq] == 0 {
			return fmt.Errorf("party %d waits without a znode", i+1)
		}
	}
	return nil
}

// explore tries all interleavings, and returns how many states there are.
func explore(from model, rule func(observation) decision) (int, error) {
	seen := map[model]struct{}{from: {}}
	todo := []model{from}
	for len(todo) > 0 && len(seen) < modelLimit {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		next, faults, err := m.steps(rule)
		if err == nil && len(next) == 0 {
			err = m.stuck()
		}
		if err != nil {
			return len(seen), fmt.Errorf("%w\n%+v", err, m)
		}
		for _, after := range append(next, faults...) {
			if _, known := seen[after]; !known {
				seen[after] = struct{}{}
				todo = append(todo, after)
			}
		}
	}
	if len(todo) > 0 {
		return len(seen), errModelLimit
	}
	return len(seen), nil
}

// start has the given number of parties, and of arrivals of each.
func start(double bool, k, parties, arrivals, faults int) model {
	m := model{double: double, crowd: parties > k, k: k, faults: int8(faults)}
	for i := range parties {
		m.p[i].arrivals = int8(arrivals)
	}
	return m
}

// uneven is start with a number of arrivals for each party.
func uneven(double bool, k, faults int, arrivals ...int8) model {
	m := start(double, k, len(arrivals), 0, faults)
	for i, n := range arrivals {
		m.p[i].arrivals = n
	}
	return m
}

// W9, W10, CL6, CL8, PD6
func TestAllInterleavingsAreSafeAndNoPartyHangs_W9_W10(t *testing.T) {
	for _, c := range []struct {
		k, parties, arrivals, faults int
	}{{2, 2, 3, 2}, {2, 3, 1, 2}, {2, 3, 2, 0}, {3, 3, 2, 1}, {2, 4, 1, 0}, {3, 4, 1, 1}, {3, 3, 3, 0}, {1, 2, 2, 2}} {
		for _, double := range []bool{false, true} {
			t.Run(fmt.Sprintf("double=%v %+v", double, c), func(t *testing.T) {
				t.Parallel()
				n, err := explore(start(double, c.k, c.parties, c.arrivals, c.faults), decide)
				require.NoError(t, err)
				t.Logf("%d states", n)
			})
		}
	}
}

// Each of these wrong rules is detected.
func TestModelNoticesWrongRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from model
		rule func(observation) decision
	}{
		"counts a party twice": {start(false, 2, 2, 3, 2), func(v observation) decision {
			for i := range v.members {
				v.members[i].id = fmt.Sprint("znode", i)
			}
			return decide(v)
		}},
		"leaves the release to the last party, which may have died": {start(false, 2, 3, 1, 1), func(v observation) decision {
			d := decide(v)
			if d.act == actRelease && v.members[len(v.members)-1].seq > v.self {
				d.act = actWait
			}
			return d
		}},
		"lists too rarely": {start(false, 2, 2, 1, 0), func(v observation) decision {
			d := decide(v)
			if d.act == actList && int(v.self) <= v.record.Parties {
				d.act = actWait
			}
			return d
		}},
		"does not look again when the seats are empty": {uneven(true, 2, 1, 2, 1, 1), func(v observation) decision {
			d := decide(v)
			if d.act == actSeats {
				d.act = actWait
			}
			return d
		}},
		"ignores the parties inside": {start(true, 2, 3, 2, 1), func(v observation) decision {
			v.members = slices.DeleteFunc(v.members, func(m member) bool { return m.seq <= v.record.lastReleased() })
			return decide(v)
		}},
		"takes its own old seat for the seat of another party": {start(true, 2, 2, 3, 2), func(v observation) decision {
			v.id = "?"
			return decide(v)
		}},
		"passes with the round before": {start(false, 2, 2, 2, 0), func(v observation) decision {
			d := decide(v)
			d.round--
			return d
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := explore(c.from, c.rule)
			require.Error(t, err)
			require.NotErrorIs(t, err, errModelLimit)
			t.Logf("%.70v", err)
		})
	}
}
