package cluster

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

//go:embed assets
var assets embed.FS

// pieces are the blocks of the page.
var pieces = template.Must(template.New("").Funcs(template.FuncMap{
	"ago": web.Ago, "short": short, "seconds": seconds, "moment": moment, "percent": percent, "gap": gap, "millis": millis,
}).ParseFS(assets, "assets/page.html")) // read only

// SiteOptions configure a site, and the permission to give orders.
type SiteOptions struct {
	// Servers of ZooKeeper, as people are told. Default: not told.
	Servers string
	// Hosts are the accepted host names. Default: this machine's.
	Hosts web.Hosts
	// Orders: clients with the secret may kill nodes, and so on. Default: the
	// site is read-only.
	Orders bool
	// Open: any client that can read the page may give orders. Use Open only for
	// sites that only this machine can reach. Default: a client must send the
	// secret once, as "/?token=...".
	Open bool
	// Secret of this run. Default: empty, orders are refused.
	Secret Secret
}

// Site is the page, with its data.
type Site struct {
	monitor *Monitor
	crew    *Crew
	opts    SiteOptions
	streams chan struct{} // a seat for each page with updates
}

// mostStreams is how many pages a site keeps up to date. Others can be read.
const mostStreams = 64

// NewSite makes a site; crew is nil if the nodes run elsewhere.
func NewSite(m *Monitor, crew *Crew, o SiteOptions) *Site {
	return &Site{monitor: m, crew: crew, opts: o, streams: make(chan struct{}, mostStreams)}
}

// Handler serves the page:
//
//	GET  /, /index             the page
//	GET  /cluster/summary      the leader's summary; 404 while no node leads, 503
//	                           while the coordinator does not answer
//	GET  /cluster/state        all that the page shows, as JSON
//	GET  /live                 the changes of the page
//	POST /nodes                add a node
//	POST /nodes/NAME/ORDER     kill, freeze, resume, cut, heal, resign, start
//
// All answers come from the last view of the monitor: more requests to the site
// cause no more requests to nodes.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /index", s.page)
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("GET "+web.Assets, web.Asset)
	mux.HandleFunc("GET /cluster.css", file("cluster.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /cluster.js", file("cluster.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /cluster/summary", s.summary)
	mux.HandleFunc("GET /cluster/state", func(w http.ResponseWriter, _ *http.Request) {
		v := s.monitor.View()
		writeJSON(w, http.StatusOK, struct {
			View
			Figures
		}{v, Sum(v.Failovers)})
	})
	mux.HandleFunc("POST /nodes", s.add)
	mux.HandleFunc("POST /nodes/{name}/{order}", s.order)
	return web.Guard(s.opts.Hosts, mux)
}

func file(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // a client that has gone needs no answer
	}
}

func (s *Site) summary(w http.ResponseWriter, _ *http.Request) {
	switch v := s.monitor.View(); {
	case errors.Is(v.Err, ErrNoCoordinator):
		refuse(w, http.StatusNotFound, v.Err)
	case v.Err != nil:
		refuse(w, http.StatusServiceUnavailable, v.Err)
	default:
		writeJSON(w, http.StatusOK, v.Summary)
	}
}

// cookie is the name of the cookie for the key derived from the secret.
const cookie = "zkr-demo-token"

// knows reports whether the reader of the page may be shown the orders.
func (s *Site) knows(r *http.Request) bool {
	if !s.opts.Orders || s.opts.Open {
		return s.opts.Orders
	}
	c, err := r.Cookie(cookie)
	return err == nil && same(c.Value, s.opts.Secret.key(forCookie))
}

func (s *Site) page(w http.ResponseWriter, r *http.Request) {
	if token := r.URL.Query().Get("token"); token != "" {
		// The token must not stay in the address bar and the browser's history.
		if s.opts.Orders && same(token, string(s.opts.Secret)) {
			http.SetCookie(w, &http.Cookie{
				Name: cookie, Value: s.opts.Secret.key(forCookie), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	s.show(w, r, http.StatusOK, "")
}

// show writes the page. A page with a notice is the answer to a form, and is
// not updated.
func (s *Site) show(w http.ResponseWriter, r *http.Request, code int, notice string) {
	// Without any referrer, browsers do not name the origin of a form either.
	w.Header().Set("Referrer-Policy", "same-origin")
	regions, err := s.regions(s.knows(r), notice)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	live := "/live"
	if notice != "" {
		live = ""
	}
	web.Frame{
		Title: "Cluster", Brand: "zkr demo cluster", Where: s.opts.Servers, Live: live, Of: s.opts.Servers, Regions: regions,
		Scripts: []string{"/cluster.js"},
		Keys:    []web.Shortcut{{Keys: "t", Does: "light or dark"}, {Keys: "j  k", Does: "next, previous node"}, {Keys: "?", Does: "this help"}},
	}.Serve(w, r, code)
}

func (s *Site) live(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "Too many pages are open. This page is not updated; reload it to see changes.", http.StatusServiceUnavailable)
		return
	}
	may := s.knows(r)
	web.Stream(w, r, &s.monitor.hub, s.opts.Servers, func() ([]web.Region, error) { return s.regions(may, "") })
}

// shown is the data for the blocks.
type shown struct {
	View
	Figures
	Leader string
	Notice string // why an order was not carried out
	Here   bool   // there is a crew
	Token  string // of the forms; "" if the reader may give no orders
	Remote bool   // orders are possible, and the reader has not brought the secret
}

// regions are the page's parts at the moment.
func (s *Site) regions(may bool, notice string) ([]web.Region, error) {
	v := shown{View: s.monitor.View(), Notice: notice, Here: s.crew != nil, Remote: s.opts.Orders && !may}
	v.Figures = Sum(v.Failovers)
	if may {
		v.Token = s.opts.Secret.key(forForm)
	}
	if v.Err == nil {
		v.Leader = v.Summary.Leader
	}
	out := []web.Region{{Name: "nav"}, {Name: "status"}, {Name: "main"}}
	for i, names := range [][]string{{"nav"}, {"status"}, {"head", "notice", "problem", "tile-leader", "tile-last", "tile-median", "tile-p99", "others", "nodes", "trust", "history"}} {
		for _, name := range names {
			var html strings.Builder
			if err := pieces.ExecuteTemplate(&html, name, v); err != nil {
				return nil, fmt.Errorf("the page: %w", err)
			}
			if strings.TrimSpace(html.String()) == "" {
				continue
			}
			b := web.Block{Key: name, HTML: template.HTML(html.String())} // made by html/template
			switch {
			case strings.HasPrefix(name, "tile"):
				b.Class = "third quarter"
			case name == "trust" || name == "history":
				b.Class = "half"
			}
			out[i].Blocks = append(out[i].Blocks, b)
		}
	}
	return out, nil
}

// short is the distinctive part of a candidate's name: from the word before the
// number on.
func short(znode string) string {
	name := znode[strings.LastIndexByte(znode, '/')+1:]
	if at := strings.LastIndexByte(name, '-'); at > 0 {
		if before := strings.LastIndexByte(name[:at], '-'); before >= 0 {
			return name[before+1:]
		}
	}
	return name
}

func moment(t time.Time) string { return t.Local().Format("15:04:05.000") }
