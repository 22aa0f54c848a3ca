package ui

import (
	"embed"
	"net/http"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

//go:embed assets
var assets embed.FS

// timeLineScript is the path of the script of the time line.
const timeLineScript = "/timeline.js"

func serveTimeLine(w http.ResponseWriter, _ *http.Request) {
	data, err := assets.ReadFile("assets/timeline.js")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(data)
}

// lineWidth is the width of the time line in units of its own.
const lineWidth = 1000

// timeLine is the part of the time line that is the same at all moments.
type timeLine struct {
	Earliest, Latest time.Time
	// Span is in milliseconds, as are the steps of the arrow keys.
	Span, Step int64
	Gaps       []gap
}

// gap is a time of which something is unknown.
type gap struct {
	X, Width float64
	Says     string
}

// moved are the neighbors of the shown moment.
type moved struct {
	*Moment
	// Offset is the place on the time line in milliseconds.
	Offset         int64
	Previous, Next string // marks; "" for none
	First, Last    string
	Page           string
}

// drawTimeLine draws the time line, and the moment on it.
func (d *drawing) drawTimeLine() []web.Block {
	m := d.Moment
	if m.Read < 100 || m.Overview.Read.IsZero() {
		return nil
	}
	o := &m.Overview
	at := moved{Moment: m, First: o.FirstMark.String(), Last: o.LastMark.String()}
	if s := m.State; s != nil {
		at.Offset = min(max(0, s.Now.Sub(o.Earliest).Milliseconds()), o.Latest.Sub(o.Earliest).Milliseconds())
		at.Previous, at.Next = textOf(s.Previous), textOf(s.Following())
	}
	var out []web.Block
	if !o.Earliest.IsZero() && o.Latest.After(o.Earliest) {
		out = append(out, d.renderBlock("timeline", "", newTimeLine(o)))
	}
	return append(out, d.renderBlock("moment", "", at))
}

func textOf(m *history.Mark) string {
	if m == nil {
		return ""
	}
	return m.String()
}

func newTimeLine(o *history.Overview) timeLine {
	span := o.Latest.Sub(o.Earliest)
	line := timeLine{Earliest: o.Earliest, Latest: o.Latest, Span: span.Milliseconds(), Step: max(1, span.Milliseconds()/lineWidth)}
	place := func(at time.Time) float64 {
		return lineWidth * min(1, max(0, at.Sub(o.Earliest).Seconds()/span.Seconds()))
	}
	for _, r := range o.Remarks {
		if from, to, unknown := r.Unknown(); unknown {
			x := place(from)
			if last := len(line.Gaps) - 1; last >= 0 && x < line.Gaps[last].X+line.Gaps[last].Width && place(to) <= x+1 {
				continue // it cannot be told from the one before
			}
			line.Gaps = append(line.Gaps, gap{x, max(2, place(to)-x), r.String()})
		}
	}
	return line
}
