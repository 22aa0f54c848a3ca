package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// event is an input to a Follower, and to its twin.
type event struct {
	verb   string
	rs     []string
	shard  Shard
	status Status
	gen    int64
}

// performer carries out a Follower's actions, in an order chosen by rapid, and
// detects forbidden actions.
type performer struct {
	*rapid.T // random choices
	t        require.TestingT
	mode     Mode
	f        *Follower
	twin     *plain

	shard     Shard
	status    Status
	acquiring map[string]bool // true: to be abandoned
	owned     map[string]bool // true: the handler knows
	releasing map[string]bool
	call      []string
	kind      Kind
	calling   bool
	acks      map[int64]bool // true: carried out
	word      *Action
	left      bool
	// granted are, in global mode, the resources that belong to this client
	// since all members have stopped for the generation.
	granted map[string]bool
}

func (p *performer) tell(q event) {
	var got []Action
	switch f := p.f; q.verb {
	case "shard":
		if p.mode == Resource {
			got = f.Assignment(q.shard)
		} else {
			got = f.Status(q.status, q.shard)
		}
	case "acquired":
		got = f.Acquired(q.rs)
	case "abandoned":
		got = f.Abandoned(q.rs)
	case "started":
		got = f.Started(q.rs)
	case "revoked":
		got = f.Revoked(q.rs)
	case "released":
		got = f.Released(q.rs)
	case "acked":
		got = f.Acked(q.gen)
	case "unacked":
		got = f.Unacked(q.gen)
	case "quit":
		got = f.Quit()
	}
	want := p.twin.tell(q)
	require.Equal(p.t, want, got, "after %+v, a twin", q)
	require.Equal(p.t, p.twin.phases, p.f.Phases(), "after %+v, a twin", q)
	for _, a := range got {
		p.begin(a)
	}
	unwanted := slices.ContainsFunc(p.f.phases.namesIn(Starting), func(r string) bool { return !p.twin.wants(r) })
	require.Equal(p.t, unwanted, p.f.Unwanted())
	wanted := slices.ContainsFunc(p.f.phases.namesIn(Starting), p.twin.wants)
	require.Equal(p.t, wanted, p.f.Wanted())
}

// begin checks an action, and begins it.
func (p *performer) begin(a Action) {
	require.False(p.t, p.left, "%+v after Leave", a)
	require.True(p.t, slices.IsSorted(a.Resources))
	for _, r := range a.Resources {
		drop, acquiring := p.acquiring[r]
		known, owned := p.owned[r]
		if p.mode == Global && a.Kind == Start {
			require.NotEqual(p.t, Stop, p.status.State, "%s is started while all stop", r)
			require.False(p.t, owned)
			require.True(p.t, p.granted[r], "%s is not this client's yet", r)
			owned = true
		}
		switch a.Kind {
		case Acquire:
			require.False(p.t, acquiring || owned || p.releasing[r], "%s is acquired", r)
			p.acquiring[r] = false
		case Abandon:
			require.True(p.t, acquiring && !drop, "%s is abandoned", r)
			p.acquiring[r] = true
		case Start:
			require.True(p.t, owned && !known, "%s is started", r)
			p.owned[r] = true
			if p.twin.complete {
				for _, other := range p.twin.shard.Resources {
					_, all := p.owned[other]
					require.True(p.t, all, "%s is started before %s is owned", r, other)
				}
			}
		case Revoke:
			require.True(p.t, owned && known, "%s is revoked", r)
		case Release:
			require.True(p.t, owned && !(p.calling && slices.Contains(p.call, r)), "%s is released while a handler runs", r)
			delete(p.owned, r)
			p.releasing[r] = true
		}
	}
	switch a.Kind {
	case Start, Revoke:
		require.False(p.t, p.calling, "two calls at once")
		p.call, p.kind, p.calling = a.Resources, a.Kind, true
	case Ack, Unack:
		require.Nil(p.t, p.word, "two words at once")
		p.word = &a
		if a.Kind == Ack {
			for r := range p.owned {
				require.True(p.t, p.twin.wants(r), "it reports its stop, but still has %s", r)
			}
		}
	case Leave:
		require.Empty(p.t, p.owned)
		require.Empty(p.t, p.acquiring)
		require.Empty(p.t, p.releasing)
		require.False(p.t, p.calling)
		require.Empty(p.t, p.acks)
		p.left = true
	}
}

// some chooses of a set.
func some(p *performer, of map[string]bool, label string) (out []string) {
	for _, r := range slices.Sorted(func(yield func(string) bool) {
		for r := range of {
			if !yield(r) {
				return
			}
		}
	}) {
		if rapid.Bool().Draw(p.T, label) {
			out = append(out, r)
		}
	}
	return out
}

// order gives the follower something new to do.
func (p *performer) order() {
	gen := p.shard.Generation + int64(rapid.IntRange(-1, 2).Draw(p.T, "generation"))
	s := Shard{Client: rapid.SampledFrom([]string{"a", "a", "a", "b", ""}).Draw(p.T, "client"), Generation: max(gen, 1)}
	if s.Client != "" {
		for r := range 5 {
			if rapid.Bool().Draw(p.T, "assigned") {
				s.Resources = append(s.Resources, fmt.Sprint("r", r))
			}
		}
	}
	if p.mode == Global {
		next := Status{p.status.Generation, p.status.State + 1}
		if p.status.State == Confirmed || p.status.Generation == 0 || rapid.IntRange(0, 4).Draw(p.T, "next") == 0 {
			next = Status{p.status.Generation + 1, Stop}
		}
		// A shard read after the status is at least as new.
		if p.status = next; next.State == Stop || rapid.IntRange(0, 3).Draw(p.T, "newer") == 0 {
			s.Generation = max(s.Generation, next.Generation)
		} else {
			s = p.shard
		}
	}
	if (s.Generation >= p.shard.Generation || p.mode == Resource) && s.Client == "a" {
		p.shard = s
	}
	p.hear(s)
}

// hear tells of a shard, and, in global mode, of the status.
func (p *performer) hear(s Shard) {
	after := map[string]bool{}
	newer := s.Generation >= p.twin.shard.Generation || p.mode == Resource && s.Client != ""
	if s.Client == "a" && newer {
		for _, r := range s.Resources {
			after[r] = p.granted[r] || p.status.State != Stop && s.Generation <= p.status.Generation
		}
	} else if !newer {
		for _, r := range p.twin.shard.Resources {
			after[r] = p.granted[r] || p.status.State != Stop && p.twin.shard.Generation <= p.status.Generation
		}
	}
	p.granted = after
	p.tell(event{verb: "shard", shard: s, status: p.status})
}

// work lets one action in progress end; false if there is none.
func (p *performer) work(all bool) bool {
	busy := p.calling || len(p.acquiring)+len(p.releasing) > 0 || p.word != nil
	if p.calling && (all || rapid.Bool().Draw(p.T, "returns")) {
		rs, verb := p.call, "started"
		if p.kind == Revoke {
			verb = "revoked"
			if p.mode == Global {
				for _, r := range rs {
					delete(p.owned, r)
				}
			}
		}
		p.call, p.calling = nil, false
		p.tell(event{verb: verb, rs: rs})
	}
	var got, dropped []string
	for _, r := range some(p, p.acquiring, "answered") {
		if p.acquiring[r] && rapid.Bool().Draw(p.T, "dropped") {
			dropped = append(dropped, r)
		} else {
			got = append(got, r)
			p.owned[r] = false
		}
		delete(p.acquiring, r)
	}
	if len(got) > 0 {
		p.tell(event{verb: "acquired", rs: got})
	}
	if len(dropped) > 0 {
		p.tell(event{verb: "abandoned", rs: dropped})
	}
	if rs := some(p, p.releasing, "released"); len(rs) > 0 {
		for _, r := range rs {
			delete(p.releasing, r)
		}
		p.tell(event{verb: "released", rs: rs})
	}
	if w := p.word; w != nil && (all || rapid.Bool().Draw(p.T, "said")) {
		p.word = nil
		if w.Kind == Ack {
			p.acks[w.Generation] = true
			p.tell(event{verb: "acked", gen: w.Generation})
		} else {
			delete(p.acks, w.Generation)
			p.tell(event{verb: "unacked", gen: w.Generation})
		}
	}
	return busy
}

// R23-R27, R32, R33, R41, R44, X1, X2, X3
func TestFollowerDoesWhatItsTwinDoesAndNeverTooMuch_X1_X2_X3(t *testing.T) {
	for name, x := range map[string]struct {
		mode     Mode
		complete bool
	}{"resource": {mode: Resource}, "global": {mode: Global}, "complete": {Resource, true}} {
		t.Run(name, func(t *testing.T) {
			for range rounds(30) {
				rapid.Check(t, func(t *rapid.T) { life(t, x.mode, x.complete) })
			}
		})
	}
}

func life(t *rapid.T, mode Mode, complete bool) {
	p := &performer{
		T: t, t: t, mode: mode, f: NewFollower(mode, "a", complete),
		twin:      &plain{mode: mode, client: "a", complete: complete, phases: map[string]Phase{}},
		acquiring: map[string]bool{}, owned: map[string]bool{}, releasing: map[string]bool{}, acks: map[int64]bool{},
	}
	quit := false
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		switch rapid.IntRange(0, 99).Draw(t, "event") {
		case 0:
			quit = true
			p.tell(event{verb: "quit"})
		case 1:
			p.lose()
			return
		default:
			if rapid.Bool().Draw(t, "order") {
				p.order()
			} else {
				p.work(false)
			}
		}
	}
	// The follower comes to rest, in the state of the shard, or gone.
	for range 200 {
		if p.work(true); !p.calling && len(p.acquiring)+len(p.releasing) == 0 && p.word == nil {
			break
		}
	}
	if quit {
		require.True(t, p.left)
		return
	}
	if mode == Global {
		for p.status.State != Assigned {
			p.order()
			for range 50 {
				p.work(true)
			}
		}
		for p.shard.Generation > p.status.Generation { // no coordinator leaves the group so
			p.status = Status{p.shard.Generation, Assigned}
			p.hear(p.shard)
			for range 50 {
				p.work(true)
			}
		}
		require.Empty(t, p.acks, "the word is taken back when all has been started")
	}
	running := p.f.phases.namesIn(Running)
	require.Len(t, p.f.Phases(), len(running))
	require.Equal(t, strings.Join(p.twin.shard.Resources, " "), strings.Join(running, " "))
}

// lose: the client node is lost. All resources known to the handlers are named,
// and the follower takes no action after that.
func (p *performer) lose() {
	var want []string
	for r, known := range p.owned {
		if known && !(p.mode == Resource && p.releasing[r]) {
			want = append(want, r)
		}
	}
	slices.Sort(want)
	require.Equal(p.t, strings.Join(want, " "), strings.Join(p.f.Lost(), " "))
	require.Empty(p.t, p.f.Lost())
	require.Empty(p.t, p.f.Phases())
	for r := range p.acquiring {
		require.Empty(p.t, p.f.Acquired([]string{r}))
	}
	if p.calling && p.kind == Start {
		require.Empty(p.t, p.f.Started(p.call))
	} else if p.calling {
		require.Empty(p.t, p.f.Revoked(p.call))
	}
	require.Empty(p.t, p.f.Assignment(Shard{Client: "a", Generation: 99, Resources: []string{"x"}}))
	require.Empty(p.t, p.f.Quit())
}

// A performer without checks would accept every follower.
func TestPerformerNoticesWrongActions(t *testing.T) {
	notices := func(a Action) (failed bool) {
		defer func() { failed = recover() != nil }()
		p := &performer{
			t: panics{}, f: NewFollower(Resource, "a", false), call: []string{"called"}, calling: true,
			owned:     map[string]bool{"called": true, "held": false},
			acquiring: map[string]bool{"wanted": false}, releasing: map[string]bool{}, acks: map[int64]bool{},
		}
		p.begin(a)
		return false
	}
	for name, bad := range map[string]Action{
		"starts what it does not own":       {Kind: Start, Resources: []string{"wanted"}},
		"revokes what does not run":         {Kind: Revoke, Resources: []string{"held"}},
		"releases while the handler runs":   {Kind: Release, Resources: []string{"called"}},
		"acquires what it has":              {Kind: Acquire, Resources: []string{"held"}},
		"abandons what it does not acquire": {Kind: Abandon, Resources: []string{"held"}},
		"calls twice at once":               {Kind: Start, Resources: []string{"held"}},
		"leaves with something":             {Kind: Leave},
	} {
		require.True(t, notices(bad), name)
	}
	for _, good := range []Action{
		{Kind: Acquire, Resources: []string{"new"}},
		{Kind: Abandon, Resources: []string{"wanted"}},
		{Kind: Release, Resources: []string{"held"}},
	} {
		require.False(t, notices(good), "%+v", good)
	}
}

// panics is a test that fails by panicking.
type panics struct{}

func (panics) Errorf(string, ...any) {}
func (panics) FailNow()              { panic("failed") }
