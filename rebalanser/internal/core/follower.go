package core

import (
	"maps"
	"slices"
)

// Follower is one client node's life as an owner of resources. Its methods take the
// events, and return the actions to begin, in this order; they are not safe for
// concurrent use. With any shards, a resource is owned in [Held] to [Revoking] only,
// and no resource leaves these phases before its handler has returned.
type Follower struct {
	mode   Mode
	client string
	// complete: nothing is started before all that the shard names is owned.
	// Resource mode.
	complete bool

	shard    Shard  // the newest one that is meant for this client
	status   Status // global mode: the newest
	phases   *phases
	doomed   map[string]struct{} // the running resources that are not wanted
	calling  bool                // a handler is being called
	quitting bool                // nothing is wanted any more
	left     bool                // Leave was returned, or the client node was lost
	// Global mode: the generation for which this client has said that it has
	// stopped, or is about to say so; 0: none. told: that has been carried out.
	// untelling: it is being taken back.
	ack             int64
	told, untelling bool
}

// NewFollower makes the machine of a client node, which owns nothing yet. With complete
// it starts nothing before it owns all that its shard names; in global mode that is so
// in any case.
func NewFollower(mode Mode, client string, complete bool) *Follower {
	return &Follower{mode: mode, client: client, complete: complete && mode == Resource, phases: newPhases(), doomed: map[string]struct{}{}}
}

// Assignment tells the own shard, as it was read. Resource mode.
func (f *Follower) Assignment(s Shard) []Action {
	f.takeShard(s)
	return f.nextActions()
}

// Status tells the status, as it was read, and the own shard, which was read after
// it: so the shard is at least as new as the status. Global mode.
func (f *Follower) Status(st Status, s Shard) []Action {
	if !st.isBefore(f.status) {
		f.status = st
		f.takeShard(s)
	}
	return f.nextActions()
}

// takeShard notes a shard, unless it is older than the known shard. A shard for another
// client of this instance means that this client has been assigned nothing, or nothing any
// more; its generation does not count. The reason: when the shard with the highest
// generation is deleted, a new coordinator counts on from a lower generation, and a client
// that compared its own shards with the shard of its predecessor would ignore them. In
// resource mode, where a client reads only its own shard, in order, the last shard
// therefore counts, with any generation, unless it is missing.
func (f *Follower) takeShard(s Shard) {
	if s.Generation < f.shard.Generation && (f.mode == Global || s.Client == "") {
		return
	}
	if s.Client != f.client {
		s = Shard{Client: f.client, Generation: f.shard.Generation}
	}
	f.shard = s.sortResources()
}

// Acquired tells that barriers are held.
func (f *Follower) Acquired(rs []string) []Action {
	f.phases.moveResources(rs, Acquiring, Held)
	f.phases.moveResources(rs, Abandoning, Held)
	return f.nextActionsFor(rs)
}

// Abandoned tells that barriers are not held, and not being taken any more.
func (f *Follower) Abandoned(rs []string) []Action {
	f.dropResources(rs, Abandoning)
	return f.nextActionsFor(rs)
}

// Started tells that the handler of the last Start has returned.
func (f *Follower) Started(rs []string) []Action {
	f.calling = false
	f.phases.moveResources(rs, Starting, Running)
	return f.nextActionsFor(rs)
}

// Revoked tells that the handler of the last Revoke has returned.
func (f *Follower) Revoked(rs []string) []Action {
	f.calling = false
	if f.mode == Global {
		f.dropResources(rs, Revoking) // there is nothing to give back but the word of it
		return f.nextActionsFor(rs)
	}
	// Resources that were lost meanwhile must not be released by this client.
	rs = slices.DeleteFunc(slices.Sorted(slices.Values(rs)), func(r string) bool {
		now, known := f.phases.of[r]
		return !known || now != Revoking
	})
	f.phases.moveResources(rs, Revoking, Releasing)
	return append(actionOn(Release, rs), f.nextActionsFor(rs)...)
}

// Released tells that barriers have been given back.
func (f *Follower) Released(rs []string) []Action {
	f.dropResources(rs, Releasing)
	return f.nextActionsFor(rs)
}

// Acked tells that an Ack has been carried out.
func (f *Follower) Acked(generation int64) []Action {
	if generation == f.ack {
		f.told = true
	}
	return f.nextActionsFor(nil)
}

// Unacked tells that an Unack has been carried out.
func (f *Follower) Unacked(generation int64) []Action {
	if generation == f.ack {
		f.ack, f.told, f.untelling = 0, false, false
	}
	return f.nextActionsFor(nil)
}

// Quit tells that this client wants to leave: it gives up everything in order, and
// then returns Leave.
func (f *Follower) Quit() []Action {
	f.quitting = true
	return f.nextActions()
}

// Lost ends the machine, with the client node: nothing is owned any more. It returns
// what the handlers know of.
func (f *Follower) Lost() []string {
	rs := slices.Concat(f.phases.namesIn(Starting), f.phases.namesIn(Running), f.phases.namesIn(Revoking))
	slices.Sort(rs)
	f.phases, f.left = newPhases(), true
	clear(f.doomed)
	return rs
}

// Phases says where each resource is.
func (f *Follower) Phases() map[string]Phase { return maps.Clone(f.phases.of) }

// Newest is the generation of the shard, and the number of its resources; settled if
// this client runs all of them, and has nothing else.
func (f *Follower) Newest() (generation int64, resources int, settled bool) {
	return f.shard.Generation, len(f.shard.Resources), f.isSettled()
}

// Missing is how many resources the shard names that are not owned yet, if nothing else
// is started before they are.
func (f *Follower) Missing() int {
	if !f.complete || f.quitting {
		return 0
	}
	n := 0
	for _, r := range f.shard.Resources {
		switch phase, known := f.phases.of[r]; {
		case known && (phase == Held || phase == Starting || phase == Running):
		default:
			n++
		}
	}
	return n
}

// Unwanted reports whether something that the handler is being told of now, as
// assigned, is not wanted any more.
func (f *Follower) Unwanted() bool {
	for r := range f.phases.in[Starting] {
		if !f.wantsResource(r) {
			return true
		}
	}
	return false
}

// Wanted reports whether something that the handler is being told of now, as assigned,
// is wanted still.
func (f *Follower) Wanted() bool {
	for r := range f.phases.in[Starting] {
		if f.wantsResource(r) {
			return true
		}
	}
	return false
}

// wantsResource reports whether r shall be owned, as far as this client knows.
func (f *Follower) wantsResource(r string) bool { return !f.quitting && f.shard.hasResource(r) }

// dropResources forgets those of rs that are in the phase from.
func (f *Follower) dropResources(rs []string, from Phase) {
	for _, r := range rs {
		if now, known := f.phases.of[r]; known && now == from {
			f.phases.dropResource(r)
		}
	}
}
