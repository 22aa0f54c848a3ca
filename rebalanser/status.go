package rebalanser

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
)

// Status is the state of a group as it was read; the parts may be of different
// moments while the group changes.
type Status struct {
	// Absent: the group does not exist, and nothing else is set. Only [Admin.States] has
	// such a Status; [Admin.Status] returns ErrNoGroup.
	Absent bool
	Mode   Mode
	// Coordinator is the name of the client that wrote the epoch last, and Epoch
	// counts the coordinators. The client may have gone since: see Members.
	Coordinator string
	Epoch       int64
	// Generation is the highest plan with a written record. In global mode State
	// is its progress: "stop" (members give up what the plan takes from them),
	// "assigned" (all have), or "confirmed" (all have started).
	Generation int64
	State      string
	// PausedBy is the ID of the administrator that paused the group; PausedSince is by the
	// clock of that administrator.
	Paused      bool
	PausedBy    string
	PausedSince time.Time
	// Members in the order of their joins, followed by gone members that still
	// own or keep something, with Gone set.
	Members []Member
	// Resources is the number of resources; Unowned lists the resources without
	// an owner, in order.
	Resources int
	Unowned   []string
	// Unreadable are records that are not what this version of the package writes, in
	// the order of their paths. A record of a newer format is never replaced: a member
	// that depends on the record ends with its error. Garbage is replaced when the
	// record is written next, except for a barrier: the owner of its resource is
	// unknown, so the resource is not among Unowned, and no member takes it until an
	// operator repairs the barrier; Err says how. Records of members are in Member.Err.
	Unreadable []Unreadable
	// Waiting lists the resources that are assigned to one member, and owned by
	// another member or by none, in order.
	Waiting []Wait
	// Uncovered lists the resources that no live member subscribes to, in order:
	// they stay without an owner until a member joins that takes them. The list
	// is empty while the group has no member.
	Uncovered []string
	// Failing lists the resources that their owners retry after a failure (see
	// Options.RetryDelay), in order; for each member the first 100.
	Failing []Failure
}

// Member is a client of a group, as its znodes show it.
type Member struct {
	// Client is the name of the member's znode, ID its description, Instance the
	// id of a static member.
	Client, ID, Instance, Assignor, Zone string
	Weight                               int
	Subscription                         []string
	// Since is the time of the join, by the servers' clock.
	Since time.Time
	Gone  bool
	// Assigned is the number of resources in the member's shard. Owned has the
	// resources that the member owns, by name, each with the time of its
	// acquisition by the servers' clock; in global mode with the time of the
	// assignment.
	Assigned int
	Owned    map[string]time.Time
	// Missing, for a member with Options.StartWhenComplete, is the number of
	// resources in its shard that it does not own. Until the member owns them,
	// its new resources are idle.
	Missing int
	// Err is the reason why the member is given nothing: its record is not a record of this
	// package.
	Err error
}

// Unreadable is a record that this version of the package cannot read.
type Unreadable struct {
	Path     string // of the znode
	Resource string // whose barrier it is; "" for other records
	Err      error  // wraps ErrRecord
}

// Wait is a resource that moves.
type Wait struct {
	Resource string
	For      string // the client that it is assigned to
	On       string // the client that owns it; "" if it has no owner, or the owner is unknown
	Since    time.Time
}

// Status reads the group. In resource mode this takes a request per member and
// per resource, in flight together; in global mode one per member. The error
// wraps ErrNoGroup if the group does not exist.
func (a *Admin) Status(ctx context.Context) (Status, error) {
	a = a.orZero()
	st, err := a.readStatus(ctx)
	if err != nil {
		return st, failure(ctx, "read the status of", string(a.at), err)
	}
	return st, nil
}

// readStatus is Status without the operation in its error.
func (a *Admin) readStatus(ctx context.Context) (st Status, err error) {
	err = a.retryConflicts(ctx, func(p *memberNode) error {
		var v *view
		err := p.readFresh(ctx, func() error {
			v = &view{p: p, barriers: map[string]locktable.Entry{}}
			return v.readGroup(ctx)
		})
		if err == nil {
			st = v.deriveStatus()
		}
		return err
	})
	return st, err
}

// deriveStatus derives the status from the records.
func (v *view) deriveStatus() Status {
	st, members := v.st, map[string]*Member{}
	for name, c := range v.members.known {
		members[name] = &Member{
			Client: name, ID: c.record.ID, Instance: c.record.Instance, Assignor: c.record.Assignor, Zone: c.record.Zone,
			Weight: c.record.Weight, Subscription: c.record.Subscription, Since: serverTime(c.stat.Ctime), Err: c.err,
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
		if st.Mode == GlobalBarrier && !m.Gone && v.mayBeStarted(w.shard) {
			for _, r := range w.shard.Resources {
				m.Owned[r] = v.wrote
			}
		}
	}
	for name, b := range v.barriers {
		if b.Owner != "" {
			member(b.Owner).Owned[name] = b.Since
		}
	}
	st.Resources = len(v.all)
	v.deriveResources(&st, members)
	v.deriveMissing(members)
	st.Uncovered = v.findUncovered()
	for _, name := range sortedKeys(members) {
		st.Members = append(st.Members, *members[name])
	}
	slices.SortFunc(st.Unreadable, func(a, b Unreadable) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(st.Members, func(a, b Member) int {
		return cmp.Or(boolOrder(a.Gone, b.Gone), cmp.Compare(joinNumber(a), joinNumber(b)))
	})
	return st
}

// mayBeStarted reports whether what a shard says may be at work, in global mode.
func (v *view) mayBeStarted(s core.Shard) bool {
	return s.Generation < v.st.Generation || s.Generation == v.st.Generation && v.st.State != shareformat.States()[core.Stop]
}

// deriveResources derives the owners of the resources, and the resources that
// wait for their former owners.
func (v *view) deriveResources(st *Status, members map[string]*Member) {
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
		if owner[r] == "" && v.barriers[r].Err == nil {
			st.Unowned = append(st.Unowned, r)
		}
		if to := target[r]; to != "" && to != owner[r] {
			st.Waiting = append(st.Waiting, Wait{Resource: r, For: to, On: owner[r], Since: v.barriers[r].Since})
		}
	}
}

// deriveMissing counts the missing resources of members that start nothing before they
// own all.
func (v *view) deriveMissing(members map[string]*Member) {
	for _, w := range v.shards.has {
		if !v.members.known[w.shard.Client].record.StartWhenComplete {
			continue
		}
		m := members[w.shard.Client]
		for _, r := range w.shard.Resources {
			if _, owned := m.Owned[r]; !owned {
				m.Missing++
			}
		}
	}
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
