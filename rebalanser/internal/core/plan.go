package core

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// Plan is a computation of the members' resources. It has the inputs of one moment, which
// never change: the coordinator goes on while another goroutine computes.
type Plan struct {
	cfg        Config
	at         time.Time
	generation int64
	current    map[string]Shard
	members    map[string]Member
	resources  []string
	gone       map[string]time.Time
	force      bool
	room       int // how many resources may be taken from live members; 0: any number
}

// Result is what a plan computes: the write to make, and the shards after that write; or
// why there is none.
type Result struct {
	write  *Write
	shards map[string]Shard
	err    error
}

// newPlan returns the plan for the present inputs. The coordinator replaces members,
// resources and shards as a whole, and changes none of them.
func (c *Coordinator) newPlan(now time.Time) *Plan {
	p := &Plan{
		cfg: c.cfg, at: now, generation: c.highestGeneration() + 1, current: c.current, members: c.members,
		resources: c.resources, gone: maps.Clone(c.gone), force: c.force,
	}
	if c.cfg.MaxMoves > 0 {
		if p.room = c.cfg.MaxMoves - len(c.moves); p.room <= 0 {
			p.room = -1 // 0 would mean no limit
		}
	}
	return p
}

// Compute computes the plan. If ctx ends meanwhile, and the assignor heeds it, the result is
// an error.
func (p *Plan) Compute(ctx context.Context) Result {
	w, shards, err := p.planShares(ctx)
	return Result{w, shards, err}
}

// isExpected reports whether the member of key, which has gone, may still come back to
// its assignment.
func (p *Plan) isExpected(key string) bool {
	since, gone := p.gone[key]
	return gone && p.current[key].Client != key && p.at.Before(since.Add(p.cfg.DepartureDelay))
}

// planShares shares the resources out. It returns the write to make, and the shards after
// that write. Members that are expected back keep their resources, whatever the others
// get.
func (p *Plan) planShares(ctx context.Context) (*Write, map[string]Shard, error) {
	w := &Write{Generation: p.generation, Set: map[string]Shard{}}
	plan, reserved := map[string]Shard{}, map[string]bool{}
	for key, was := range p.current {
		switch _, alive := p.members[key]; {
		case alive:
		case p.isExpected(key):
			plan[key] = was
			for _, r := range was.Resources {
				reserved[r] = true
			}
		default:
			w.Delete = append(w.Delete, key)
		}
	}
	slices.Sort(w.Delete)
	// Two shards may have the same resource if a coordinator was lost while it
	// wrote them. Then a live member takes precedence over a member that may
	// come back.
	for key := range p.members {
		for _, r := range p.current[key].Resources {
			delete(reserved, r)
		}
	}
	ms := p.sharingMembers()
	shares, err := p.assignShares(ctx, ms, reserved)
	if err != nil {
		return nil, nil, err
	}
	var spare []string
	for i, m := range ms {
		was, known := p.current[m.Key]
		s := Shard{Client: p.members[m.Key].Client, Generation: w.Generation, Resources: shares[i]}
		if known && s.Client == was.Client && slices.Equal(s.Resources, was.Resources) {
			plan[m.Key] = was
			continue
		}
		if plan[m.Key] = s; !known && len(s.Resources) == 0 {
			spare = append(spare, m.Key)
			continue
		}
		w.Set[m.Key] = s
	}
	p.emptyBarred(w, plan)
	// A member that gets nothing gets a shard as well, along with the other shards:
	// the member may be working on an assignment whose shard was deleted by hand.
	if len(w.Set) > 0 || len(w.Delete) > 0 || p.force {
		for _, key := range spare {
			w.Set[key] = plan[key]
		}
	}
	return w, plan, nil
}

// emptyBarred takes from barred members what they were assigned.
func (p *Plan) emptyBarred(w *Write, plan map[string]Shard) {
	for key, m := range p.members {
		if !m.Barred {
			continue
		}
		if plan[key] = p.current[key]; len(plan[key].Resources) > 0 {
			plan[key] = Shard{Client: m.Client, Generation: w.Generation}
			w.Set[key] = plan[key]
		}
	}
}

// assignShares returns the resources of each of ms, without the reserved ones.
func (p *Plan) assignShares(ctx context.Context, ms []assignor.Member, reserved map[string]bool) ([][]string, error) {
	rs := make([]assignor.Resource, 0, len(p.resources))
	for _, name := range p.resources {
		if !reserved[name] {
			rs = append(rs, assignor.Resource{Name: name})
		}
	}
	out, err := p.assign(ctx, ms, rs)
	if err != nil || p.room == 0 {
		return out, err
	}
	return assignor.Limit(ms, out, p.room), nil
}

// assign calls the assignor, and checks what it returns.
func (p *Plan) assign(ctx context.Context, ms []assignor.Member, rs []assignor.Resource) ([][]string, error) {
	var out [][]string
	if a, may := p.cfg.Assignor.(assignor.ContextAssignor); may {
		var err error
		if out, err = a.AssignContext(ctx, ms, rs); err != nil {
			return nil, err
		}
	} else {
		out = p.cfg.Assignor.Assign(ms, rs)
	}
	if p.trustsAssignor() {
		return out, nil
	}
	return out, assignor.Check(ms, rs, out)
}

// trustsAssignor reports whether the assignor is one of ours, whose results need no check.
func (p *Plan) trustsAssignor() bool {
	ours, err := assignor.ByName(p.cfg.Assignor.Name())
	return err == nil && ours == p.cfg.Assignor
}

// sharingMembers returns the members that share the resources, in the order of
// their keys.
func (p *Plan) sharingMembers() []assignor.Member {
	var ms []assignor.Member
	for _, key := range slices.Sorted(maps.Keys(p.members)) {
		m := p.members[key]
		if m.Barred {
			continue
		}
		ms = append(ms, assignor.Member{
			Key: key, Weight: m.Weight, Zone: m.Zone, Subscription: m.Subscription, Held: p.current[key].Resources,
		})
	}
	return ms
}
