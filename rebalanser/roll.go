package rebalanser

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// candidate is a client, as its node shows it; err is what is wrong with its record.
type candidate struct {
	name   string
	record memberRecord
	err    error
	stat   session.Stat
}

// roll is who the clients are. A client's record never changes, so each is read once.
type roll struct {
	p     *seat
	mode  Mode
	known map[string]candidate
}

// call notes who is there, and reads those who are new.
func (r *roll) call(ctx context.Context, names []string) error {
	here := map[string]bool{}
	var fresh []string
	for _, name := range names {
		if !isClient(name) {
			continue // a stranger
		}
		here[name] = true
		if _, known := r.known[name]; !known {
			fresh = append(fresh, name)
		}
	}
	maps.DeleteFunc(r.known, func(name string, _ candidate) bool { return !here[name] })
	for part := range batches(fresh, window, maxTxn, func(n string) int { return len(n) }) {
		futures := make([]*session.Future[session.Seen], len(part))
		for i, name := range part {
			futures[i] = r.p.s.StartGet(r.p.at.client(name), false)
		}
		err := answers(ctx, futures, func(i int, seen session.Seen, there bool) {
			if !there {
				return // it has gone meanwhile
			}
			c := candidate{name: part[i], stat: seen.Stat}
			if c.record, c.err = decodeMember(r.mode, seen.Data); seen.Stat.EphemeralOwner == 0 {
				c.err = fmt.Errorf("%w: it does not go with a session", ErrRecord)
			}
			r.known[c.name] = c
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// key is what the candidate's shard is called.
func (c *candidate) key() string {
	if c.record.Instance != "" {
		return c.record.Instance
	}
	return c.name
}

// members are those who can be given something.
func (r *roll) members() []core.Member {
	var out []core.Member
	for _, name := range slices.Sorted(maps.Keys(r.known)) {
		c := r.known[name]
		if c.err != nil {
			continue
		}
		out = append(out, core.Member{
			Client: c.name, Key: c.key(), Static: c.record.Instance != "",
			Weight: c.record.Weight, Zone: c.record.Zone, Subscription: c.record.Subscription,
		})
	}
	return out
}

// clients are the members' names.
func (r *roll) clients() []string {
	var out []string
	for _, m := range r.members() {
		out = append(out, m.Client)
	}
	return out
}

// alive reports whether there is such a client.
func (r *roll) alive(name string) bool {
	_, known := r.known[name]
	return known
}
