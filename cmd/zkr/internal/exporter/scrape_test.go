package exporter_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
)

// A compressed scrape has the text of one that is not.
func TestCompressedScrapeIsTheSame(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 100)
	none := exporter.New("/", 1)
	require.Equal(t, scrapeText(t, none, ""), scrapeText(t, none, "gzip"), "without a tree")
	require.NoError(t, s.srv.Create("/locks", nil))
	for i := range 200 {
		require.NoError(t, s.srv.Create(fmt.Sprintf("/locks/l%03d", i), nil))
		require.NoError(t, s.srv.Create(contender(i, 0), []byte("host:1")))
	}
	s.eventually(func(got map[string]float64) bool { return got[`things{kind="mutex"}`] == 200 })
	require.Eventually(t, func() bool {
		plain, zipped := aged(scrapeText(t, s.e, "")), aged(scrapeText(t, s.e, "gzip"))
		return plain == zipped // unless a refresh came between them
	}, time.Minute, 10*time.Millisecond)
}

// aged is a text without what each scrape has of its own.
func aged(text string) string {
	return regexp.MustCompile(`zkr_view_age_seconds .*`).ReplaceAllString(text, "")
}

// contender is the path of the n-th contender of a lock.
func contender(lock, n int) string {
	return fmt.Sprintf("/locks/l%03d/_c_b6e1bacb-95aa-485f-b2a5-0269262%05d-lock-%010d", lock, lock, n)
}

// A scrape makes no series: it sends what the last refresh has encoded. With a series for
// each lock, it takes neither more memory nor much more time than with few.
func TestScrapeOfManyLocksIsCheap(t *testing.T) {
	const locks = 2000
	s := newStage(t, "/", locks)
	handler := s.e.Handler(prometheus.NewRegistry())
	scrape := func() int64 {
		w := &discard{header: http.Header{}}
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.size
	}
	require.NoError(t, s.srv.Create("/locks", nil))
	for i := range locks {
		require.NoError(t, s.srv.Create(fmt.Sprintf("/locks/l%03d", i), nil))
		require.NoError(t, s.srv.Create(contender(i, 0), []byte("host:1")))
	}
	s.eventually(func(got map[string]float64) bool { return got[`things{kind="mutex"}`] == locks })
	began := time.Now()
	allocations := testing.AllocsPerRun(20, func() { scrape() })
	require.Less(t, allocations, float64(locks), "allocations per scrape")
	require.Less(t, time.Since(began), 21*200*time.Millisecond, "21 scrapes")
	require.Greater(t, scrape(), int64(200_000))
}

// discard counts the bytes of an answer.
type discard struct {
	header http.Header
	size   int64
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(p []byte) (int, error) {
	d.size += int64(len(p))
	return len(p), nil
}
