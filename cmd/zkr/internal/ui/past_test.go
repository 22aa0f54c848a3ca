package ui_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// pastScene has files that a real server has written.
const pastScene = "../history/testdata/scene"

// archive is a dashboard of the past.
type archive struct {
	*testing.T
	url string
	// cut: the server answers no stream.
	cut atomic.Bool
}

// openPast serves files from a root on, and waits until they have been read.
func openPast(t *testing.T, root string, paths ...string) *archive {
	t.Helper()
	f, err := txnlog.OpenFolder("zk1", paths...)
	require.NoError(t, err)
	return servePast(t, root, &history.Origin{Servers: []*txnlog.Folder{f}})
}

func openRecorded(t *testing.T, root, dir string) *archive {
	t.Helper()
	f, err := recording.OpenFolder("recording", dir)
	require.NoError(t, err)
	return servePast(t, root, &history.Origin{Recording: f})
}

func servePast(t *testing.T, root string, origin *history.Origin) *archive {
	t.Helper()
	past := ui.NewPast(history.NewArchive(origin, root), origin.Names())
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	// Waited for by the cleanup; ends with ctx.
	go func() { over <- past.Run(ctx) }()
	a, pages := &archive{T: t}, ui.PastHandler(past, strings.Join(origin.Names(), ", "))
	srv := httptest.NewUnstartedServer(web.Guard(web.Hosts{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.cut.Load() && strings.HasPrefix(r.URL.Path, "/live/") {
			http.Error(w, "cut", http.StatusInternalServerError)
			return
		}
		pages.ServeHTTP(w, r)
	})))
	srv.Config.BaseContext = func(_ net.Listener) context.Context { return ctx } // streams end with it
	srv.Start()
	t.Cleanup(func() {
		cancel()
		srv.Close()
		require.ErrorIs(t, <-over, context.Canceled)
	})
	a.url = srv.URL
	require.Eventually(t, func() bool {
		_, text := a.get("/api/things")
		return strings.Contains(text, `"loaded": true`)
	}, limit, 5*time.Millisecond)
	return a
}

// get asks for a page, and does not follow redirections.
func (a *archive) get(path string) (code int, text string) {
	a.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Get(a.url + path)
	require.NoError(a, err)
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	require.NoError(a, err)
	if to := r.Header.Get("Location"); to != "" {
		return r.StatusCode, to
	}
	return r.StatusCode, string(body)
}

// page asks for a page that is whole.
func (a *archive) page(path string) string {
	a.Helper()
	code, text := a.get(path)
	require.Equal(a, http.StatusOK, code, path)
	return text
}

func TestPagesOfThePastAreAsOfTheirMoment(t *testing.T) {
	a := openPast(t, "/", pastScene)
	before, after := a.page("/locks?at=0xe"), a.page("/locks?at=0xf")
	assert.Contains(t, before, "held by one, 2 wait")
	assert.Contains(t, after, "held by two, 1 waits")
	assert.Contains(t, after, "State at <b>2026-11-26")
	assert.Contains(t, after, "after transaction <code>0xf</code>, from files of <code>zk1</code>")
	assert.Contains(t, after, "<title>0xf · Locks · zkr ui</title>")
	assert.Contains(t, after, "the past")
	assert.NotContains(t, after, "live · read-only")
	assert.Contains(t, after, `<div class="right"><time data-ago="1795715143795"`, "since the transaction that granted it")
	assert.Contains(t, a.page("/locks?at=2026-11-26T17:45:43.795Z"), "held by two")
	assert.Contains(t, a.page("/tree?at=0xf&path=/locks/report"), "not known of the past")
	code, _ := a.get("/servers?at=0xf")
	assert.Equal(t, http.StatusNotFound, code, "the servers tell of the present")
	code, _ = a.get("/action?at=0xf")
	assert.Equal(t, http.StatusNotFound, code)
}

var link = regexp.MustCompile(`href="([^"]*)"`) // read only

// Every link of a page leads to the moment of the page, or to another one.
func TestLinksKeepTheMoment(t *testing.T) {
	a := openPast(t, "/", pastScene)
	for _, path := range []string{"/?at=0xf", "/locks?at=0xf", "/?at=0xf&q=zzz", "/tree?at=0xf&path=/locks/report", "/sessions?at=0xf", "/nowhere?at=0xf"} {
		_, text := a.get(path)
		links := 0
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			u, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			require.NoError(t, err)
			if u.Fragment != "" || strings.HasPrefix(u.Path, "/assets/") {
				continue
			}
			links++
			assert.True(t, u.Query().Has("at"), "%s: %s", path, m[0])
			assert.Len(t, u.Query()["at"], 1)
		}
		assert.Greater(t, links, 12, path)
	}
	assert.Contains(t, a.page("/locks?at=0xf"), `<input type="hidden" name="at" value="0xf">`, "the filter keeps it")
}

// An event of the list leads to the moment after it.
func TestEventsLeadToTheMomentAfterThem(t *testing.T) {
	a := openPast(t, "/", pastScene)
	text := a.page("/?at=0xe")
	assert.Contains(t, text, `<li class="later"><a class="when" href="/?at=0xf"`)
	assert.Contains(t, text, `rel="next" href="?at=0xf"`)
	assert.Contains(t, text, `rel="prev" href="?at=0xc"`)
	assert.Contains(t, text, `href="?at=0x0">First known state`)
	first := a.page("/?at=0x0")
	assert.NotContains(t, first, `rel="prev"`)
	last := a.page("/?at=0x29")
	assert.NotContains(t, last, `rel="next"`)
	assert.Contains(t, last, "No contender waits")
}

// The address of a page names the same moment later on.
func TestRelativeMomentsBecomeAbsolute(t *testing.T) {
	a := openPast(t, "/", pastScene)
	for _, at := range []string{"5m", "-5m", "03:12", "2026-11-26%2018:00"} {
		code, to := a.get("/locks?q=report&at=" + at)
		require.Equal(t, http.StatusFound, code, at)
		u, err := url.Parse(to)
		require.NoError(t, err)
		_, err = time.Parse(time.RFC3339, u.Query().Get("at"))
		require.NoError(t, err, to)
		assert.Equal(t, "report", u.Query().Get("q"))
		assert.Equal(t, "/locks", u.Path)
		a.page(to)
	}
	code, text := a.get("/locks?at=yesterday")
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, text, "it must be a zxid, as in 0x200000017, or a moment")
	assert.Contains(t, text, `href="/locks?at=0x29"`, "the links lead to a moment that exists")
	code, _ = a.get("/api/things?at=yesterday")
	assert.Equal(t, http.StatusBadRequest, code)
}

func TestMomentsThatTheFilesDoNotReach(t *testing.T) {
	a := openPast(t, "/", pastScene)
	assert.Contains(t, a.page("/?at=2026-11-26T10:00:00Z"), "The files do not reach back to that moment.")
	assert.Contains(t, a.page("/?at=2026-11-27T10:00:00Z"), "The files end before that moment.")
	assert.NotContains(t, a.page("/?at=0x10"), `class="unknown"`)
}

func TestProgramsReadThePast(t *testing.T) {
	a := openPast(t, "/", pastScene)
	var got struct {
		Loaded bool
		Things []struct {
			Path  string
			Queue []struct {
				ID    string
				Holds bool
				Since time.Time
			}
		}
		Moment struct {
			At, First, Last, Previous, Next, Zxid string
			Time                                  time.Time
			Remarks                               []string
			Events                                []struct {
				At, Event string
				Later     bool
				Stay      struct{ Path, Client string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(a.page("/api/things?at=0xf&q=report")), &got))
	require.True(t, got.Loaded)
	require.Len(t, got.Things, 1)
	assert.Equal(t, "two", got.Things[0].Queue[0].ID)
	assert.Equal(t, got.Moment.Time.UnixMilli(), got.Things[0].Queue[0].Since.UnixMilli())
	assert.Equal(t, []string{"0xf", "0x0", "0x29", "0xe", "0x10", "0xf"}, []string{got.Moment.At, got.Moment.First, got.Moment.Last, got.Moment.Previous, got.Moment.Next, got.Moment.Zxid})
	assert.Empty(t, got.Moment.Remarks)
	i := slices.IndexFunc(got.Moment.Events, func(e struct {
		At, Event string
		Later     bool
		Stay      struct{ Path, Client string }
	}) bool {
		return e.At == "0xf" && e.Event == "granted"
	})
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, "two", got.Moment.Events[i].Stay.Client)
}

// Until everything has been read, pages say how much has.
func TestPageWhileTheFilesAreRead(t *testing.T) {
	f, err := txnlog.OpenFolder("zk1", pastScene)
	require.NoError(t, err)
	past := ui.NewPast(history.NewArchive(&history.Origin{Servers: []*txnlog.Folder{f}}, "/"), []string{"zk1"})
	w := httptest.NewRecorder()
	ui.PastHandler(past, "zk1").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/locks?at=0xf", nil))
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Contains(t, w.Body.String(), "Reading the files: 0 %")
	assert.Contains(t, w.Body.String(), `<noscript><meta http-equiv="refresh" content="2"></noscript>`)
	assert.Contains(t, w.Body.String(), `data-live="/live/locks"`, "the stream brings the page")
	assert.Contains(t, w.Body.String(), `data-region="time"`)
}

// copied copies the log of the scene.
func copied(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(pastScene, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	return dir
}

// Damage is told on the pages that it concerns, and marked on the time line.
func TestDamageIsToldOnThePage(t *testing.T) {
	dir := copied(t, "log.1", "snapshot.0")
	path := filepath.Join(dir, "log.1")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[len(b)/2] ^= 0xff
	require.NoError(t, os.WriteFile(path, b, 0o600))
	a := openPast(t, "/", dir)
	last := a.page("/locks")
	assert.Contains(t, last, "The state may be wrong: 2 findings about the files up to here.")
	assert.Contains(t, last, "corrupt")
	assert.Contains(t, last, `<rect class="gap"`)
	assert.Contains(t, a.page("/"), "About the files")
	first := a.page("/locks?at=0x5")
	assert.NotContains(t, first, "The state may be wrong")
	assert.Contains(t, first, `<rect class="gap"`)
}

func TestFilesWithoutLogsOrSnapshots(t *testing.T) {
	alone := openPast(t, "/", "../txnlog/testdata/zookeeper-3.9.3/plain/snapshot.100000014")
	text := alone.page("/")
	assert.Contains(t, text, "State at <b>an unknown time</b>, after transaction <code>0x100000014</code>")
	assert.NotContains(t, text, "1970")
	assert.NotContains(t, text, "0001-01-01")
	assert.NotContains(t, text, `id="line"`, "there is no time line for one state")
	assert.NotContains(t, text, "There was nothing")

	logs := openPast(t, "/", copied(t, "log.1"))
	assert.NotContains(t, logs.page("/?at=0x0"), "There was nothing")
	assert.Contains(t, logs.page("/locks?at=0xf"), "held by two")
}

// A recording that was made with a root is shown from there on, and its gaps are told.
func TestRecordingOfARootWithAGap(t *testing.T) {
	dir := t.TempDir()
	w, err := recording.NewWriter(dir, "/locks", nil)
	require.NoError(t, err)
	at := func(s int) time.Time { return time.Date(2026, 11, 26, 3, 0, s, 0, time.UTC) }
	z := func(path string, owner int64) *recording.Znode {
		return &recording.Znode{Path: path, Stat: recording.Stat{Czxid: 5, Mzxid: 5, Ctime: at(0).UnixMilli(), Mtime: at(0).UnixMilli(), Owner: owner}}
	}
	contender := z("/locks/a/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba820-lock-0000000001", 7)
	require.NoError(t, w.Start(recording.NewState(slices.Values([]*recording.Znode{z("/locks", 0), z("/locks/a", 0), contender})), at(2)))
	require.NoError(t, w.Append(&recording.Record{Kind: recording.Gap, At: at(9), After: at(5), Why: "the connection was lost"},
		&recording.Record{Kind: recording.Gone, At: at(9), After: at(5), Path: contender.Path}, &recording.Record{Kind: recording.Alive, At: at(12)}))
	require.NoError(t, w.Close("stopped"))
	a := openRecorded(t, "/", dir)
	first := a.page("/locks?at=2026-11-26T03:00:03Z")
	assert.NotContains(t, first, "There was nothing")
	assert.Contains(t, first, "held by 0x7")
	assert.Contains(t, first, "The beginning was not observed", "the grant was before")
	assert.Contains(t, a.page("/tree?at=2026-11-26T03:00:03Z"), ">a</bdi>", "the children of the root that is known")
	within := a.page("/locks?at=2026-11-26T03:00:07Z")
	assert.Contains(t, within, "Nothing was recorded from")
	assert.Contains(t, within, "the connection was lost")
	assert.Contains(t, within, `<rect class="gap" x="300.0" width="400.0"`)
	assert.NotContains(t, a.page("/locks?at=2026-11-26T03:00:10Z"), "Nothing was recorded")
	code, text := a.get("/locks?at=0x5")
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, text, "a recording has no order of zxids")
	assert.Contains(t, openRecorded(t, "/locks/b", dir).page("/"), "There was nothing at <code>/locks/b</code>")
}
