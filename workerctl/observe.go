package workerctl

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/observe"
)

// beginWait reports that a wait for the job begins.
func (j *Job) beginWait(ctx context.Context, kind observe.Kind) *observing.Wait {
	return observing.BeginWait(ctx, j.client, kind, j.Path())
}

// beginWait reports that the worker begins to wait at place. Without an observer, the path
// is not made. The path does not have the run of the job, which is another one in each job of
// the name.
func (w *Worker) beginWait(ctx context.Context, kind observe.Kind, place string) *observing.Wait {
	if w.job.client.Observer() == nil {
		return nil
	}
	return observing.BeginWait(ctx, w.job.client, kind, w.job.Path()+"/"+jobformat.DirBarriers+"/"+place)
}

// reportUnknown reports a call for the job that ends with err, if that leaves an outcome
// unknown, and returns err.
func (j *Job) reportUnknown(ctx context.Context, op string, err error) error {
	return observing.Unknown(ctx, j.client, "job", j.Path(), op, err)
}

// rosterReporter reports the changes of a roster's view to an observer. It sends no
// requests: what it takes for a death is certain when the view is newer.
type rosterReporter struct {
	r     *Roster
	to    observe.Observer
	known map[int]Member // as last reported, or as in the first view
	begun bool
	// suspects are the workers, by id, that have no live znode and have not left, as the
	// view shows: one transaction changes a worker's live znode and its record, and the
	// view may show one of them earlier than the other.
	suspects map[int]suspect
}

type suspect struct {
	member Member
	since  time.Time // when the view showed it first
	old    bool      // in the first view, so that its end is not reported
}

// startReporter reports the changes of the view until ctx ends; stop waits for the last
// report.
func (r *Roster) startReporter(ctx context.Context) (stop func()) {
	to := r.job.client.Observer()
	if to == nil {
		return func() {}
	}
	p := &rosterReporter{r: r, to: to, known: map[int]Member{}, suspects: map[int]suspect{}}
	while, end := context.WithCancel(ctx)
	reader := r.view.newReader()
	var all sync.WaitGroup
	// Waited for by stop; ends with while.
	all.Go(func() { p.run(while, reader) })
	return func() { end(); all.Wait(); r.view.dropReader(reader) }
}

// recheck is the time after which suspects are looked at again. The view is as new as the
// last answer of the servers, at the latest a ping.
const recheck = 500 * time.Millisecond

func (p *rosterReporter) run(ctx context.Context, reader *rosterReader) {
	again := time.NewTimer(recheck)
	defer again.Stop()
	again.Stop()
	for {
		select {
		case <-reader.wake:
		case <-again.C:
		case <-ctx.Done():
			return
		}
		ids, loaded, _ := p.r.view.takeIDs(reader)
		if !loaded {
			continue
		}
		p.reportNews(ctx, ids)
		if len(p.suspects) > 0 {
			again.Reset(recheck)
		}
	}
}

// reportNews reports what has changed in the view, of the workers ids and the suspects, in
// the order of the ids.
func (p *rosterReporter) reportNews(ctx context.Context, ids []int) {
	_, asOf := p.r.view.isLoaded()
	ids = slices.AppendSeq(ids, maps.Keys(p.suspects))
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		m, shown := p.r.view.get(id)
		if !shown {
			p.reportRemoved(ctx, id)
			continue
		}
		before, known := p.known[m.ID]
		if known && !isNewer(before, m) || m.State == dead && !p.isCertain(m, asOf) {
			continue
		}
		s, suspected := p.suspects[m.ID]
		delete(p.suspects, m.ID)
		p.known[m.ID] = m
		change := changeOf(before, known, m)
		if old := suspected && s.old && isSame(s.member, m); p.begun && !old && change != updated {
			p.report(ctx, m.ID, change)
		}
	}
	p.begun = true
}

// isCertain reports whether m, which the view shows as dead, has died: the view has shown
// it before asOf.
func (p *rosterReporter) isCertain(m Member, asOf time.Time) bool {
	if s, suspected := p.suspects[m.ID]; suspected && isSame(s.member, m) {
		return asOf.After(s.since)
	}
	p.suspects[m.ID] = suspect{m, time.Now(), !p.begun}
	return false
}

// isSame reports whether a and b are the same incarnation of a worker.
func isSame(a, b Member) bool { return a.created == b.created && a.Incarnation == b.Incarnation }

// reportRemoved reports a worker whose record has been removed, with the job, before the
// view has shown how the worker has ended.
func (p *rosterReporter) reportRemoved(ctx context.Context, id int) {
	before, known := p.known[id]
	delete(p.known, id)
	delete(p.suspects, id)
	if known && !before.State.hasLeft() {
		p.report(ctx, id, "removed")
	}
}

func (p *rosterReporter) report(ctx context.Context, id int, change string) {
	p.to.Observe(ctx, observe.MemberChanged{Path: p.r.job.Path(), Worker: id, Change: change})
}

// changeOf is the change from before, if known, to m, as in observe.MemberChanged; or
// updated.
func changeOf(before Member, known bool, m Member) string {
	if m.State == dead {
		return "died"
	}
	return (&book{begun: true}).describeChange(before, known, m).What
}
