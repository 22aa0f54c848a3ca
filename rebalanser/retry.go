package rebalanser

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// longestRetry is how long a resource is parked at most, unless Options.RetryDelay is
// longer.
const longestRetry = time.Minute

// Failure is a resource that is retried after a failure; see Options.RetryDelay.
type Failure struct {
	Resource string
	// Client is the owner of the resource.
	Client string
	// Err is the text of the last error, cut off after 200 bytes.
	Err string
	// Failures is the number of failed calls in a row, the first of them at
	// Since. Next is the time of the next call, or of the present one. Both times
	// are by the member's clock.
	Failures    int
	Since, Next time.Time
}

// maxFailureText is how long the text of an error is at most, in bytes.
const maxFailureText = 200

// keepTrying calls the function for r until it returns without a failure, or r is to
// be given up. The function itself handles whatever it has done before a failure.
func (e *each) keepTrying(ctx context.Context, r *Resource) {
	defer e.noteRecovered(r)
	longest := max(e.retry, longestRetry)
	_, leaving := e.graceLeft()
	for pause := e.retry; ; pause = min(2*pause, longest) {
		over, steady := startIsolated("the function", func() error { return e.fn(ctx, r) }), time.NewTimer(pause)
		var err error
		select {
		case err = <-over:
		case <-steady.C:
			e.noteRecovered(r)
			pause = e.retry
			err = <-over
		}
		steady.Stop()
		if err == nil || ctx.Err() != nil {
			return
		}
		e.noteParked(r, err, pause)
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return
		case <-leaving: // also if a grace has begun before
			again.Stop()
			return
		}
	}
}

// noteParked notes a failure.
func (e *each) noteParked(r *Resource, err error, pause time.Duration) {
	text := err.Error()
	if len(text) > maxFailureText {
		text = text[:maxFailureText]
	}
	now := time.Now().Round(0).UTC()
	e.mu.Lock()
	f := e.failing[r.Name()]
	if f.Failures == 0 {
		f = Failure{Resource: r.Name(), Since: now}
	}
	f.Failures++
	f.Err, f.Next = strings.ToValidUTF8(text, ""), now.Add(pause)
	e.failing[r.Name()] = f
	e.mu.Unlock()
	e.wakeReporter()
}

// noteRecovered notes that r does not fail any more, or is not owned any more.
func (e *each) noteRecovered(r *Resource) {
	e.mu.Lock()
	_, was := e.failing[r.Name()]
	delete(e.failing, r.Name())
	e.mu.Unlock()
	if was {
		e.wakeReporter()
	}
}

// wakeReporter wakes the goroutine that reports.
func (e *each) wakeReporter() {
	select {
	case e.news <- struct{}{}:
	default:
	}
}

func (e *each) countFailing() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.failing)
}

// listFailing lists the failing resources, in the order of their names.
func (e *each) listFailing() []Failure {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.failing), func(a, b Failure) int { return strings.Compare(a.Resource, b.Resource) })
}
