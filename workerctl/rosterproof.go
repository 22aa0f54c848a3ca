package workerctl

import (
	"maps"
	"time"
)

// rosterProof is a proof in progress that the view shows all that was known at a time. Without a
// persistent watch, a list is wanted again as soon as one more worker comes or goes, so that a
// view of many workers is never complete. But a round with all wanted lists shows all that was
// known when it was sent, once the members are decided that are to be read then.
type rosterProof struct {
	asOf time.Time
	// ids are the members that are not decided; nil before the lists are answered.
	ids map[int]struct{}
}

// beginProof begins a proof with the round that is about to be sent.
func (r *rosterRun) beginProof() {
	if st := r.state; st.plain && st.wantsLists() {
		r.proofs = append(r.proofs, &rosterProof{asOf: r.heard})
	}
}

// awaitsMembers reports whether there are members to read for a proof, before more lists.
func (r *rosterRun) awaitsMembers() bool {
	return len(r.proofs) > 0 && len(r.state.dirty) > 0
}

// noteDecided notes that the view shows a member as it was when it was read, or has none.
func (r *rosterRun) noteDecided(id int) {
	for _, p := range r.proofs {
		delete(p.ids, id)
	}
}

// checkProofs is called when a round is answered.
func (r *rosterRun) checkProofs() {
	st := r.state
	rest := r.proofs[:0]
	for _, p := range r.proofs {
		if p.ids == nil {
			if st.wantMembers {
				continue // the status has told of more
			}
			p.ids = maps.Clone(st.dirty)
			for id := range st.suspects {
				p.ids[id] = struct{}{}
			}
		}
		if len(p.ids) > 0 {
			rest = append(rest, p)
			continue
		}
		st.loading = false
		r.announceRound(p.asOf)
	}
	clear(r.proofs[len(rest):])
	r.proofs = rest
}
