package rebalanser

import (
	"context"
	"fmt"
	"maps"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// candidate is a client, as its node shows it; err is set if its record cannot be
// read.
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

// updateClients notes which clients exist, and reads the new ones.
func (r *members) updateClients(ctx context.Context, names []string) error {
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
	return r.p.readAll(ctx, fresh, r.p.at.clientPath, func(name string, seen session.Seen) {
		if !seen.Exists {
			return // it has gone meanwhile
		}
		c := candidate{name: name, stat: seen.Stat}
		if c.record, c.err = decodeMember(r.mode, r.p.at.clientPath(name), seen.Data); seen.Stat.EphemeralOwner == 0 {
			c.err = fmt.Errorf("%w: it does not go with a session", ErrRecord)
		}
		r.known[name] = c
	})
}

// shardKey is the name of the candidate's shard.
func (c *candidate) shardKey() string {
	if c.record.Instance != "" {
		return c.record.Instance
	}
	return c.name
}

// coreMembers are the members, for the machine.
func (r *members) coreMembers() []core.Member {
	var out []core.Member
	for _, name := range sortedKeys(r.known) {
		c := r.known[name]
		if c.err != nil {
			out = append(out, core.Member{Client: c.name, Barred: true})
			continue
		}
		out = append(out, core.Member{
			Client: c.name, Key: c.shardKey(), Static: c.record.Instance != "",
			Weight: c.record.Weight, Zone: c.record.Zone, Subscription: c.record.Subscription,
		})
	}
	return out
}

// readDeltas reports whether all members read shards that have the difference to a base. A
// member whose record cannot be read is given nothing, and an empty shard has no base.
func (r *members) readDeltas() bool {
	for _, c := range r.known {
		if c.err == nil && c.record.Shards < shareformat.FormatDelta {
			return false
		}
	}
	return true
}

// clientNames are the members' names. A member whose record cannot be read is one of them: it
// may be working on resources that another coordinator has assigned to it.
func (r *members) clientNames() []string { return sortedKeys(r.known) }

// isAlive reports whether there is such a client.
func (r *members) isAlive(name string) bool {
	_, known := r.known[name]
	return known
}

// joinNumber is a client's place in the order in which they joined.
func joinNumber(m Member) int32 {
	n, err := session.Sequence(m.Client)
	if err != nil {
		return -1 // none of ours
	}
	return n
}
