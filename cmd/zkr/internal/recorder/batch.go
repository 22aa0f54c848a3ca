package recorder

import (
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/session"
)

// takeChanges takes what has come since the last call.
func (r *Recorder) takeChanges() error {
	entries, full, stopped := r.in.take()
	if full {
		if err := r.flushAll(); err != nil {
			return err
		}
		return errBehind
	}
	if stopped {
		r.pending = time.Time{} // its changes may come after the next beat
	}
	for _, e := range entries {
		switch {
		case e.snapshot != nil:
			if err := r.rebase(e.snapshot, e.at); err != nil {
				return err
			}
			r.based, r.why = true, errBehind.Error()
		case r.based: // a pause before the snapshot is in its gap
			r.addChange(e)
		}
	}
	return nil
}

// rebase begins the recording with a snapshot, or records the differences from the state
// recorded before.
func (r *Recorder) rebase(snapshot *cache.Snapshot[*recording.Znode], now time.Time) error {
	if err := r.commit(); err != nil {
		return err
	}
	at, before := recording.Moment(now), r.w.State()
	next := stateOf(snapshot, before)
	e := Event{Kind: "recording"}
	var err error
	switch {
	case r.resume != "":
		e.After, e.Why = r.w.Reached(), r.explainGap(r.resume, next)
		err = r.w.Resume(next, at, e.Why)
	case before == nil:
		if e.After = r.w.Earlier(); !e.After.IsZero() {
			e.Why = "the recorder did not run"
		}
		err = r.w.Start(next, at)
	default:
		e.After, e.Why = recording.Moment(r.proof), r.explainGap(r.why, next)
		differences := before.Differences(next, at, e.After)
		r.changes += len(differences)
		all := append([]*recording.Record{{Kind: recording.Gap, At: at, After: e.After, Why: e.Why}}, differences...)
		err = r.w.Append(append(all, &recording.Record{Kind: recording.Alive, At: at})...)
	}
	if err == nil {
		err = r.w.Flush()
	}
	if err != nil {
		return err
	}
	r.resume, r.full, r.refused = "", false, false
	r.proof, r.noted = now, now
	r.notify(e)
	return nil
}

// stateOf is the state of a snapshot. Of znodes that may not be read, the state before is kept.
func stateOf(snapshot *cache.Snapshot[*recording.Znode], before *recording.State) *recording.State {
	return recording.NewState(func(yield func(*recording.Znode) bool) {
		for e := range snapshot.All() {
			z := e.Value
			if e.Err != nil || z == nil { // it exists, but may not be read
				if before == nil {
					continue
				}
				if z = before.Lookup(e.Path); z == nil {
					continue
				}
			}
			if !yield(z) {
				return
			}
		}
	})
}

// explainGap adds to the reason of a gap whether the servers have gone back.
func (r *Recorder) explainGap(why string, next *recording.State) string {
	switch {
	case r.w.State().IsNewerThan(next):
		return why + "; " + recording.WentBack
	case r.refused:
		return why + "; " + session.ErrRefused.Error()
	}
	return why
}

// addChange takes a change into the batch.
func (r *Recorder) addChange(e entry) {
	if e.late {
		e.record.After, e.record.Ordered = recording.Moment(r.proof), true
	}
	if len(r.batch) == 0 {
		r.first = e.at
	}
	r.newest = e.at
	r.batch, r.held = append(r.batch, e.record), r.held+e.size
}

// writeDue writes the batch if it is complete, and what is proven.
func (r *Recorder) writeDue() error {
	if err := r.w.Check(); err != nil {
		return err
	}
	now := r.clock.now()
	if len(r.batch) > 0 && (now.Sub(r.newest) >= calm || now.Sub(r.first) >= longest) {
		if err := r.commit(); err != nil {
			return err
		}
	}
	if len(r.batch) == 0 && r.pending.After(r.proof) {
		r.proof = r.pending
		r.in.catchUp(r.proof)
	}
	// The view has everything up to this moment, and its events come before the next beat.
	r.pending = r.clock.convert(r.tree.Status().AsOf)
	if err := r.writeProofs(); err != nil {
		return err
	}
	var e Event
	r.fill(&e)
	r.o.Progress(e)
	return r.w.Flush()
}

// writeProofs writes up to when nothing is missing, and whether the clock was set back.
func (r *Recorder) writeProofs() error {
	if r.w.State() == nil {
		return nil
	}
	if rec := r.clock.takeSetBack(); rec != nil {
		if err := r.w.Append(rec); err != nil {
			return err
		}
		r.notify(Event{Kind: "clock", Why: rec.Why})
	}
	if r.proof.Sub(r.noted) < proofs {
		return nil
	}
	if err := r.w.Append(&recording.Record{Kind: recording.Alive, At: recording.Moment(r.proof)}); err != nil {
		return err
	}
	r.noted = r.proof
	return nil
}

// flushAll writes the whole batch.
func (r *Recorder) flushAll() error {
	if err := r.commit(); err != nil {
		return err
	}
	return r.w.Flush()
}

// commit hands the batch to the writer.
func (r *Recorder) commit() error {
	if len(r.batch) == 0 {
		return nil
	}
	batch := r.effective()
	r.markSessions(batch)
	r.in.release(r.held)
	r.batch, r.held = nil, 0
	for _, rec := range batch {
		if rec.Kind != recording.Gap {
			r.changes++
		}
	}
	return r.w.Append(batch...)
}

// effective is the batch without changes that change nothing: the deletion of a znode that could
// never be read, and a znode that may be read again.
func (r *Recorder) effective() (out []*recording.Record) {
	seen := map[string]bool{} // changed by the batch itself
	for _, rec := range r.batch {
		if rec.Kind == recording.Gap {
			out = append(out, rec)
			continue
		}
		if z := r.w.State().Lookup(rec.Path); !seen[rec.Path] {
			if rec.Kind == recording.Gone && z == nil || rec.Kind == recording.Set && z != nil && z.Stat == *rec.Stat {
				continue
			}
		}
		seen[rec.Path] = true
		out = append(out, rec)
	}
	return out
}

// markSessions marks the deletions of all ephemeral znodes of a session. Late changes may have
// happened at different moments.
func (r *Recorder) markSessions(batch []*recording.Record) {
	owned, gone := map[int64]int{}, map[int64][]*recording.Record{}
	owners := map[string]int64{} // of znodes that the batch has created
	if slices.ContainsFunc(batch, func(rec *recording.Record) bool { return !rec.After.IsZero() }) {
		return
	}
	for _, rec := range batch {
		owner, created := owners[rec.Path]
		if z := r.w.State().Lookup(rec.Path); !created && z != nil {
			owner = z.Stat.Owner
		}
		if rec.Kind == recording.Set {
			if rec.Stat.Owner != owner {
				owned[rec.Stat.Owner]++
			}
			owners[rec.Path] = rec.Stat.Owner
			continue
		}
		owned[owner]--
		gone[owner] = append(gone[owner], rec)
		owners[rec.Path] = 0
	}
	for owner, records := range gone {
		if owner == 0 || len(records) < 2 || r.w.State().Owned(owner)+owned[owner] != 0 {
			continue
		}
		for _, rec := range records {
			rec.WithSession = true
		}
	}
}
