package cluster

import (
	"math"
	"slices"
	"time"
)

// Order is an order for a node.
type Order string

// The orders. Cut means from ZooKeeper, not from HTTP clients of the node.
const (
	Kill   Order = "kill"
	Freeze Order = "freeze"
	Resume Order = "resume"
	Cut    Order = "cut"
	Heal   Order = "heal"
	Resign Order = "resign"
	Start  Order = "start"
)

// disturbs reports whether the order makes a leader stop.
func (o Order) disturbs() bool { return o == Kill || o == Freeze || o == Cut || o == Resign }

// Failover is a change of leader.
type Failover struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Cause is the order that caused the failover; "" for no or an unknown
	// order.
	Cause Order `json:"cause,omitempty"`
	// Began is when the order was given, or when the former leader was last
	// seen to serve.
	Began time.Time `json:"began"`
	// Stopped is when the former leader stopped serving, by its own answer: zero
	// without this answer, for instance after a kill.
	Stopped time.Time `json:"stopped,omitzero"`
	// Serving is when the next leader began to serve.
	Serving time.Time `json:"serving"`
	// Took is from Began to Serving, in milliseconds.
	Took float64 `json:"took_ms"`
	// Token and Term of the new leadership.
	Token int64 `json:"token,string"`
	Term  int64 `json:"term,string"`
	// OutOfTurn: the new leader was not the next candidate when the order was
	// given. The leader joined later, or other candidates had to go first. Such
	// a time is not the time of a failover, and is not counted.
	OutOfTurn bool `json:"out_of_turn,omitempty"`

	former int64     // token of the leadership before
	order  int64     // id of the order that caused the failover
	seen   time.Time // when the former leader was last seen to serve
}

// blame sets the cause of the failover.
func (f *Failover) blame(o given) {
	f.order, f.Cause, f.Began = o.id, o.what, o.at
	f.OutOfTurn = o.id != 0 && o.next != f.Term
	f.Took = float64(f.Serving.Sub(f.Began).Microseconds()) / 1000
}

// Gap is the time without a serving leader, by the former leader's answer:
// negative if two leaders served at once. The gap is unknown if the former
// leader was killed, or did not run.
func (f Failover) Gap() (time.Duration, bool) {
	if f.Stopped.IsZero() || f.Cause == Freeze || f.Cause == Kill {
		return 0, false
	}
	return f.Serving.Sub(f.Stopped), true
}

// kept is how many failovers of each cause, and how many orders, are remembered.
const kept = 200

// history makes failovers from observations. It has no clock and no I/O.
type history struct {
	leader Status // the leader with the largest token so far
	seen   time.Time
	last   int64      // id of the last order
	next   int64      // number of the next candidate to lead
	orders []given    // oldest first; orders that may still end a leadership
	list   []Failover // oldest first
}

// given is an order, with its time and its node.
type given struct {
	id   int64
	at   time.Time
	node string
	what Order
	next int64 // number of the next candidate at that time
	// lifted: the order was revoked, in time or not.
	lifted bool
	// done is when the order had been carried out; zero while unknown.
	done time.Time
}

// ordered records an order about to be carried out, and returns its id.
func (h *history) ordered(at time.Time, node string, what Order) int64 {
	h.last++
	if what.disturbs() {
		h.orders = append(h.orders, given{id: h.last, at: at, node: node, what: what, next: h.next})
		h.orders = h.orders[max(0, len(h.orders)-kept):]
	}
	for i := range h.orders {
		if o := &h.orders[i]; o.node == node && (o.what == Cut && what == Heal || o.what == Freeze && what == Resume) {
			o.lifted = true
		}
	}
	return h.last
}

// carried records that an order has been carried out, or may have been.
func (h *history) carried(id int64, at time.Time) {
	for i := range h.orders {
		if h.orders[i].id == id {
			h.orders[i].done = at
		}
	}
}

// undone records that an order was refused: the order had no effect, even if
// another node leads meanwhile.
func (h *history) undone(id int64) {
	h.orders = slices.DeleteFunc(h.orders, func(o given) bool { return o.id == id })
	for i := range h.list {
		if f := &h.list[i]; f.order == id {
			f.blame(given{at: f.seen})
		}
	}
}

// leads records the answer of a leader at a moment. It reports false for a
// leader already replaced.
func (h *history) leads(s Status, at time.Time) bool {
	switch {
	case s.Token < h.leader.Token:
		return false
	case s.Token > h.leader.Token && h.leader.Token != 0:
		h.remember(h.failover(s))
		// Orders from before this leadership cannot be the cause of a later
		// failover.
		h.orders = slices.DeleteFunc(h.orders, func(o given) bool { return o.at.Before(s.Since) })
	}
	h.leader, h.seen = s, at
	h.survived(s)
	return true
}

// forget drops the leader so far and its failover: its claims were false.
func (h *history) forget() {
	token := h.leader.Token
	h.list = slices.DeleteFunc(h.list, func(f Failover) bool { return f.Token == token })
	h.leader, h.seen = Status{}, time.Time{}
}

// remember keeps a failover, and a limited number for each cause: many
// failovers of one cause do not displace those of another.
func (h *history) remember(f Failover) {
	h.list = append(h.list, f)
	same, oldest := 0, -1
	for i, other := range h.list {
		if other.Cause != f.Cause {
			continue
		}
		if same++; oldest < 0 {
			oldest = i
		}
	}
	if same > kept {
		h.list = slices.Delete(h.list, oldest, oldest+1)
	}
}

// survived forgets the orders survived by the leader. An answer alone proves
// nothing: a leader without a connection continues until its trust runs out,
// and a frozen and resumed leader may not have heard of the loss of its
// session. But if the session was proved by a request sent after the order, the
// order is not the cause of a later end.
func (h *history) survived(s Status) {
	proved := proof(s)
	h.orders = slices.DeleteFunc(h.orders, func(o given) bool {
		return o.node == s.Name && !o.done.IsZero() && proved.After(o.done)
	})
}

// proof is a lower bound for the time at which the last proof of a session's
// life was sent: trust lasts shorter than the session's timeout.
func proof(s Status) time.Time {
	if s.TrustedUntil.IsZero() || s.Timeout <= 0 {
		return time.Time{}
	}
	return s.TrustedUntil.Add(-time.Duration(s.Timeout) * time.Millisecond)
}

// failover is the change from the leader so far to s.
func (h *history) failover(s Status) Failover {
	f := Failover{
		From: h.leader.Name, To: s.Name, Serving: s.Since, Token: s.Token, Term: s.Term, former: h.leader.Token, seen: h.seen,
	}
	f.blame(given{at: h.seen})
	did := slices.DeleteFunc(slices.Clone(h.orders), func(o given) bool {
		return o.node != f.From || !o.at.After(h.leader.Since) || !o.at.Before(s.Since)
	})
	killed := slices.ContainsFunc(did, func(o given) bool { return o.what == Kill })
	if len(did) > 0 && (!did[0].lifted || !killed) { // otherwise the cause is unknown
		f.blame(did[0]) // the first order is the cause
	}
	return f
}

// stopped records a node's answer about its last leadership, and reports
// whether the answer was news.
func (h *history) stopped(led *Led) bool {
	if led == nil || led.Until.IsZero() {
		return false
	}
	for i := range h.list {
		if f := &h.list[i]; f.former == led.Token && f.Stopped.IsZero() {
			f.Stopped = led.Until
			return true
		}
	}
	return false
}

// failovers are the newest first.
func (h *history) failovers() []Failover {
	out := slices.Clone(h.list)
	slices.Reverse(out)
	return out
}

// ByCause sums up the failovers of a cause.
type ByCause struct {
	Cause Order `json:"cause"`
	Times
}

// Figures sum up failovers. Failovers after kills of the leader are comparable
// to other measurements; other causes have other durations, and are listed
// separately.
type Figures struct {
	Kills  Times     `json:"times"`
	Others []ByCause `json:"others,omitempty"` // the other causes that occurred
}

// Sum sums up failovers by their causes.
func Sum(list []Failover) Figures {
	of := func(cause Order) Times {
		return Measure(slices.DeleteFunc(slices.Clone(list), func(f Failover) bool { return f.Cause != cause || f.OutOfTurn }))
	}
	out := Figures{Kills: of(Kill)}
	for _, cause := range []Order{Resign, Cut, Freeze, ""} {
		if t := of(cause); t.N > 0 {
			out.Others = append(out.Others, ByCause{cause, t})
		}
	}
	return out
}

// Times sum up how long failovers took, in milliseconds.
type Times struct {
	N      int     `json:"n"`
	Min    float64 `json:"min_ms"`
	Median float64 `json:"median_ms"`
	P99    float64 `json:"p99_ms"`
	Max    float64 `json:"max_ms"`
}

// Measure sums up failovers. A percentile is the smallest value not exceeded by
// this share of the failovers.
func Measure(list []Failover) Times {
	took := make([]float64, 0, len(list))
	for _, f := range list {
		took = append(took, f.Took)
	}
	slices.Sort(took)
	n := len(took)
	if n == 0 {
		return Times{}
	}
	rank := func(share float64) float64 { return took[max(0, int(math.Ceil(share*float64(n)))-1)] }
	return Times{N: n, Min: took[0], Median: rank(0.5), P99: rank(0.99), Max: took[n-1]}
}
