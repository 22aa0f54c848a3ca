package rebalanser

import (
	"context"
	"fmt"
	"maps"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
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

// members are the clients of the group. A client's record never changes, so each is read once.
type members struct {
	p     *memberNode
	mode  Mode
	known map[string]candidate
}

// update notes which clients exist, and reads the new ones.
func (r *members) update(ctx context.Context, names []string) error {
	here := map[string]bool{}
	var fresh []string
	for _, name := range names {
		if !shareformat.IsClient(name) {
			continue // a stranger
		}
		here[name] = true
		if _, known := r.known[name]; !known {
			fresh = append(fresh, name)
		}
	}
	maps.DeleteFunc(r.known, func(name string, _ candidate) bool { return !here[name] })
	return r.p.readAll(ctx, fresh, r.p.at.client, func(name string, seen session.Seen) {
		if !seen.Exists {
			return // it has gone meanwhile
		}
		c := candidate{name: name, stat: seen.Stat}
		if c.record, c.err = decodeMember(r.mode, r.p.at.client(name), seen.Data); seen.Stat.EphemeralOwner == 0 {
			c.err = fmt.Errorf("%w: it does not go with a session", ErrRecord)
		}
		r.known[name] = c
	})
}

// key is what the candidate's shard is called.
func (c *candidate) key() string {
	if c.record.Instance != "" {
		return c.record.Instance
	}
	return c.name
}

// all are the members, for the machine.
func (r *members) all() []core.Member {
	var out []core.Member
	for _, name := range sorted(r.known) {
		c := r.known[name]
		if c.err != nil {
			out = append(out, core.Member{Client: c.name, Barred: true})
			continue
		}
		out = append(out, core.Member{
			Client: c.name, Key: c.key(), Static: c.record.Instance != "",
			Weight: c.record.Weight, Zone: c.record.Zone, Subscription: c.record.Subscription,
		})
	}
	return out
}

// clients are the members' names. A member whose record cannot be read is one of them: it
// may be at work with what another coordinator has assigned to it.
func (r *members) clients() []string { return sorted(r.known) }

// alive reports whether there is such a client.
func (r *members) alive(name string) bool {
	_, known := r.known[name]
	return known
}

// number is a client's place in the order in which they joined.
func number(m Member) int32 {
	n, err := session.Sequence(m.Client)
	if err != nil {
		return -1 // none of ours
	}
	return n
}
