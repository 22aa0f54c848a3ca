package workerctl

import (
	"context"
	"time"
)

// adapt begins or ends polling, between two rounds.
func (r *rosterRun) adapt(ctx context.Context) error {
	st, now := r.state, time.Now()
	switch {
	case r.stalled || st.flying > 0 || st.loading:
	case st.polling && !st.pending():
		return r.afterPoll(ctx, now)
	case r.sub != nil && !now.Before(r.next) && st.isFlood(r.changes, now.Sub(r.since)):
		r.sub.Stop()
		r.sub = nil
		st.beginPolling()
		r.lists, r.calm, r.compare, r.compared = 0, 0, now.Add(r.compareEvery()), time.Time{}
	}
	return nil
}

// compareEvery is the time after which all members are read again: with two pauses, Stale
// must stay below a third of the session timeout.
func (r *rosterRun) compareEvery() time.Duration { return r.s.Timeout() / 6 }

// afterPoll is called when everything is read that the last list has brought.
func (r *rosterRun) afterPoll(ctx context.Context, now time.Time) error {
	st := r.state
	if !r.compared.IsZero() && len(st.suspects) == 0 {
		r.announceRound(r.compared)
		r.compared = time.Time{}
	}
	if r.calm++; st.isFlood(2*r.changes, r.window) {
		r.calm = 0
	}
	switch {
	case r.calm > calmPolls, r.calm > 0 && r.lists > 1 && now.After(r.compare):
		if err := r.subscribe(ctx); err != nil {
			return err
		}
		r.beginLoad()
	case now.After(r.compare):
		r.compare, r.compared = now.Add(r.compareEvery()), r.heard
		st.readAll()
	}
	return nil
}

// calmPolls is how many polls in a row with few changes end polling. The end costs as much
// as many polls.
const calmPolls = 3

// pause is the least time between two rounds of reads; a slow round makes the next pause
// longer. A single change is read at once; of many changes, each round reads those that
// came since the round before. If each worker of a job follows the roster, all rosters
// together send at most one round per pausePerWorker, as long as maxRoundPause and the
// session timeout allow.
func (st *rosterState) pause() time.Duration {
	return time.Duration(max(len(st.shown), st.workers)) * pausePerWorker
}

// isFlood reports whether the events of the changes within d cost more than lists: if each
// worker of the job follows the roster, the servers are busy with events.
func (st *rosterState) isFlood(changes int, d time.Duration) bool {
	n := max(len(st.shown), st.workers)
	return n >= floodWorkers && changes >= floodChanges && float64(changes*n) >= floodEvents*d.Seconds()
}

const (
	pausePerWorker = time.Millisecond
	maxRoundPause  = time.Second

	// A flood has at least this number of changes at once, in a job of this number of
	// workers, and this number of events per second for all of these.
	floodChanges = 4
	floodWorkers = 64
	floodEvents  = 8000
)
