package ui

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// server shows a model.
type server struct {
	model *Model
	where string
	of    string // distinguishes the server from others at the same address
	asker asker
	// actions are nil unless users may change something.
	actions *Actions
}

// Handler shows a model. where names the ensemble on the pages. The handler
// must be behind [web.Guard]. Default for actions: none, the handler only reads.
func Handler(m *Model, where string, actions *Actions) http.Handler {
	s := &server{model: m, where: where, of: where + "\x00" + m.root, actions: actions}
	mux := http.NewServeMux()
	for _, p := range menuPages() {
		mux.HandleFunc("GET "+p.at+map[bool]string{true: "{$}"}[p.at == "/"], func(w http.ResponseWriter, r *http.Request) { s.servePage(w, r, p) })
		mux.HandleFunc("GET /live"+p.at, func(w http.ResponseWriter, r *http.Request) { s.serveStream(w, r, p) })
	}
	mux.HandleFunc("GET /api/things", s.serveAPI)
	mux.HandleFunc("GET "+web.Assets, web.Asset)
	mux.HandleFunc("GET /", s.serveMissing)
	reading := web.ReadOnly(web.Compress(mux))
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

// servePage writes a page.
func (s *server) servePage(w http.ResponseWriter, r *http.Request, p *page) {
	q := s.parseQuestion(r, p)
	regions, err := s.drawRegions(r.Context(), p, q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	f := web.Frame{
		Title: p.name + " · zkr ui", Brand: "zkr ui", Where: s.where, Filter: q.Filter, FilterHint: p.hint,
		Live: "/live" + p.at, Of: s.of, Regions: regions, Keys: web.Keys(), Hidden: q.hidden(),
	}
	if p.node {
		f.Title = recognize.Text([]byte(q.Path), 80) + " · zkr ui"
		f.Hidden["path"] = q.Path
	}
	f.Serve(w, r, q.statusCode())
}

// serveStream keeps a page up to date.
func (s *server) serveStream(w http.ResponseWriter, r *http.Request, p *page) {
	q := s.parseQuestion(r, p)
	web.Stream(w, r, &s.model.Hub, s.of, func() ([]web.Region, error) { return s.drawRegions(r.Context(), p, q) })
}

// drawRegions draws a page's parts as of now.
func (s *server) drawRegions(ctx context.Context, p *page, q *question) ([]web.Region, error) {
	v := s.model.View()
	if n, ok := v.Lookup(q.Path); ok && p.node && !v.Health.Stale && q.access.needsRefresh(n, time.Now()) {
		q.access = s.asker.readAccess(ctx, s.model, n)
	}
	d := &drawing{View: v, question: *q, page: p, Acts: s.actions != nil}
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
	regions, err := s.drawRegions(r.Context(), p, &question{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	web.Frame{Title: "Not found · zkr ui", Brand: "zkr ui", Where: s.where, Regions: regions, Keys: web.Keys()}.Serve(w, r, http.StatusNotFound)
}

// nodeURL is the page of a znode.
func nodeURL(path string) string { return "/tree?path=" + url.QueryEscape(path) }

// Health is how far the newest view can be relied on, as of half a second ago at most.
func (m *Model) Health() Health { return m.lastView().Health }
