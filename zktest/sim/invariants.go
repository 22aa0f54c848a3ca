package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Invariant is a condition on the history of every run.
type Invariant struct {
	// Name is the condition in some words, for the report.
	Name string
	// Check returns an error if the history breaks the condition.
	Check func(h *History) error
}

// violation is an error with its time.
type violation struct {
	at   time.Duration
	text string
}

func (v *violation) Error() string { return v.text }

func violated(at time.Duration, format string, args ...any) error {
	return &violation{at, fmt.Sprintf(format, args...)}
}

// OneAtATime is mutual exclusion: of all processes that Enter what, at most one is inside
// at any time. It uses History.Spans: a process that cannot know of its loss does not
// count, but a process that goes on after it could know does.
func OneAtATime(what string) Invariant {
	i := AtMost(what, 1)
	i.Name = "one at a time: " + what
	return i
}

// AtMost is OneAtATime for n processes, or n entries of one process.
func AtMost(what string, n int) Invariant {
	return Invariant{fmt.Sprintf("at most %d at a time: %s", n, what), func(h *History) error {
		var open []Span
		for _, s := range h.Spans(what) {
			open = slices.DeleteFunc(open, func(o Span) bool { return o.To <= s.From })
			if open = append(open, s); len(open) > n {
				return violated(s.From, "%s", overlap(what, open))
			}
		}
		return nil
	}}
}

// overlap describes spans that overlap.
func overlap(what string, open []Span) string {
	text, until := fmt.Sprintf("inside %s at once:", what), open[0].To
	for _, o := range open {
		text += fmt.Sprintf(" %s (token %d)", o.Process, o.Token)
		until = min(until, o.To)
	}
	from := open[len(open)-1].From
	return text + fmt.Sprintf(", from %.3fs for %v", from.Seconds(), until-from)
}

// TokensGrow is the promise of fencing: the tokens of Enter and Do with this what never go
// back, and no two entries of different processes have the same token. An entry of a
// process that cannot know of its loss does not count; an effect always counts, since the
// receiver of the token is what refuses a late one.
func TokensGrow(what string) Invariant {
	return Invariant{"tokens grow: " + what, func(h *History) error {
		var last Event
		blind := map[string]*spanner{}
		for _, name := range h.Processes {
			blind[name] = &spanner{}
		}
		for _, e := range h.Events {
			if s := blind[e.Process]; s != nil {
				s.takeEvent(e, "")
			}
			if e.What != what || e.Kind != Done && (e.Kind != Entered || blind[e.Process].blind()) {
				continue
			}
			if e.Token < last.Token || e.Token == last.Token && e.Kind == Entered && last.Kind == Entered && e.Process != last.Process {
				return violated(e.At, "%s: %s %s with token %d, after %s with token %d at %.3fs",
					what, e.Process, e.Kind, e.Token, last.Process, last.Token, last.At.Seconds())
			}
			last = e
		}
		return nil
	}}
}

// AtMostOnce requires that no two effects Do(what, id, ...) have the same id.
func AtMostOnce(what string) Invariant {
	return Invariant{"at most once: " + what, func(h *History) error {
		first := map[string]Event{}
		for _, e := range h.Events {
			if e.Kind != Done || e.What != what {
				continue
			}
			if f, twice := first[e.ID]; twice {
				return violated(e.At, "%s %s was done twice: by %s at %.3fs, and by %s at %.3fs",
					what, e.ID, f.Process, f.At.Seconds(), e.Process, e.At.Seconds())
			}
			first[e.ID] = e
		}
		return nil
	}}
}

// ExactlyOnce requires that every id of an effect asked is that of exactly one effect what,
// at the end of the run, which is Options.Calm after the last fault; for example
// ExactlyOnce("charge", "order").
func ExactlyOnce(what, asked string) Invariant {
	once := AtMostOnce(what)
	return Invariant{"exactly once: " + what, func(h *History) error {
		if err := once.Check(h); err != nil {
			return err
		}
		done := map[string]bool{}
		for _, e := range h.Events {
			if e.Kind == Done && e.What == what {
				done[e.ID] = true
			}
		}
		for _, e := range h.Events {
			if e.Kind == Done && e.What == asked && !done[e.ID] {
				return violated(h.end(), "%s %s of %.3fs was never done: %s", asked, e.ID, e.At.Seconds(), what)
			}
		}
		return nil
	}}
}

// ServedWithin is liveness: within d after the last fault, a process is inside what, or
// does an effect what. d must not be longer than Options.Calm.
func ServedWithin(what string, d time.Duration) Invariant {
	return Invariant{fmt.Sprintf("served within %v: %s", d, what), func(h *History) error {
		limit := h.Healed + d
		if limit > h.End {
			return fmt.Errorf("sim: ServedWithin(%q, %v): the run ends %v after its last fault; set Options.Calm", what, d, h.End-h.Healed)
		}
		served := slices.ContainsFunc(h.Spans(what), func(s Span) bool { return s.To >= h.Healed && s.From <= limit }) ||
			slices.ContainsFunc(h.Events, func(e Event) bool {
				return e.Kind == Done && e.What == what && e.At >= h.Healed && e.At <= limit
			})
		if served {
			return nil
		}
		return violated(limit, "%s: no process in the %v after the last fault, which was over at %.3fs", what, d, h.Healed.Seconds())
	}}
}

// timeOf is when err happened, or the end of the history.
func (h *History) timeOf(err error) time.Duration {
	var v *violation
	if errors.As(err, &v) {
		return v.at
	}
	return cmp.Or(h.end(), h.End)
}
