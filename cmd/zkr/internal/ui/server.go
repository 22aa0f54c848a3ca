package ui

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// source has the views that a server shows.
type source interface {
	// viewAt returns the view of a moment, or the newest one for "". The error is the cause of
	// the end of ctx.
	viewAt(ctx context.Context, at string) (*View, error)
	// changes tell when there is another view.
	changes() *web.Hub
	// top is the path of the root.
	top() string
}

// server shows a source.
type server struct {
	source
	model *Model // the source, if it is of the present
	past  *Past  // or of the past
	where string
	of    string // distinguishes the server from others at the same address
	asker asker
	// actions are nil unless users may change something.
	actions *Actions
}

// Handler shows a model. where names the ensemble on the pages. The handler
// must be behind [web.Guard]. Default for actions: none, the handler only reads.
func Handler(m *Model, where string, actions *Actions) http.Handler {
	s := &server{source: m, model: m, where: where, of: where + "\x00" + m.root, actions: actions}
	reading := s.pages()
	if actions == nil {
		return reading
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == actionPath {
			s.serveAction(w, r) // not compressed: the length of a page must not tell about its token
			return
		}
		reading.ServeHTTP(w, r)
	})
}

// PastHandler shows the past. where names the files on the pages. The handler must be behind
// [web.Guard].
func PastHandler(p *Past, where string) http.Handler {
	return (&server{source: p, past: p, where: where, of: where + "\x00" + rand.Text()}).pages()
}

// pages serves what can be read.
func (s *server) pages() http.Handler {
	mux := http.NewServeMux()
	for _, p := range s.menu() {
		mux.HandleFunc("GET "+p.at+map[bool]string{true: "{$}"}[p.at == "/"], func(w http.ResponseWriter, r *http.Request) { s.servePage(w, r, p) })
		mux.HandleFunc("GET /live"+p.at, func(w http.ResponseWriter, r *http.Request) { s.serveStream(w, r, p) })
	}
	mux.HandleFunc("GET /api/things", s.serveAPI)
	mux.HandleFunc("GET "+web.Assets, web.Asset)
	if s.past != nil {
		mux.HandleFunc("GET "+timeLineScript, serveTimeLine)
	}
	mux.HandleFunc("GET /", s.serveMissing)
	return web.ReadOnly(web.Compress(mux))
}

// menu are the pages of the menu.
func (s *server) menu() []*page {
	if s.past == nil {
		return menuPages()
	}
	return slices.DeleteFunc(menuPages(), func(p *page) bool { return p.aside })
}

// servePage writes a page.
func (s *server) servePage(w http.ResponseWriter, r *http.Request, p *page) {
	if s.redirect(w, r) {
		return
	}
	q := s.parseQuestion(r, p)
	v, err := s.viewAt(r.Context(), q.Mark)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	regions, err := s.drawRegions(r.Context(), v, p, q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	f := web.Frame{
		Title: p.name + " · zkr ui", Brand: "zkr ui", Where: s.where, Filter: q.Filter, FilterHint: p.hint,
		Live: "/live" + p.at, Of: s.of, Regions: regions, Keys: web.Keys(), Hidden: q.hidden(),
	}
	if q.Path != "" {
		f.Title = recognize.Text([]byte(q.Path), 80) + " · zkr ui"
	}
	if q.Path != "" && p.list != nil {
		f.FilterHint = p.listHint
	}
	if v.Moment != nil {
		v.Moment.frame(&f)
	}
	f.Serve(w, r, max(q.statusCode(), v.Moment.statusCode()))
}

// serveStream keeps a page up to date.
func (s *server) serveStream(w http.ResponseWriter, r *http.Request, p *page) {
	q := s.parseQuestion(r, p)
	web.Stream(w, r, s.changes(), s.of, func() ([]web.Region, error) {
		v, err := s.viewAt(r.Context(), q.Mark)
		if err != nil {
			return nil, err
		}
		return s.drawRegions(r.Context(), v, p, q)
	})
}

// drawRegions draws a page's parts.
func (s *server) drawRegions(ctx context.Context, v *View, p *page, q *question) ([]web.Region, error) {
	if n, ok := v.Lookup(q.Path); ok && p.node && s.model != nil && !v.Health.Stale && q.access.needsRefresh(n, time.Now()) {
		q.access = s.asker.readAccess(ctx, s.model, n)
	}
	d := &drawing{View: v, question: *q, page: p, menu: s.menu(), Acts: s.actions != nil}
	if v.Moment != nil {
		return d.drawPast()
	}
	blocks, err := d.drawPage()
	if err != nil {
		return nil, err
	}
	return []web.Region{
		{Name: "status", Blocks: []web.Block{d.renderBlock("status", "", v.Health)}},
		{Name: "nav", Blocks: []web.Block{d.renderBlock("nav", "", d.menuLinks())}},
		{Name: "main", Blocks: blocks},
	}, d.err
}

// serveMissing answers for a page that does not exist.
func (s *server) serveMissing(w http.ResponseWriter, r *http.Request) {
	p := &page{at: r.URL.Path, name: "Not found", draw: (*drawing).drawMissing}
	q := s.parseQuestion(r, p)
	v, err := s.viewAt(r.Context(), q.Mark)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	regions, err := s.drawRegions(r.Context(), v, p, &question{Mark: q.Mark})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	web.Frame{Title: "Not found · zkr ui", Brand: "zkr ui", Home: v.Moment.home(), Where: s.where, Regions: regions, Keys: web.Keys()}.Serve(w, r, http.StatusNotFound)
}

// nodeURL is the page of a znode.
func nodeURL(path string) string { return "/tree?path=" + url.QueryEscape(path) }

// Health is how far the newest view can be relied on, as of half a second ago at most.
func (m *Model) Health() Health { return m.lastView().Health }
