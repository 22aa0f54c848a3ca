//go:build linux

package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Chromium drops the requests of a page when an address of the machine comes or goes,
// as those of ensembles in network namespaces do while other packages are tested.
func TestPageIsOpenedAgainAfterAChangeOfTheNetwork(t *testing.T) {
	requireRoot(t)
	b := Require(t)
	device := fmt.Sprintf("zkb%d", os.Getpid()%1e6)
	change := func(args string) {
		out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
		require.NoError(t, err, "ip %s: %s", args, out)
	}
	change("link add " + device + " type bridge")
	t.Cleanup(func() { change("link del " + device) })
	p := b.Page(t, 400, 300)
	const scripts, connections = 8, 6 // of Chromium to a server
	var pages, running atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			pages.Add(1)
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `<!doctype html><title>0</title><link rel=icon href="data:,">`)
			for i := range scripts {
				_, _ = fmt.Fprintf(w, "<script src=%d.js></script>", i)
			}
			return
		}
		// The first requests hold all connections. The others, which wait, are dropped.
		if running.Add(1) == connections {
			change("addr add 192.0.2.1/24 dev " + device)
			change("link set " + device + " up")
		}
		again := time.NewTicker(limit / 10000)
		defer again.Stop()
		for p.countDropped() == 0 && r.Context().Err() == nil {
			<-again.C
		}
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, `document.title++`)
	}))
	t.Cleanup(srv.Close)
	p.Open(srv.URL)
	assert.Equal(t, strconv.Itoa(scripts), p.Eval("document.title"))
	assert.Equal(t, int32(2), pages.Load())
	assert.Empty(t, p.Complaints())
}
