package exporter

import (
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// batch collects the series of one view. Values of the same series, which are those of the
// label "other", are added up, or the greatest counts.
type batch struct {
	now    time.Time
	labels *paths
	order  []key
	values map[key]float64
}

// key is a series.
type key struct {
	metric *metric
	labels [4]string
	n      int // how many labels
}

func (b *batch) keyOf(d *metric, labels []string) key {
	k := key{metric: d, n: len(labels)}
	copy(k.labels[:], labels)
	if _, known := b.values[k]; !known {
		b.order = append(b.order, k)
	}
	return k
}

func (b *batch) add(d *metric, value float64, labels ...string) {
	k := b.keyOf(d, labels)
	b.values[k] += value
}

// most keeps the greatest value of a series.
func (b *batch) most(d *metric, value float64, labels ...string) {
	k := b.keyOf(d, labels)
	b.values[k] = max(b.values[k], value)
}

// seriesOf makes the series of a view, with ages as of now.
func (e *Exporter) seriesOf(v *ui.View, now time.Time) *batch {
	b := &batch{now: now, labels: e.labels, values: map[key]float64{}}
	b.labels.beginScan()
	for _, t := range v.Things {
		b.labels.keep(t.Path)
	}
	exists := func(path string) bool { _, ok := v.Lookup(path); return ok }
	e.terms.keep(exists)
	e.moves.keep(exists)
	for path := range e.terms.leaders {
		b.labels.keep(path) // also while there is no candidate
	}
	b.labels.end()
	b.labelByKind(v.Things)

	b.add(znodesDesc, float64(v.Nodes))
	b.add(ephemeralsDesc, float64(v.Ephemeral))
	b.add(unreadableDesc, float64(len(v.Denied)))
	b.add(sessionsDesc, float64(len(v.Sessions)))
	for _, t := range v.Things {
		path := b.pathLabel(t.Path)
		b.add(thingsDesc, 1, kindLabel(t.Kind))
		for _, p := range t.Problems {
			b.add(problemsDesc, 1, kindLabel(t.Kind), string(p.Level))
			b.add(problemDesc, 1, kindLabel(t.Kind), path, string(p.Level), string(p.Code))
		}
		if t.Kind == recognize.Election {
			b.leader(t, path, e.terms)
		}
		b.queue(t, path)
		b.upper(t, path)
		b.simple(t, path)
		if t.Shares != nil {
			e.moves.count(t, path)
		}
	}
	b.addAbsentLeaders(v, e.terms)
	e.terms.changes.addTo(b, changesDesc)
	e.moves.total.addTo(b, movesDesc)
	return b
}

// labelByKind gives labels to those that have none, elections first and locks last. The alert
// on an election whose series has gone takes an exporter that was started again, and that
// gives the label to another thing, for an election without candidates.
func (b *batch) labelByKind(things []*recognize.Thing) {
	var others, locks []*recognize.Thing
	for _, t := range things {
		switch t.Kind {
		case recognize.Election:
			b.labels.of(t.Path)
		case recognize.Mutex, recognize.RWLock, recognize.Semaphore:
			locks = append(locks, t)
		default:
			others = append(others, t)
		}
	}
	for _, t := range append(others, locks...) {
		b.labels.of(t.Path)
	}
}

// pathLabel is the label of a path. A label must be UTF-8, and clients may write anything.
func (b *batch) pathLabel(path string) string {
	return strings.ToValidUTF8(b.labels.of(path), "\uFFFD")
}

// addAbsentLeaders adds the elections without any candidate, which are not recognized.
func (b *batch) addAbsentLeaders(v *ui.View, terms *terms) {
	for path := range terms.leaders {
		if t := v.Of(path); t == nil || t.Path != path {
			label, kind := b.pathLabel(path), kindLabel(recognize.Election)
			b.add(heldDesc, 0, kind, label)
			b.add(waitingDesc, 0, kind, label)
		}
	}
}

// kindLabel is the label of a kind.
func kindLabel(k recognize.Kind) string {
	switch k {
	case recognize.RWLock:
		return "rwlock"
	case recognize.Double:
		return "double_barrier"
	case recognize.Tasks:
		return "task_queue"
	}
	return string(k)
}

// queue adds the series of locks, semaphores and elections.
func (b *batch) queue(t *recognize.Thing, path string) {
	switch t.Kind {
	case recognize.Mutex, recognize.RWLock, recognize.Semaphore, recognize.Election:
	default:
		return
	}
	kind, held, waits := kindLabel(t.Kind), 0, 0
	var longestWait, longestHold time.Duration
	for _, c := range t.Queue {
		if !c.Holds {
			waits++
			longestWait = max(longestWait, age(b.now, c.Entered))
			continue
		}
		held++
		since := c.Since
		if since.IsZero() {
			since = c.AtLeast
		}
		longestHold = max(longestHold, age(b.now, since))
	}
	b.add(heldDesc, float64(held), kind, path)
	b.add(waitingDesc, float64(waits), kind, path)
	b.most(longestWaitDesc, longestWait.Seconds(), kind, path)
	b.most(longestHoldDesc, longestHold.Seconds(), kind, path)
	if p := t.Permits; p != nil {
		b.add(permitsDesc, float64(p.Total), path, "total")
		b.add(permitsDesc, float64(p.Held), path, "held")
	}
}

// age is the time from since to now; 0 if since is not known.
func age(now, since time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since))
}

func (b *batch) leader(t *recognize.Thing, path string, terms *terms) {
	var leader *recognize.Contender
	if holders := t.Holders(); len(holders) > 0 {
		leader = holders[0]
		b.most(termDesc, float64(leader.Seq), path)
	}
	terms.noteLeader(t.Path, path, leader)
}

// simple adds the series of barriers, counters, groups and services.
func (b *batch) simple(t *recognize.Thing, path string) {
	kind := kindLabel(t.Kind)
	if m := t.Meeting; m != nil {
		if t.Kind == recognize.Gate {
			b.add(closedDesc, boolean(m.Closed), path)
		} else {
			b.add(partiesDesc, float64(m.Parties), kind, path, "expected")
			b.add(partiesDesc, float64(len(m.Here)+len(m.Inside)), kind, path, "here")
			b.add(partiesDesc, float64(m.Missing()), kind, path, "missing")
		}
	}
	if n := t.Number; n != nil && n.Value != nil {
		b.add(valueDesc, float64(*n.Value), path)
	}
	switch t.Kind {
	case recognize.Group, recognize.Service:
		b.add(membersDesc, float64(len(t.Members)), kind, path)
	case recognize.Queue:
		b.add(entriesDesc, float64(t.Entries), path)
	}
}

// upper adds the series of jobs, rebalancers and queues of tasks.
func (b *batch) upper(t *recognize.Thing, path string) {
	if j := t.Job; j != nil {
		b.add(jobsDesc, 1, strings.ToValidUTF8(j.State, "?"))
		b.add(jobSizeDesc, float64(j.Size), path)
		for state, n := range map[string]int{"running": j.Running, "left": j.Left, "failed": j.Failed, "dead": j.Dead, "missing": j.Missing} {
			b.add(jobWorkersDesc, float64(n), path, state)
		}
	}
	if s := t.Shares; s != nil {
		b.add(rebalanceMembersDesc, float64(len(s.Members)), path)
		for state, n := range map[string]int{"all": len(s.Resources), "moving": len(s.Moves), "unowned": len(s.Unowned)} {
			b.add(rebalanceResourcesDesc, float64(n), path, state)
		}
		b.most(rebalanceEpochDesc, float64(s.Epoch), path)
	}
	if q := t.Tasks; q != nil {
		for state, n := range q.Counts {
			b.add(tasksDesc, float64(n), path, state)
		}
		b.add(tasksMaxDesc, float64(q.Max), path)
		b.most(oldestTaskDesc, age(b.now, q.WaitingSince).Seconds(), path)
		b.most(oldestAssignedDesc, age(b.now, q.OldestAssigned).Seconds(), path)
		b.add(taskWorkersDesc, float64(len(q.Workers)), path)
		b.add(taskMasterDesc, boolean(q.Master != ""), path)
		b.add(tasksPausedDesc, boolean(q.Paused != nil), path)
	}
}
