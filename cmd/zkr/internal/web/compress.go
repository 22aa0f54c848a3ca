package web

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// worthwhile is the minimum length of compressed answers: a shorter answer fits
// into one packet anyway.
const worthwhile = 1400

// Compress compresses answers for clients that accept gzip: pages, JSON, styles
// and scripts. Streams, and answers written in small pieces, are not
// compressed.
func Compress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !AcceptsGzip(r.Header.Get("Accept-Encoding")) || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		c := &compressor{ResponseWriter: w}
		defer c.end()
		next.ServeHTTP(c, r)
	})
}

// AcceptsGzip reports whether a header Accept-Encoding accepts gzip.
func AcceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			_, q, given := strings.Cut(weight, "=")
			return !given || strings.Trim(q, " 0.") != ""
		}
	}
	return false
}

// compressor compresses an answer if its first piece is long enough.
type compressor struct {
	http.ResponseWriter
	status int // told, and not written yet; 0 if none is
	begun  bool
	zip    *gzip.Writer
}

// Unwrap leads a http.ResponseController to the connection.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader waits for the first piece, which decides about compression.
func (c *compressor) WriteHeader(status int) {
	if c.begun {
		return
	}
	c.status = status
}

func (c *compressor) Write(text []byte) (int, error) {
	if !c.begun {
		c.writeHeader(len(text))
	}
	if c.zip != nil {
		return c.zip.Write(text)
	}
	return c.ResponseWriter.Write(text)
}

// writeHeader writes the header.
func (c *compressor) writeHeader(length int) {
	c.begun = true
	head := c.Header()
	kind := head.Get("Content-Type")
	if length >= worthwhile && kind != "" && !strings.HasPrefix(kind, "text/event-stream") && head.Get("Content-Encoding") == "" {
		head.Set("Content-Encoding", "gzip")
		head.Del("Content-Length")
		c.zip = gzip.NewWriter(c.ResponseWriter)
	}
	if c.status != 0 {
		c.ResponseWriter.WriteHeader(c.status)
	}
}

func (c *compressor) end() {
	if !c.begun {
		c.writeHeader(0)
	}
	if c.zip != nil {
		_ = c.zip.Close() // a disconnected client needs no answer
	}
}
