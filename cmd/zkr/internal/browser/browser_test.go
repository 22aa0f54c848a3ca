package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const page = `<!doctype html><title>t</title><p id=a>one</p><button>b</button>
<script>
document.querySelector("button").onclick = () => { document.querySelector("#a").innerText = "two" }
document.onkeydown = e => { document.title = e.key }
</script>`

func TestPageIsSeenAndUsedAsByPeople(t *testing.T) {
	b := Require(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			_, _ = io.WriteString(w, page)
		case "/bad":
			_, _ = io.WriteString(w, "<script>throw new Error('woe')</script>")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	p := b.Page(t, 400, 300)
	p.Open(srv.URL)
	assert.Equal(t, "one", p.Text("#a"))
	p.Click("button")
	p.Says("two")
	p.Press("x")
	assert.Equal(t, "x", p.Eval("document.title"))
	assert.Equal(t, "400", p.Eval("innerWidth"))
	p.Size(300, 300)
	assert.Equal(t, "300", p.Eval("innerWidth"))
	for _, dark := range []bool{true, false} {
		p.Dark(dark)
		assert.Equal(t, map[bool]string{true: "true", false: "false"}[dark], p.Eval("matchMedia('(prefers-color-scheme: dark)').matches"))
	}
	assert.Equal(t, "\x89PNG", string(p.Screenshot()[:4]))

	p.Complaints() // of the missing icon
	p.Open(srv.URL + "/bad")
	require.Eventually(t, func() bool { return len(p.Complaints()) > 0 }, limit, limit/1000, "an error on the console is seen")
	p.Scripts(false)
	p.Open(srv.URL + "/bad")
	p.Open(srv.URL)
	p.Click("button")
	assert.Equal(t, "one", p.Text("#a"), "no script runs")
	assert.Empty(t, p.Complaints())
}
