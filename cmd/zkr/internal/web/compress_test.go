package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnswersAreCompressedForClientsThatAcceptIt(t *testing.T) {
	long := strings.Repeat("text ", 1000)
	for name, c := range map[string]struct {
		accept, kind, text string
		code               int
		want               bool
	}{
		"a page":            {"gzip, deflate, br", "text/html", long, 200, true},
		"JSON":              {"br;q=1.0, gzip;q=0.8", "application/json", long, 200, true},
		"a missing page":    {"gzip", "text/html", long, 404, true},
		"nothing accepted":  {"", "text/html", long, 200, false},
		"another accepted":  {"br", "text/html", long, 200, false},
		"gzip refused":      {"gzip;q=0, *", "text/html", long, 200, false},
		"gzip refused, 0.0": {"gzip;q=0.0", "text/html", long, 200, false},
		"a short answer":    {"gzip", "text/html", "short", 200, false},
		"an empty answer":   {"gzip", "text/html", "", 204, false},
		"a stream":          {"gzip", "text/event-stream", long, 200, false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", c.accept)
		w := httptest.NewRecorder()
		Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.code)
			if c.text != "" {
				_, _ = w.Write([]byte(c.text[:len(c.text)/2]))
				_, _ = w.Write([]byte(c.text[len(c.text)/2:]))
			}
		})).ServeHTTP(w, r)
		assert.Equal(t, c.code, w.Code, name)
		assert.Equal(t, "Accept-Encoding", w.Header().Get("Vary"), name)
		body := io.Reader(w.Body)
		if require.Equal(t, c.want, w.Header().Get("Content-Encoding") == "gzip", name); c.want {
			assert.Less(t, w.Body.Len(), len(c.text)/10, name)
			var err error
			body, err = gzip.NewReader(w.Body)
			require.NoError(t, err, name)
		}
		got, err := io.ReadAll(body)
		require.NoError(t, err, name)
		assert.Equal(t, c.text, string(got), name)
	}
}
