package core

import "slices"

// plain is a Follower that inspects its whole state at each event, and keeps a
// single map: too slow for tens of thousands of resources, but obviously
// correct.
type plain struct {
	mode     Mode
	client   string
	complete bool
	shard    Shard
	status   Status
	phases   map[string]Phase
	calling  bool
	quitting bool
	left     bool
	ack      int64
	told     bool
	untold   bool
}

func (p *plain) wants(r string) bool {
	return !p.quitting && slices.Contains(p.shard.Resources, r)
}

// in lists the resources in one of these phases, wanted or not.
func (p *plain) in(wanted bool, phases ...Phase) (out []string) {
	for r, now := range p.phases {
		if p.wants(r) == wanted && slices.Contains(phases, now) {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return out
}

func (p *plain) put(rs []string, to Phase) {
	for _, r := range rs {
		p.phases[r] = to
	}
}

// shift moves those of rs that are in the phase from; to < 0 forgets them.
func (p *plain) shift(rs []string, from, to Phase) (moved []string) {
	for _, r := range rs {
		if now, known := p.phases[r]; known && now == from {
			moved = append(moved, r)
			if p.phases[r] = to; to < 0 {
				delete(p.phases, r)
			}
		}
	}
	slices.Sort(moved)
	return moved
}

func (p *plain) tell(q event) []Action {
	switch q.verb {
	case "shard":
		if p.status = q.status; q.shard.Generation >= p.shard.Generation || p.mode == Resource && q.shard.Client != "" {
			if q.shard.Client == p.client {
				p.shard = q.shard
			} else {
				p.shard.Client, p.shard.Resources = p.client, nil
			}
		}
	case "acquired":
		p.shift(q.rs, Acquiring, Held)
		p.shift(q.rs, Abandoning, Held)
	case "abandoned":
		p.shift(q.rs, Abandoning, -1)
	case "started":
		p.calling = false
		p.shift(q.rs, Starting, Running)
	case "revoked":
		p.calling = false
		if p.mode == Global {
			p.shift(q.rs, Revoking, -1)
			return p.next()
		}
		return append(actionOn(Release, p.shift(q.rs, Revoking, Releasing)), p.next()...)
	case "released":
		p.shift(q.rs, Releasing, -1)
	case "acked":
		p.told = true
	case "unacked":
		p.ack, p.told, p.untold = 0, false, false
	case "quit":
		p.quitting = true
	}
	return p.next()
}

func (p *plain) next() (out []Action) {
	if p.left {
		return nil
	}
	stop := p.mode == Global && p.status.State == Stop
	if rs := p.in(false, Held); p.mode == Global {
		p.shift(rs, Held, -1)
	} else {
		p.put(rs, Releasing)
		out = append(out, actionOn(Release, rs)...)
	}
	rs := p.in(false, Acquiring)
	p.put(rs, Abandoning)
	out = append(out, actionOn(Abandon, rs)...)
	if !p.quitting && (p.mode == Resource || !stop && p.shard.Generation <= p.status.Generation) {
		var rs []string
		for _, r := range p.shard.Resources {
			if _, known := p.phases[r]; !known {
				rs = append(rs, r)
			}
		}
		if p.put(rs, Acquiring); p.mode == Global {
			p.put(rs, Held)
		} else {
			out = append(out, actionOn(Acquire, rs)...)
		}
	}
	if !p.calling {
		kind, rs := Revoke, p.in(false, Running)
		owned := len(p.in(true, Held, Running)) == len(p.shard.Resources)
		if len(rs) == 0 && !stop && (owned || !p.complete) {
			kind, rs = Start, p.in(true, Held)
		}
		p.put(rs, map[Kind]Phase{Start: Starting, Revoke: Revoking}[kind])
		p.calling = len(rs) > 0
		out = append(out, actionOn(kind, rs)...)
	}
	if p.mode == Global {
		out = append(out, p.say(stop)...)
	}
	if p.quitting && len(p.phases) == 0 && !p.calling && p.ack == 0 {
		p.left = true
		out = append(out, Action{Kind: Leave})
	}
	return out
}

func (p *plain) say(stop bool) []Action {
	unwanted := p.in(false, Acquiring, Abandoning, Held, Starting, Running, Revoking, Releasing)
	running := p.in(true, Running)
	settled := len(running) == len(p.phases) && len(running) == len(p.shard.Resources)
	switch {
	case p.untold || p.ack != 0 && !p.told:
	case p.ack == 0 && stop && !p.quitting && p.status.Generation > 0 && len(unwanted) == 0:
		p.ack = p.status.Generation
		return []Action{{Kind: Ack, Generation: p.ack}}
	case p.ack != 0 && (p.quitting || p.ack != p.status.Generation || !stop && settled):
		p.untold = true
		return []Action{{Kind: Unack, Generation: p.ack}}
	}
	return nil
}
