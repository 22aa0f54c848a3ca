package ui

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// redirect answers a request whose moment has another text than links have: how long ago, a
// time of day, or local time. The address of a page then names the same moment later on.
func (s *server) redirect(w http.ResponseWriter, r *http.Request) bool {
	form := r.URL.Query()
	if s.past == nil || !form.Has("at") {
		return false
	}
	text, err := s.past.canonical(form.Get("at"))
	if err != nil || text == form.Get("at") {
		return false // the page says what is wrong
	}
	form.Set("at", text)
	if text == "" {
		form.Del("at")
	}
	http.Redirect(w, r, (&url.URL{Path: r.URL.Path, RawQuery: form.Encode()}).String(), http.StatusFound)
	return true
}

// statusCode is the status of a page.
func (m *Moment) statusCode() int {
	switch {
	case m == nil || m.Failed == nil:
		return http.StatusOK
	case m.isMistaken():
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// isMistaken reports whether the request is the reason why there is no state.
func (m *Moment) isMistaken() bool {
	return errors.Is(m.Failed, history.ErrNotAMark) || errors.Is(m.Failed, history.ErrNoOrder)
}

// explain says why there is no state.
func (m *Moment) explain() string {
	if m.isMistaken() {
		return "parameter at: " + m.Failed.Error()
	}
	return m.Failed.Error()
}

// frame completes the frame of a page about the past.
func (m *Moment) frame(f *web.Frame) {
	if f.Home = m.home(); m.At != "" {
		f.Hidden["at"], f.Title = m.At, m.At+" · "+f.Title
	}
	f.Refresh = m.Read < 100
	f.Scripts = append(f.Scripts, timeLineScript)
	f.Keys = append(f.Keys, web.Shortcut{Keys: "[  ]", Does: "previous, next event"}, web.Shortcut{Keys: "p", Does: "play"})
}

// home is the address of the overview at the moment; "" for the present.
func (m *Moment) home() string {
	if m == nil || m.At == "" {
		return ""
	}
	return "/?at=" + url.QueryEscape(m.At)
}

// drawPast draws the parts of a page about the past. All ages are as of its moment.
func (d *drawing) drawPast() ([]web.Region, error) {
	m := d.Moment
	var main []web.Block
	switch {
	case m.Read < 100 && !d.Health.Loaded:
		main = append(main, d.renderBlock("reading", "", m))
	case m.Failed != nil:
		main = append(main, d.renderBlock("failed", "", m.explain()))
	default:
		if m.hasNotes() {
			main = append(main, d.renderBlock("notes", "", m))
		}
		blocks, err := d.drawPage()
		if err != nil {
			return nil, err
		}
		main = append(main, blocks...)
	}
	regions := []web.Region{
		{Name: "status", Blocks: []web.Block{d.renderBlock("paststatus", "", m)}},
		{Name: "nav", Blocks: []web.Block{d.renderBlock("nav", "", d.menuLinks())}},
		{Name: "time", Blocks: d.drawTimeLine()},
		{Name: "main", Blocks: main},
	}
	for _, region := range regions {
		for i := range region.Blocks {
			b := &region.Blocks[i]
			b.HTML = keepMoment(b.HTML, m.At)
			if m.State != nil {
				b.AsOf = d.At
			}
		}
	}
	return regions, d.err
}

// hasNotes reports whether the state is not known for sure.
func (m *Moment) hasNotes() bool {
	s := m.State
	return s.Early || s.Late || s.Unseen != nil || len(s.Doubts) > 0 || m.Overview.Failed != nil
}

// linkBegin is how the target of a link begins in templates, also in data-href.
const linkBegin = `href="`

// keepMoment adds the moment to each link that names none: every link of a page about the past
// leads to that moment.
func keepMoment(html template.HTML, at string) template.HTML {
	if at == "" {
		return html
	}
	var out strings.Builder
	param := "at=" + url.QueryEscape(at)
	for rest := string(html); ; {
		before, after, found := strings.Cut(rest, linkBegin)
		out.WriteString(before)
		if !found {
			return template.HTML(out.String()) // HTML of templates, with a parameter that is escaped
		}
		target, end, _ := strings.Cut(after, `"`) // templates escape it within
		path, query, asks := strings.Cut(target, "?")
		switch {
		case strings.HasPrefix(query, "at=") || path != "" && path[0] != '/' || path == "" && !asks:
		case query == "":
			target = path + "?" + param
		default:
			target = path + "?" + param + "&amp;" + query
		}
		out.WriteString(linkBegin + target + `"`)
		rest = end
	}
}

// event is an event on a page.
type event struct {
	history.Event
	// Later: the event is behind the shown moment.
	Later bool
}

// listEvents are the events around the moment, the newest first.
func (d *drawing) listEvents() (out []event) {
	s := d.Moment.State
	from, to := max(0, s.Next-maxShort), min(len(s.Events), s.Next+maxShort/2)
	for i := to - 1; i >= from; i-- {
		out = append(out, event{s.Events[i], i >= s.Next})
	}
	return out
}

// Text says what has happened.
func (e event) Text() string {
	s := &e.Stay
	switch what := s.As; e.Kind {
	case history.Came:
		return what
	case history.Granted:
		if s.Resource != "" {
			what += " " + s.Resource
		}
		if waited, known := s.Waited(); known && waited > 0 {
			what += ", after " + waited.Round(time.Millisecond).String()
		}
		return what
	case history.Ended:
	}
	return e.describeEnd()
}

// describeEnd says how a stay has ended.
func (e event) describeEnd() string {
	s, what := &e.Stay, string(e.Stay.How)
	switch {
	case s.How == history.Broken:
		what = "broken by " + s.BrokenBy + ": " + s.Reason
	case s.By != 0:
		what = "removed by session " + s.By.String()
	case !s.Has() && s.How == history.Released:
		what = "gave up"
	}
	if held, known := s.Held(); known {
		what += ", after " + held.Round(time.Millisecond).String()
	}
	return what
}
