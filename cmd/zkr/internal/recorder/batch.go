package recorder

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
)

// rebase begins the recording with a snapshot, or records the differences from the state
// recorded before.
func (r *Recorder) rebase(snapshot *cache.Snapshot[*recording.Znode], why string) error {
	if err := r.commit(); err != nil {
		return err
	}
	now := time.Now()
	at, before := recording.Moment(now), r.w.State()
	next := recording.NewState(func(yield func(*recording.Znode) bool) {
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
	e := Event{Kind: "recording"}
	var err error
	if before == nil {
		if e.After = r.w.Earlier(); !e.After.IsZero() {
			e.Why = "the recorder did not run"
		}
		err = r.w.Start(next, at)
	} else {
		e.After, e.Why = recording.Moment(r.proof), why
		differences := before.Differences(next, at, e.After)
		r.changes += len(differences)
		all := append([]*recording.Record{{Kind: recording.Gap, At: at, After: e.After, Why: why}}, differences...)
		err = r.w.Append(append(all, &recording.Record{Kind: recording.Alive, At: at})...)
	}
	if err == nil {
		err = r.w.Flush()
	}
	if err != nil {
		return err
	}
	r.proof, r.noted = now, now
	r.notify(e)
	return nil
}

// addChange takes a change into the batch.
func (r *Recorder) addChange(ev cache.Event[*recording.Znode]) {
	now := time.Now()
	at := recording.Moment(now)
	switch {
	case ev.Kind == cache.EventRemoved:
		r.batch = append(r.batch, &recording.Record{Kind: recording.Gone, At: at, Path: ev.Path()})
	case ev.New.Err != nil || ev.New.Value == nil: // it exists, but may not be read
		return
	default:
		r.batch = append(r.batch, ev.New.Value.SetRecord(at))
	}
	if r.newest = now; len(r.batch) == 1 {
		r.first = now
	}
}

// writeDue writes the batch if it is complete, and what is proven.
func (r *Recorder) writeDue() error {
	now := time.Now()
	if len(r.batch) > 0 && (now.Sub(r.newest) >= calm || now.Sub(r.first) >= longest) {
		if err := r.commit(); err != nil {
			return err
		}
	}
	if len(r.batch) == 0 && r.pending.After(r.proof) {
		r.proof = r.pending
	}
	// The view has everything up to this moment, and its events come before the next beat.
	r.pending = r.tree.Status().AsOf
	if r.w.State() != nil && r.proof.Sub(r.noted) >= proofs {
		if err := r.w.Append(&recording.Record{Kind: recording.Alive, At: recording.Moment(r.proof)}); err != nil {
			return err
		}
		r.noted = r.proof
	}
	var e Event
	r.fill(&e)
	r.o.Progress(e)
	return r.w.Flush()
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
	r.batch = nil
	r.changes += len(batch)
	return r.w.Append(batch...)
}

// effective is the batch without changes that change nothing: the deletion of a znode that could
// never be read, and a znode that may be read again.
func (r *Recorder) effective() (out []*recording.Record) {
	seen := map[string]bool{} // changed by the batch itself
	for _, rec := range r.batch {
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

// markSessions marks the deletions of all ephemeral znodes of a session.
func (r *Recorder) markSessions(batch []*recording.Record) {
	owned, gone := map[int64]int{}, map[int64][]*recording.Record{}
	owners := map[string]int64{} // of znodes that the batch has created
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
