package rebalanser

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// Status is a group as it was read: not all at one moment, while it changes.
type Status struct {
	Mode Mode
	// Coordinator is the name of the client that wrote the epoch last, and Epoch
	// counts those who did. It may have gone since: Members tells.
	Coordinator string
	Epoch       int64
	// Generation is the highest plan of which something is written. In global
	// mode State is how far it is: "stop" (members give up what it takes from
	// them), "assigned" (all have), or "confirmed" (all have started).
	Generation int64
	State      string
	// Paused by whom and since when, by the clock of who did that.
	Paused      bool
	PausedBy    string
	PausedSince time.Time
	// Members in the order in which they joined, and behind them those that have
	// gone and still own or keep something, with Gone set.
	Members []Member
	// Resources is how many there are; Unowned those that nobody owns, in order.
	Resources int
	Unowned   []string
	// Waiting are resources that are assigned to one member, and owned by
	// another or by nobody, in order.
	Waiting []Wait
}

// Member is a client of a group, as its nodes show it.
type Member struct {
	// Client is the name of its node, ID what it calls itself, Instance which
	// static member it is.
	Client, ID, Instance, Assignor, Zone string
	Weight                               int
	Subscription                         []string
	// Since is when it joined, by the servers' clock.
	Since time.Time
	Gone  bool
	// Assigned is how many resources its shard has. Owned are those that it
	// owns, by name, each with the time since when, by the servers' clock: in
	// global mode that of the assignment.
	Assigned int
	Owned    map[string]time.Time
	// Err is why it is given nothing: its record is none of this package.
	Err error
}

// Wait is a resource on its way.
type Wait struct {
	Resource string
	For      string // the client that it is assigned to
	On       string // the client that owns it; "" if nobody does
	Since    time.Time
}

// Status reads the group. In resource mode that takes a request per member and per
// resource, under way together; in global mode one per member. The error wraps
// ErrNoGroup if there is no group.
func (a *Admin) Status(ctx context.Context) (Status, error) {
	var st Status
	err := a.with(ctx, "read the status of", func(p *seat) error {
		v := &view{p: p, barriers: map[string]barrier{}, since: map[string]time.Time{}}
		err := v.read(ctx)
		if err == nil {
			st = v.status()
		}
		return err
	})
	return st, err
}

// view is what was read of a group.
type view struct {
	p        *seat
	st       Status
	roll     roll
	shards   shards
	wrote    time.Time
	all      []string
	barriers map[string]barrier
	since    map[string]time.Time // when a barrier was written last
}

func (v *view) read(ctx context.Context) error {
	p := v.p
	if err := p.s.Sync(ctx, string(p.at)); err != nil {
		return err
	}
	mode, _, declared, err := readGroup(ctx, p.s, p.at)
	if errors.Is(err, session.ErrNoNode) || err == nil && !declared {
		return ErrNoGroup
	}
	if err != nil {
		return err
	}
	v.st.Mode = mode
	v.roll, v.shards = roll{p: p, mode: mode, known: map[string]candidate{}}, shards{p: p, has: map[string]written{}}
	if err := v.records(ctx); err != nil {
		return err
	}
	// First what is owned, then who there is: an owner that is not among the
	// clients has gone.
	lists := map[string][]string{}
	for _, dir := range []string{resourcesDir, assignmentsDir, barriersDir, clientsDir} {
		names, _, err := p.s.Children(ctx, p.at.in(dir))
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return err
		}
		lists[dir] = names
		switch dir {
		case assignmentsDir:
			err = v.shards.load(ctx, names)
		case barriersDir:
			err = v.owners(ctx, names)
		case clientsDir:
			err = v.roll.call(ctx, names)
		default:
			err = nil
		}
		if err != nil {
			return err
		}
	}
	v.all = lists[resourcesDir]
	slices.Sort(v.all)
	return nil
}

// records reads the small ones. One that makes no sense is passed over.
func (v *view) records(ctx context.Context) error {
	p := v.p
	names := []string{epochNode, configNode, statusNode}
	futures := make([]*session.Future[session.Seen], len(names))
	for i, name := range names {
		futures[i] = p.s.StartGet(p.at.in(name), false)
	}
	return answers(ctx, futures, func(i int, seen session.Seen, _ bool) {
		switch names[i] {
		case epochNode:
			r, _ := decode[epochRecord](seen.Data)
			v.st.Coordinator, v.st.Epoch = r.Client, r.Epoch
		case configNode:
			r, _ := decode[configRecord](seen.Data)
			v.st.Paused, v.st.PausedBy, v.st.PausedSince = r.Paused, r.By, r.Since
		case statusNode:
			r, _ := decode[statusRecord](seen.Data)
			v.st.Generation, v.st.State, v.wrote = r.Generation, r.State, stamp(seen.Stat.Mtime)
		}
	})
}

// owners reads the barriers.
func (v *view) owners(ctx context.Context, names []string) error {
	for part := range batches(names, window, maxTxn, func(n string) int { return len(n) }) {
		futures := make([]*session.Future[session.Seen], len(part))
		for i, name := range part {
			futures[i] = v.p.s.StartGet(v.p.at.barrier(name), false)
		}
		err := answers(ctx, futures, func(i int, seen session.Seen, there bool) {
			v.barriers[part[i]], v.since[part[i]] = readBarrier(part[i], seen, there), stamp(seen.Stat.Mtime)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stamp is a time of the servers.
func stamp(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// status makes sense of what was read.
func (v *view) status() Status {
	st, members := v.st, map[string]*Member{}
	for name, c := range v.roll.known {
		members[name] = &Member{
			Client: name, ID: c.record.ID, Instance: c.record.Instance, Assignor: c.record.Assignor, Zone: c.record.Zone,
			Weight: c.record.Weight, Subscription: c.record.Subscription, Since: stamp(c.stat.Ctime), Err: c.err,
		}
	}
	member := func(client string) *Member {
		if members[client] == nil {
			members[client] = &Member{Client: client, Gone: true}
		}
		if members[client].Owned == nil {
			members[client].Owned = map[string]time.Time{}
		}
		return members[client]
	}
	for key, w := range v.shards.has {
		st.Generation = max(st.Generation, w.shard.Generation)
		if w.shard.Client == "" {
			continue
		}
		m := member(w.shard.Client)
		m.Assigned = len(w.shard.Resources)
		if m.Gone && key != m.Client {
			m.Instance = key
		}
		if st.Mode == GlobalBarrier && !m.Gone && v.started(w.shard) {
			for _, r := range w.shard.Resources {
				m.Owned[r] = v.wrote
			}
		}
	}
	for name, b := range v.barriers {
		if b.owner != "" {
			member(b.owner).Owned[name] = v.since[name]
		}
	}
	st.Resources = len(v.all)
	v.resources(&st, members)
	for _, name := range sorted(members) {
		st.Members = append(st.Members, *members[name])
	}
	slices.SortStableFunc(st.Members, func(a, b Member) int { return cmp.Or(boolOrder(a.Gone, b.Gone), cmp.Compare(number(a), number(b))) })
	return st
}

// started reports whether what a shard says may be at work, in global mode.
func (v *view) started(s core.Shard) bool {
	return s.Generation < v.st.Generation || s.Generation == v.st.Generation && v.st.State != states()[core.Stop]
}

// resources says who owns what, and what waits for whom.
func (v *view) resources(st *Status, members map[string]*Member) {
	owner, target := map[string]string{}, map[string]string{}
	for name, m := range members {
		for r := range m.Owned {
			if !m.Gone {
				owner[r] = name
			}
		}
	}
	for _, w := range v.shards.has {
		for _, r := range w.shard.Resources {
			target[r] = w.shard.Client
		}
	}
	for _, r := range v.all {
		if owner[r] == "" {
			st.Unowned = append(st.Unowned, r)
		}
		if to := target[r]; to != "" && to != owner[r] {
			st.Waiting = append(st.Waiting, Wait{Resource: r, For: to, On: owner[r], Since: v.since[r]})
		}
	}
}

// number is a client's place in the order in which they joined.
func number(m Member) int32 {
	n, err := session.Sequence(m.Client)
	if err != nil {
		return -1 // none of ours
	}
	return n
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
