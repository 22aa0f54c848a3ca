package web

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// files are the assets of pages, and the frame around pages.
//
//go:embed assets
var files embed.FS

// frame is the page around the regions.
var frame = template.Must(template.New("frame.html").ParseFS(files, "assets/frame.html")) // read only

// Assets is where Asset is to be mounted.
const Assets = "/assets/"

// Frame is a page.
type Frame struct {
	Title string
	// Brand stands in the corner, Where beside it: the name of the shown system.
	Brand, Where string
	// Home is the target of the brand. Default: "/".
	Home string
	// Filter is the text in the search field. Without Filter and FilterHint, the
	// page has no search field.
	Filter, FilterHint string
	// Hidden are further parameters of the filter's form.
	Hidden map[string]string
	// Live is the path of the page's stream. Default: no updates.
	Live string
	// Refresh: a browser without scripts loads the page again every two seconds.
	Refresh bool
	// Of distinguishes the page from another server's page at the same address;
	// Stream gets the same value.
	Of string
	// Regions: "nav", "status" and "main"; and "time" above the main part, if there is one.
	Regions []Region
	// Keys are told with "?".
	Keys []Shortcut
	// Scripts are further scripts, below Assets or elsewhere on this server.
	Scripts []string
}

// Shortcut is a key with its effect.
type Shortcut struct{ Keys, Does string }

// Keys are the keys of live.js on every page.
func Keys() []Shortcut {
	return []Shortcut{
		{"/", "filter"}, {"j  k", "next, previous"}, {"Enter", "open"}, {"u", "up"}, {"c", "copy the path"},
		{"1 … 9  0", "the pages, in their order"}, {"t", "light or dark"}, {"Esc", "leave the filter, close this"}, {"?", "this help"},
	}
}

// identity is a short hash of the shown content and of the scripts.
func identity(of string) string {
	sum := sha256.Sum256([]byte(tag("live.js") + tag("copy.js") + "\x00" + of))
	return hex.EncodeToString(sum[:6])
}

// Serve writes the page.
func (f Frame) Serve(w http.ResponseWriter, r *http.Request, code int) {
	now := time.Now()
	f.Home = cmp.Or(f.Home, "/")
	data := struct {
		Frame
		Now     int64
		Timed   bool
		Digest  string
		ID      string
		Part    map[string]template.HTML
		Version map[string]string
	}{f, now.UnixMilli(), slices.ContainsFunc(f.Regions, func(r Region) bool { return r.Name == "time" }), digest(f.Regions), identity(f.Of), map[string]template.HTML{}, map[string]string{}}
	for _, region := range f.Regions {
		var out strings.Builder
		region.write(&out, now)
		data.Part[region.Name] = template.HTML(out.String()) // made of blocks, which are HTML
	}
	for _, name := range []string{"style.css", "theme.js", "live.js", "copy.js"} {
		data.Version[strings.ReplaceAll(name, ".", "_")] = Assets + name + "?" + tag(name)
	}
	var out strings.Builder
	if err := frame.Execute(&out, data); err != nil {
		http.Error(w, "the page cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(out.String())) // a disconnected client needs no answer
	}
}

// Asset serves the assets of pages. Pages name assets with their hashes, so
// browsers may cache them.
func Asset(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	data, err := files.ReadFile("assets/" + name)
	kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(name)]
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	if r.URL.RawQuery == tag(name) {
		w.Header().Set("Cache-Control", "max-age=86400, immutable")
	}
	_, _ = w.Write(data)
}

// tag tells versions of an asset apart.
func tag(name string) string {
	data, err := files.ReadFile("assets/" + name)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}
