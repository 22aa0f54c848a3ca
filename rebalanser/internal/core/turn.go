package core

import (
	"maps"
	"slices"
)

// nextActions returns the actions to begin after the wanted resources may have
// changed.
func (f *Follower) nextActions() []Action {
	all := slices.Collect(maps.Keys(f.phases.of))
	for _, r := range f.shard.Resources {
		if _, known := f.phases.of[r]; !known {
			all = append(all, r)
		}
	}
	return f.nextActionsFor(all)
}

// nextActionsFor returns the actions to begin after an event about rs.
func (f *Follower) nextActionsFor(rs []string) []Action {
	if f.left {
		return nil
	}
	out := f.judgeResources(rs)
	out = append(out, f.startNextCall()...)
	out = append(out, f.tellBarriers()...)
	if f.quitting && len(f.phases.of) == 0 && !f.calling && f.ack == 0 {
		f.left = true
		out = append(out, Action{Kind: Leave})
	}
	return out
}

// judgeResources compares where rs are with where they should be. Resources that a handler knows
// of are not touched here.
func (f *Follower) judgeResources(rs []string) []Action {
	var release, abandon, acquire []string
	for _, r := range rs {
		phase, known := f.phases.of[r]
		switch wanted := f.wantsResource(r); {
		case !known && wanted && f.isGranted():
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
		f.phases.putResource(r, Acquiring)
	}
	if f.mode == Global {
		// There is nothing to be taken but what is granted, and nothing to be
		// given back that was not started.
		f.phases.moveResources(acquire, Acquiring, Held)
		f.dropResources(release, Held)
		return nil
	}
	f.phases.moveResources(release, Held, Releasing)
	f.phases.moveResources(abandon, Acquiring, Abandoning)
	return slices.Concat(actionOn(Release, release), actionOn(Abandon, abandon), actionOn(Acquire, acquire))
}

// isGranted reports whether the resources of the shard may be taken. In global mode
// they may be taken when all members have stopped for the generation of the shard: a
// shard newer than the status was written by a coordinator that has not stopped any
// member yet.
func (f *Follower) isGranted() bool {
	return f.mode == Resource || f.status.State != Stop && f.shard.Generation <= f.status.Generation
}

// startNextCall calls a handler, if no call is in progress: first for resources to give up,
// since another member waits for them.
func (f *Follower) startNextCall() []Action {
	if f.calling {
		return nil
	}
	if len(f.doomed) > 0 {
		rs := slices.Sorted(maps.Keys(f.doomed))
		f.calling = true
		clear(f.doomed)
		f.phases.moveResources(rs, Running, Revoking)
		return actionOn(Revoke, rs)
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
	rs := f.phases.namesIn(Held)
	f.calling = len(rs) > 0
	f.phases.moveResources(rs, Held, Starting)
	return actionOn(Start, rs)
}

// tellBarriers says, in global mode, that all has been stopped that had to be, and takes it
// back when all has been started, or when it says nothing any more. One word is
// carried out before the next is given.
func (f *Follower) tellBarriers() []Action {
	if f.mode != Global || f.untelling || f.ack != 0 && !f.told {
		return nil
	}
	now := f.status
	if f.ack == 0 {
		if f.quitting || now.State != Stop || now.Generation == 0 || !f.isStopped() {
			return nil
		}
		f.ack = now.Generation
		return []Action{{Kind: Ack, Generation: f.ack}}
	}
	if f.ack == now.Generation && !f.quitting && (now.State == Stop || !f.isSettled()) {
		return nil
	}
	f.untelling = true
	return []Action{{Kind: Unack, Generation: f.ack}}
}

// isStopped reports whether this client has nothing that it should not have.
func (f *Follower) isStopped() bool {
	for r := range f.phases.of {
		if !f.wantsResource(r) {
			return false
		}
	}
	return true
}

// isSettled reports whether this client runs all that it should, and nothing else.
func (f *Follower) isSettled() bool {
	running := len(f.phases.in[Running])
	return running == len(f.phases.of) && running == len(f.shard.Resources) && len(f.doomed) == 0
}

// actionOn is an action on rs, or no action without resources.
func actionOn(k Kind, rs []string) []Action {
	if len(rs) == 0 {
		return nil
	}
	return []Action{{Kind: k, Resources: rs}}
}
