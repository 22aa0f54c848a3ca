package exporter

import (
	"bytes"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// Handler serves the exporter's metrics and those of the registry, in Prometheus's text
// format. The series of the tree were encoded by the last refresh.
func (e *Exporter) Handler(registry *prometheus.Registry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// One sample decides about all of the answer: the tree's series are there if, and
		// only if, zkr_view_current says so.
		now := e.sample()
		mine := prometheus.NewRegistry()
		mine.MustRegister(own{e, now})
		head := &buffer{header: http.Header{}, status: http.StatusOK}
		plain := r.Clone(r.Context())
		plain.Header = http.Header{} // no other format, and no compression
		promhttp.HandlerFor(prometheus.Gatherers{mine, registry}, promhttp.HandlerOpts{}).ServeHTTP(head, plain)
		header := w.Header()
		header.Set("Content-Type", head.header.Get("Content-Type"))
		header.Add("Vary", "Accept-Encoding")
		if head.status != http.StatusOK {
			w.WriteHeader(head.status)
			_, _ = w.Write(head.Bytes()) // the client may have gone
			return
		}
		if web.AcceptsGzip(r.Header.Get("Accept-Encoding")) {
			header.Set("Content-Encoding", "gzip")
			_ = writeGzip(w, head.Bytes(), now.tree) // the client may have gone
			return
		}
		_, _ = w.Write(head.Bytes()) // as above
		_, _ = w.Write(now.tree.text)
	})
}

// buffer keeps an answer.
type buffer struct {
	bytes.Buffer
	header http.Header
	status int
}

func (b *buffer) Header() http.Header    { return b.header }
func (b *buffer) WriteHeader(status int) { b.status = status }
