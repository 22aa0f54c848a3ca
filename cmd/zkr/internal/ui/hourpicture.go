package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// The measures of a time line of the last hour.
const (
	maxLanes   = 8  // concurrent holds
	shownHolds = 20 // in the list
	laneHeight = 12
)

// stretch is a hold on the time line.
type stretch struct {
	X, Width    float64
	Y           int
	Class, Says string
}

// hourLine is the last hour of a lock or an election.
type hourLine struct {
	From, To  time.Time
	Stretches []stretch
	Height    int
	// Blind are the times without observation.
	Blind []gap
	// Holds are the last ones, the newest first; More are older, and Hidden do not fit on the line.
	Holds        []pastHold
	More, Hidden int
	// Waiting is the outline of the number of waiters, "" for none; MostWaiting is the greatest.
	Waiting     string
	MostWaiting int64
	// Began is set if the observation began within the hour, Dropped is the last end of the
	// holds that were too many, and Unobserved is how long nothing was observed.
	Began, Dropped time.Time
	Unobserved     string
}

// pastHold is a hold on the time line and in the list.
type pastHold struct {
	Hold
	// Goes: the hold goes on.
	Goes bool
}

// Lasted is how long the hold has lasted.
func (h pastHold) Lasted() string {
	switch {
	case h.From.IsZero():
		return "unknown"
	case h.Sure && h.After.IsZero():
		return web.Age(h.Until.Sub(h.From))
	case !h.After.IsZero():
		return web.Age(h.After.Sub(h.From)) + " to " + web.Age(h.Until.Sub(h.From))
	}
	return web.Age(h.Until.Sub(h.From)) + " or more"
}

// drawHour draws the last hour of a thing with holders. A lock that no client holds or
// waits for is no thing: t is nil, and the path tells its last holds.
func (d *drawing) drawHour(path string, t *recognize.Thing) []web.Block {
	for _, k := range []recognize.Kind{recognize.Mutex, recognize.RWLock, recognize.Semaphore, recognize.Election} {
		former := &recognize.Thing{Kind: k, Path: path}
		if t == nil && len(d.Hour.Ended[keyOf(former)]) > 0 {
			t = former
		}
	}
	if t == nil || t.Path != path || d.Moment != nil || !isTimed(t.Kind) {
		return nil
	}
	line := newHourLine(t, d.Hour, d.At)
	if d.Health.Stale {
		line.addBlind(Span{d.Health.AsOf, d.At})
	}
	return []web.Block{d.renderBlock("hour", "", line)}
}

func newHourLine(t *recognize.Thing, hour Hour, now time.Time) *hourLine {
	// The line ends with a minute: it changes once a minute, unless a hold begins or ends.
	to := now.Truncate(time.Minute).Add(time.Minute)
	line := &hourLine{From: to.Add(-lately), To: to, Height: laneHeight}
	var all []pastHold
	for _, h := range hour.Ended[keyOf(t)] {
		if h.Until.After(line.From) {
			all = append(all, pastHold{h, false})
		}
	}
	for _, c := range t.Holders() {
		h := Hold{Holder: c.Name(), Session: c.Session, Token: c.Token, Until: to}
		if from := heldBy(c); from != nil {
			h.From, h.Sure = from.Since, from.Sure
		}
		all = append(all, pastHold{h, true})
	}
	slices.SortStableFunc(all, func(a, b pastHold) int { return cmp.Or(a.From.Compare(b.From), a.Until.Compare(b.Until)) })
	line.addStretches(all)
	slices.Reverse(all)
	line.Holds, line.More = firstOf(shownHolds, all), max(0, len(all)-shownHolds)
	unobserved := time.Duration(0)
	for _, s := range hour.Blind {
		if s.To.After(line.From) {
			line.addBlind(s)
			unobserved += s.To.Sub(s.From)
		}
	}
	if unobserved >= time.Second {
		line.Unobserved = web.Age(unobserved)
	}
	if hour.Began.After(line.From) {
		line.addBlind(Span{line.From, hour.Began})
		line.Began = hour.Began
	}
	line.Dropped = hour.Dropped[keyOf(t)]
	if at := hour.Dropped[allDropped]; at.After(line.Dropped) {
		line.Dropped = at
	}
	line.addWaiters(hour.Waiting[keyOf(t)])
	return line
}

// addWaiters draws the number of waiters below the line, in steps, on the same scale of time.
func (l *hourLine) addWaiters(points []Point) {
	const height = 30.0
	for i, p := range points {
		if i+1 == len(points) || points[i+1].At.After(l.From) {
			l.MostWaiting = max(l.MostWaiting, p.Value)
		}
	}
	if l.MostWaiting == 0 {
		return
	}
	var path strings.Builder
	fmt.Fprintf(&path, "M%.1f %.0f", l.place(points[0].At), height)
	for _, p := range points {
		fmt.Fprintf(&path, "H%.1fV%.1f", l.place(p.At), height-height*float64(min(p.Value, l.MostWaiting))/float64(l.MostWaiting))
	}
	fmt.Fprintf(&path, "H%dV%.0fZ", lineWidth, height)
	l.Waiting = path.String()
}

// place is a moment on the line.
func (l *hourLine) place(at time.Time) float64 {
	return lineWidth * min(1, max(0, at.Sub(l.From).Seconds()/lately.Seconds()))
}

// addStretches puts holds on the line, in the order of their beginnings: concurrent ones one
// below the other.
func (l *hourLine) addStretches(all []pastHold) {
	var ends [maxLanes]time.Time
	for i, h := range all {
		lane := slices.IndexFunc(ends[:], func(end time.Time) bool { return !end.After(h.From) })
		if lane < 0 {
			l.Hidden++
			continue
		}
		ends[lane] = h.Until
		l.Height = max(l.Height, (lane+1)*laneHeight)
		says := h.Holder + ": " + h.Lasted()
		if h.Goes {
			says = h.Holder + " holds"
		}
		add := func(from, to time.Time, class string) {
			x := l.place(from)
			l.Stretches = append(l.Stretches, stretch{x, max(1, l.place(to)-x), lane * laneHeight, class, says})
		}
		// Neighbors have different colors; an end that was not observed is pale.
		class := []string{"good", "wait"}[i%2]
		if h.After.IsZero() {
			add(h.From, h.Until, class)
			continue
		}
		add(h.From, h.After, class)
		add(h.After, h.Until, "faint")
	}
}

// addBlind puts a time without observation on the line.
func (l *hourLine) addBlind(s Span) {
	x := l.place(s.From)
	l.Blind = append(l.Blind, gap{x, max(2, l.place(s.To)-x), "not observed for " + web.Age(s.To.Sub(s.From))})
}

// graph is a number of each minute of the last hour.
type graph struct {
	Name string
	Bars []stretch
	Most int
	Last string
}

// drawGraphs draws the holders, the waiters and the grants of the last hour.
func (d *drawing) drawGraphs() []web.Block {
	if d.Moment != nil || len(d.Hour.Minutes) == 0 {
		return nil
	}
	out := []graph{
		newGraph("holders", d.Hour.Minutes, d.At, func(m Minute) int { return m.Held }),
		newGraph("waiters", d.Hour.Minutes, d.At, func(m Minute) int { return m.Waiting }),
		newGraph("grants in a minute", d.Hour.Minutes, d.At, func(m Minute) int { return m.Grants }),
	}
	return []web.Block{d.renderBlock("graphs", "", struct {
		Graphs  []graph
		Unknown int
	}{out, 60 - len(d.Hour.Minutes)})}
}

// newGraph draws a bar for each minute: those without a look are empty.
func newGraph(name string, minutes []Minute, now time.Time, value func(Minute) int) graph {
	const width, height = lineWidth / 60.0, 30.0
	g, first := graph{Name: name}, now.Truncate(time.Minute).Add(time.Minute-lately)
	for _, m := range minutes {
		g.Most = max(g.Most, value(m))
	}
	for _, m := range minutes {
		i := int(m.At.Sub(first) / time.Minute)
		if i < 0 || i >= 60 {
			continue
		}
		n := value(m)
		h := 1.0 // observed, and none
		if g.Most > 0 {
			h = max(h, height*float64(n)/float64(g.Most))
		}
		g.Bars = append(g.Bars, stretch{X: float64(i) * width, Width: width - 2, Y: int(height - h), Says: fmt.Sprintf("%s: %d", m.At.Local().Format("15:04"), n)})
		g.Last = fmt.Sprint(n)
	}
	return g
}
