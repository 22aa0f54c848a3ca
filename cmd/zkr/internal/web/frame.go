package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"
)

// files are what pages load beside themselves, and the frame around them.
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
	// Brand stands in the corner, Where beside it: what is shown.
	Brand, Where string
	// Filter is what the reader looks for. Default: no field for it if
	// FilterHint is empty too.
	Filter, FilterHint string
	// Hidden are further parameters that the filter's form sends along.
	Hidden map[string]string
	// Live is the path of the page's stream. Default: the page stays as it is.
	Live string
	// Of is all that tells what is shown from what another server would show at
	// the same address; it is what Stream is told.
	Of string
	// Regions: "nav", "status" and "main".
	Regions []Region
	// Keys are told with "?".
	Keys []Shortcut
	// Scripts are further scripts, below Assets or elsewhere on this server.
	Scripts []string
}

// Shortcut is a key, and what it does.
type Shortcut struct{ Keys, Does string }

// Keys are those that live.js knows on every page.
func Keys() []Shortcut {
	return []Shortcut{
		{"/", "filter"}, {"j  k", "next, previous"}, {"Enter", "open"}, {"u", "up"},
		{"1 … 9  0", "the pages, in their order"}, {"t", "light or dark"}, {"Esc", "leave the filter, close this"}, {"?", "this help"},
	}
}

// identity is short for what is shown, and for what shows it.
func identity(of string) string {
	sum := sha256.Sum256([]byte(tag("live.js") + "\x00" + of))
	return hex.EncodeToString(sum[:6])
}

// Serve writes the page.
func (f Frame) Serve(w http.ResponseWriter, r *http.Request, code int) {
	now := time.Now()
	data := struct {
		Frame
		Now     int64
		Digest  string
		ID      string
		Part    map[string]template.HTML
		Version map[string]string
	}{f, now.UnixMilli(), digest(f.Regions), identity(f.Of), map[string]template.HTML{}, map[string]string{}}
	for _, region := range f.Regions {
		var out strings.Builder
		region.write(&out, now)
		data.Part[region.Name] = template.HTML(out.String()) // made of blocks, which are HTML
	}
	for _, name := range []string{"style.css", "theme.js", "live.js"} {
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
		_, _ = w.Write([]byte(out.String())) // a client that has gone needs no answer
	}
}

// Asset serves what pages load beside themselves. They name it with its hash, so
// it may be kept.
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
