package history

import (
	"cmp"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// noticeable is the shortest wait that is worth mentioning.
const noticeable = time.Second

// hourOfWaits sums up the waits that ended with a grant within an hour.
type hourOfWaits struct {
	waits   int
	total   time.Duration
	longest *Stay
}

// waits sums up the waits for locks and leadership by hours. The zero value is ready to use.
type waits struct{ hours map[time.Time]*hourOfWaits }

// granted takes a grant.
func (w *waits) granted(s *Stay) {
	waited, known := s.Waited()
	if !known || !isHold(s) || s.Resource != "" {
		return
	}
	if w.hours == nil {
		w.hours = map[time.Time]*hourOfWaits{}
	}
	at := s.Granted.Time.Truncate(time.Hour)
	h := w.hours[at]
	if h == nil {
		h = &hourOfWaits{longest: s}
		w.hours[at] = h
	}
	h.waits++
	h.total += waited
	if longest, _ := h.longest.Waited(); waited > longest {
		h.longest = s
	}
}

// worst is the hour whose waits took longest, all together; nil without any.
func (w *waits) worst() (at time.Time, worst *hourOfWaits) {
	for begin, h := range w.hours {
		if worst == nil || cmp.Or(cmp.Compare(h.total, worst.total), at.Compare(begin)) > 0 {
			at, worst = begin, h
		}
	}
	return at, worst
}

// LongestWaits tells of the hour in which the waits for locks and leadership took longest, all
// together; false if none of them took a second.
func (a *Auditor) LongestWaits() (Suspicion, bool) {
	at, h := a.waits.worst()
	if h == nil {
		return Suspicion{}, false
	}
	s := h.longest
	waited, _ := s.Waited()
	if waited < noticeable {
		return Suspicion{}, false
	}
	if at.Before(a.From) {
		at = a.From
	}
	average := (h.total / time.Duration(h.waits)).Round(time.Millisecond)
	return Suspicion{
		Level: recognize.Hint, Kind: LongestWaits, At: Moment{Time: at}, Path: s.Path, Client: s.Client(), Session: s.Session,
		Text: fmt.Sprintf("%d waits ended in the hour of then, after %v on average; the longest was that of %s, %v", h.waits, average, s.Client(), waited.Round(time.Millisecond)),
	}, true
}
