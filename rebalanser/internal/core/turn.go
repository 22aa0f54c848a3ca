package core

import (
	"maps"
	"slices"
)

// turn is what to begin now that something else may be wanted than before.
func (f *Follower) turn() []Action {
	all := slices.Collect(maps.Keys(f.phases.of))
	for _, r := range f.shard.Resources {
		if _, known := f.phases.of[r]; !known {
			all = append(all, r)
		}
	}
	return f.next(all)
}

// next is what to begin now that something has happened to rs.
func (f *Follower) next(rs []string) []Action {
	if f.left {
		return nil
	}
	out := f.judge(rs)
	out = append(out, f.call()...)
	out = append(out, f.tell()...)
	if f.quitting && len(f.phases.of) == 0 && !f.calling && f.ack == 0 {
		f.left = true
		out = append(out, Action{Kind: Leave})
	}
	return out
}

// judge compares where rs are with where they should be. Resources that a handler knows
// of are not touched here.
func (f *Follower) judge(rs []string) []Action {
	var release, abandon, acquire []string
	for _, r := range rs {
		phase, known := f.phases.of[r]
		switch wanted := f.wants(r); {
		case !known && wanted && f.granted():
			acquire = append(acquire, r)
		case !known || wanted:
			delete(f.doomed, r)
		case phase == Held:
			release = append(release, r)
		case phase == Acquiring:
			abandon = append(abandon, r)
		case phase == Running:
			f.doomed[r] = struct{}{}
		}
	}
	slices.Sort(release)
	slices.Sort(abandon)
	slices.Sort(acquire)
	for _, r := range acquire {
		f.phases.put(r, Acquiring)
	}
	if f.mode == Global {
		// There is nothing to be taken but what is granted, and nothing to be
		// given back that was not started.
		f.phases.move(acquire, Acquiring, Held)
		f.drop(release, Held)
		return nil
	}
	f.phases.move(release, Held, Releasing)
	f.phases.move(abandon, Acquiring, Abandoning)
	return slices.Concat(acting(Release, release), acting(Abandon, abandon), acting(Acquire, acquire))
}

// granted reports whether what the shard says may be taken. In global mode it is there
// to be taken when everybody has stopped for the generation of the shard: a shard that
// is newer than the status was written by a coordinator that has not stopped anybody.
func (f *Follower) granted() bool {
	return f.mode == Resource || f.status.State != Stop && f.shard.Generation <= f.status.Generation
}

// call calls a handler, if none is being called: first for what is to be given up,
// since somebody waits for that.
func (f *Follower) call() []Action {
	if f.calling {
		return nil
	}
	if len(f.doomed) > 0 {
		rs := slices.Sorted(maps.Keys(f.doomed))
		f.calling = true
		clear(f.doomed)
		f.phases.move(rs, Running, Revoking)
		return acting(Revoke, rs)
	}
	// In global mode nothing is started while others wait for this client to have
	// stopped: it would count as stopped, and run.
	if f.mode == Global && f.status.State == Stop {
		return nil
	}
	// With complete, nothing is started before the whole shard is owned. All held and
	// running resources here are wanted: the others were given back, or are doomed.
	if f.complete && len(f.phases.in[Held])+len(f.phases.in[Running]) < len(f.shard.Resources) {
		return nil
	}
	rs := f.phases.names(Held)
	f.calling = len(rs) > 0
	f.phases.move(rs, Held, Starting)
	return acting(Start, rs)
}

// tell says, in global mode, that all has been stopped that had to be, and takes it
// back when all has been started, or when it says nothing any more. One word is
// carried out before the next is given.
func (f *Follower) tell() []Action {
	if f.mode != Global || f.untelling || f.ack != 0 && !f.told {
		return nil
	}
	now := f.status
	if f.ack == 0 {
		if f.quitting || now.State != Stop || now.Generation == 0 || !f.stopped() {
			return nil
		}
		f.ack = now.Generation
		return []Action{{Kind: Ack, Generation: f.ack}}
	}
	if f.ack == now.Generation && !f.quitting && (now.State == Stop || !f.settled()) {
		return nil
	}
	f.untelling = true
	return []Action{{Kind: Unack, Generation: f.ack}}
}

// stopped reports whether this client has nothing that it should not have.
func (f *Follower) stopped() bool {
	for r := range f.phases.of {
		if !f.wants(r) {
			return false
		}
	}
	return true
}

// settled reports whether this client runs all that it should, and nothing else.
func (f *Follower) settled() bool {
	running := len(f.phases.in[Running])
	return running == len(f.phases.of) && running == len(f.shard.Resources) && len(f.doomed) == 0
}

// acting is an action on rs, none if there are none.
func acting(k Kind, rs []string) []Action {
	if len(rs) == 0 {
		return nil
	}
	return []Action{{Kind: k, Resources: rs}}
}
