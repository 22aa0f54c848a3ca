package exporter_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stage is a server, a client that uses it, and an exporter.
type stage struct {
	*testing.T
	ctx    context.Context
	srv    *zktest.Server
	client *session.Client
	own    *session.Client // the exporter's
	e      *exporter.Exporter
}

func newStage(t *testing.T, root string, maxPaths int) *stage {
	t.Helper()
	srv, err := zktest.Start(&zktest.Options{Addr: world.OwnAddress(), TickTime: 500 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	s := &stage{T: t, ctx: ctx, srv: srv, e: exporter.New(root, maxPaths)}
	s.client = s.connect()
	s.own = s.connectWith(&session.Options{Observer: s.e})
	s.follow(s.e, s.own)
	return s
}

// follow runs an exporter until the test ends.
func (s *stage) follow(e *exporter.Exporter, own *session.Client) {
	running, stop := context.WithCancel(s.ctx)
	var done sync.WaitGroup
	// Waited for below; ends with the test.
	done.Go(func() { _ = e.Run(running, own) })
	s.Cleanup(func() { stop(); done.Wait() })
}

func (s *stage) connect() *session.Client {
	s.Helper()
	return s.connectWith(nil)
}

func (s *stage) connectWith(o *session.Options) *session.Client {
	s.Helper()
	c, err := session.Connect(s.ctx, s.srv.Addr(), o)
	require.NoError(s, err)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// scrape is one scrape: values by the names with the labels, {a="b"} and all.
func (s *stage) scrape() map[string]float64 {
	s.Helper()
	return scrape(s.T, s.e)
}

func scrape(t testing.TB, e *exporter.Exporter) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(scrapeText(t, e, "")))
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			slices.Sort(labels)
			name := strings.TrimPrefix(f.GetName(), "zkr_")
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			_, twice := out[name]
			require.False(t, twice, "%s occurs twice", name)
			out[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

// scrapeText is the text of one scrape, which was compressed on the way with this encoding.
func scrapeText(t testing.TB, e *exporter.Exporter, encoding string) string {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept-Encoding", encoding)
	e.Handler(prometheus.NewRegistry()).ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, encoding, w.Header().Get("Content-Encoding"))
	text := io.Reader(w.Body)
	if encoding != "" {
		unzip, err := gzip.NewReader(w.Body)
		require.NoError(t, err)
		unzip.Multistream(false) // some readers stop at the end of the first
		text = unzip
	}
	out, err := io.ReadAll(text)
	require.NoError(t, err)
	require.Zero(t, w.Body.Len(), "bytes behind the end")
	return string(out)
}

// aboutItself are the metrics of the exporter that are there without a tree.
var aboutItself = regexp.MustCompile(`^(last_refresh_timestamp_seconds|refresh_seconds|load_znodes|load_pending_znodes|session_losses_total|read_failures_total.*)$`) // read only

// withoutItself is a scrape without them.
func withoutItself(got map[string]float64) map[string]float64 {
	got = maps.Clone(got)
	maps.DeleteFunc(got, func(name string, _ float64) bool { return aboutItself.MatchString(name) })
	return got
}

// eventually waits until a scrape fits; explain says what is missing otherwise.
func (s *stage) eventually(fits func(map[string]float64) bool, explain ...func() string) map[string]float64 {
	s.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		got := s.scrape()
		if fits(got) {
			return got
		}
		if time.Now().After(end) {
			for _, e := range explain {
				s.Log(e())
			}
			s.Fatalf("not within a minute: %v", got)
		}
	}
}

// differences are the wanted series that got does not have.
func differences(want, got map[string]float64) (out []string) {
	for name, value := range want {
		if v, ok := got[name]; !ok || v != value {
			out = append(out, fmt.Sprintf("%s: %v (%v), want %v", name, v, ok, value))
		}
	}
	return out
}

func TestRecipesHaveSeries(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 1000)
	held, err := lock.New(s.client, "/locks/a", nil).Lock(s.ctx)
	require.NoError(t, err)
	waiting, stop := context.WithCancel(s.ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	other := s.connect()
	// Waited for above; ends with waiting.
	background.Go(func() { _, _ = lock.New(other, "/locks/a", nil).Lock(waiting) })
	_, err = lock.NewSemaphore(s.client, "/pool", 5, nil).Acquire(s.ctx, 2)
	require.NoError(t, err)
	leader, err := election.New(s.client, "/leader", nil).Campaign(s.ctx)
	require.NoError(t, err)
	// Waited for above; ends with waiting.
	background.Go(func() { _, _ = barrier.New(s.client, "/meet", 3, nil).Await(waiting) })
	_, err = counter.New(s.client, "/count", nil).Add(s.ctx, 42)
	require.NoError(t, err)
	_, err = discovery.NewGroup(s.client, "/group", nil).Join(s.ctx, "me", nil)
	require.NoError(t, err)
	_, err = workerctl.Submit(s.ctx, s.client, workerctl.Spec{Name: "count", Workers: 3}, &workerctl.Options{Root: "/jobs"})
	require.NoError(t, err)
	a := rebalanser.Open(s.client, "/shares", nil)
	require.NoError(t, a.Create(s.ctx))
	_, err = a.AddResources(s.ctx, "r1", "r2")
	require.NoError(t, err)
	tasks := dispatch.New(s.client, "/tasks", nil)
	_, err = tasks.Submit(s.ctx, dispatch.Task{ID: "t1"})
	require.NoError(t, err)
	_, err = tasks.Pause(s.ctx, "ann", "why")
	require.NoError(t, err)

	want := map[string]float64{
		"up": 1, "view_current": 1, "unreadable_znodes": 0,
		`holders{kind="mutex",path="/locks/a"}`: 1, `waiting{kind="mutex",path="/locks/a"}`: 1,
		`holders{kind="semaphore",path="/pool"}`: 1, `permits{path="/pool",state="total"}`: 5, `permits{path="/pool",state="held"}`: 2,
		`holders{kind="election",path="/leader"}`: 1, `leader_term{path="/leader"}`: 0, `leader_changes_total{path="/leader"}`: 0,
		`barrier_parties{kind="barrier",path="/meet",state="missing"}`: 2,
		`counter_value{path="/count"}`:                                 42,
		`members{kind="group",path="/group"}`:                          1,
		`job_size{path="/jobs/count"}`:                                 3, `job_workers{path="/jobs/count",state="missing"}`: 3,
		`rebalance_members{path="/shares"}`: 0, `rebalance_resources{path="/shares",state="all"}`: 2,
		`tasks{path="/tasks",state="waiting"}`: 1, `task_master{path="/tasks"}`: 0, `tasks_paused{path="/tasks"}`: 1,
		`things{kind="mutex"}`: 1,
	}
	got := s.eventually(func(got map[string]float64) bool {
		return len(differences(want, got)) == 0 && got[`longest_wait_seconds{kind="mutex",path="/locks/a"}`] > 0.5
	}, func() string { return strings.Join(differences(want, s.scrape()), "\n") })
	require.Positive(t, got["sessions"])
	require.Positive(t, got[`oldest_waiting_task_seconds{path="/tasks"}`])
	require.GreaterOrEqual(t, got[`longest_hold_seconds{kind="mutex",path="/locks/a"}`], 0.5)

	_, err = tasks.Resume(s.ctx)
	require.NoError(t, err)
	s.eventually(func(got map[string]float64) bool {
		paused, shown := got[`tasks_paused{path="/tasks"}`]
		return shown && paused == 0
	})

	require.NoError(t, leader.Resign(s.ctx))
	require.NoError(t, held.Unlock(s.ctx))
	s.eventually(func(got map[string]float64) bool {
		holders, exist := got[`holders{kind="election",path="/leader"}`]
		waiting := got[`waiting{kind="election",path="/leader"}`]
		return exist && holders == 0 && waiting == 0
	})
	_, err = election.New(other, "/leader", nil).Campaign(s.ctx)
	require.NoError(t, err)
	s.eventually(func(got map[string]float64) bool { return got[`leader_changes_total{path="/leader"}`] == 1 })
}

// While ZooKeeper is away, there are no series of the tree.
func TestOldValuesAreNotShown(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 1000)
	_, err := counter.New(s.client, "/count", nil).Add(s.ctx, 42)
	require.NoError(t, err)
	const series = `counter_value{path="/count"}`
	s.eventually(func(got map[string]float64) bool { return got[series] == 42 })
	require.True(t, s.e.IsCurrent())
	require.NoError(t, s.srv.Stop(1))
	got := s.eventually(func(got map[string]float64) bool { return got["view_current"] == 0 })
	require.Equal(t, map[string]float64{"up": 0, "view_current": 0}, withoutItself(got))
	require.False(t, s.e.IsCurrent())
	require.NoError(t, s.srv.Restart(1))
	s.eventually(func(got map[string]float64) bool { return got[series] == 42 && got["up"] == 1 })
	for _, lost := range s.srv.Sessions() { // the exporter's among them
		require.NoError(t, s.srv.ExpireSession(lost.ID))
	}
	_, err = counter.New(s.client, "/count", nil).Add(s.ctx, 1)
	require.NoError(t, err)
	got = s.eventually(func(got map[string]float64) bool { return got[series] == 43 && got["up"] == 1 })
	require.Positive(t, got["session_losses_total"])
}

// Before the first connection, and for a tree that may not be read: until it may.
func TestExporterWithoutATreeSaysSo(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]float64{"up": 0, "view_current": 0}, withoutItself(scrape(t, exporter.New("/", 10))))
	s := newStage(t, "/", 10)
	owner, err := session.Connect(s.ctx, s.srv.Addr(), &session.Options{Credentials: []session.Credential{session.Digest("me", "secret")}, ACL: session.CreatorACL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, owner.Close(s.ctx)) }()
	sess, err := owner.Session(s.ctx)
	require.NoError(t, err)
	_, err = sess.Create(s.ctx, "/secret", nil, session.Persistent, nil)
	require.NoError(t, err)

	e := exporter.New("/secret", 10)
	s.follow(e, s.client)
	s.e = e
	s.eventually(func(got map[string]float64) bool { return got["up"] == 1 && e.Failure() != nil })
	require.ErrorIs(t, e.Failure(), session.ErrNoAuth)
	require.Positive(t, s.scrape()[`read_failures_total{cause="no_permission"}`])
	require.Equal(t, map[string]float64{"up": 1, "view_current": 0}, withoutItself(s.scrape()))
	require.NoError(t, sess.Delete(s.ctx, "/secret", -1))
	s.eventually(func(got map[string]float64) bool { return got["view_current"] == 1 })
	require.NoError(t, e.Failure())
}

// Names and data of other clients can be anything that the servers accept.
func TestHostileNamesAreLabels(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 100)
	hostile := []string{"/quo\"te", "/back\\slash", "/tür", "/a b", "/{}", "/zero\u200bwidth"}
	for _, path := range hostile {
		_, err := lock.New(s.client, path, nil).Lock(s.ctx)
		require.NoError(t, err)
	}
	got := s.eventually(func(got map[string]float64) bool { return got[`things{kind="mutex"}`] >= float64(len(hostile)) })
	for _, path := range hostile {
		require.Contains(t, got, fmt.Sprintf(`holders{kind="mutex",path=%q}`, path))
	}
}

func TestManyPathsShareSeries(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 5)
	holds := map[string]*lock.Held{}
	for i := range 30 {
		path := fmt.Sprintf("/l%02d", i)
		h, err := lock.New(s.client, path, nil).Lock(s.ctx)
		require.NoError(t, err)
		holds[path] = h
	}
	const others = `holders{kind="mutex",path="other"}`
	got := s.eventually(func(got map[string]float64) bool { return got[`things{kind="mutex"}`] == 30 })
	var paths []string
	for name := range got {
		if strings.HasPrefix(name, "holders{") {
			paths = append(paths, name)
		}
	}
	require.Len(t, paths, 6, "%q", paths)
	require.InDelta(t, 25, got[others], 0)

	// A path keeps its series while it exists, and leaves them to another one.
	slices.Sort(paths)
	gone := paths[0]
	path := strings.TrimSuffix(strings.TrimPrefix(gone, `holders{kind="mutex",path="`), `"}`)
	require.NoError(t, holds[path].Unlock(s.ctx))
	got = s.eventually(func(got map[string]float64) bool { return got[`things{kind="mutex"}`] == 29 })
	require.NotContains(t, got, gone)
	for _, kept := range paths[1:5] {
		require.Contains(t, got, kept)
	}
	require.InDelta(t, 24, got[others], 0)
}

// An exporter that is started again gives labels to other things than before. An election
// that had one must keep it: the alert takes an election without a series for one without
// candidates.
func TestElectionsAreTheFirstToHaveSeriesAtTheStart(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 3)
	for i := range 5 {
		_, err := lock.New(s.client, fmt.Sprintf("/a%d", i), nil).Lock(s.ctx)
		require.NoError(t, err)
	}
	_, err := counter.New(s.client, "/b", nil).Add(s.ctx, 3)
	require.NoError(t, err)
	_, err = election.New(s.client, "/z", nil).Campaign(s.ctx)
	require.NoError(t, err)
	s.e = exporter.New("/", 3)
	s.follow(s.e, s.connect())
	got := s.eventually(func(got map[string]float64) bool {
		return got[`things{kind="mutex"}`] == 5 && got[`things{kind="election"}`] == 1
	})
	require.InDelta(t, 1, got[`holders{kind="election",path="/z"}`], 0)
	require.InDelta(t, 3, got[`counter_value{path="/b"}`], 0)
	require.InDelta(t, 1, got[`holders{kind="mutex",path="/a0"}`], 0)
	require.InDelta(t, 4, got[`holders{kind="mutex",path="other"}`], 0)
}

func TestNamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 10)
	_, err := lock.New(s.client, "/locks/a", nil).Lock(s.ctx)
	require.NoError(t, err)
	s.eventually(func(got map[string]float64) bool { return got[`holders{kind="mutex",path="/locks/a"}`] == 1 })
	problems, err := promlint.New(strings.NewReader(scrapeText(t, s.e, ""))).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

// The findings about servers are there also while no quorum answers, and go when it does.
func TestFindingsOfServersAreExported(t *testing.T) {
	srv, err := zktest.Start(&zktest.Options{Servers: 3, TickTime: 500 * time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	for i := range 2 {
		require.NoError(t, srv.Stop(i+1))
	}
	e := exporter.New("/", 1)
	require.Empty(t, findings(t, e), "none before the servers were asked")
	audit := func(want ...string) {
		t.Helper()
		ctx, stop := context.WithCancel(context.Background())
		var done sync.WaitGroup
		// Waited for below; ends with ctx.
		done.Go(func() { e.Audit(ctx, []string{srv.ServerAddr(1), srv.ServerAddr(2), srv.ServerAddr(3)}, 0) })
		require.Eventually(t, func() bool {
			got := findings(t, e)
			return slices.Equal(want, got)
		}, time.Minute, 10*time.Millisecond)
		stop()
		done.Wait()
	}
	audit("ensemble.no-leader", "server.not-serving", "server.unreachable", "server.unreachable")
}

// The label of a finding must be UTF-8, and the texts of two findings that are not may become
// the same: one series, and a scrape that does not fail.
func TestFindingsWithoutValidTextAreOneSeries(t *testing.T) {
	t.Parallel()
	e := exporter.New("/", 1)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	// Waited for below; ends with ctx.
	done.Go(func() { e.Audit(ctx, []string{"no\xffhost\n\":1", "no\xfehost\n\":1", "nohost:x"}, 0) })
	defer done.Wait()
	defer stop()
	require.Eventually(t, func() bool { return len(findings(t, e)) > 0 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []string{"server.unreachable", "server.unreachable"}, findings(t, e))
	got := scrape(t, e)
	require.InDelta(t, 1, got[`finding{level="bad",name="server.unreachable",where="no`+"\uFFFD"+`host\n\":1"}`], 0, "%v", got)
}

// findings are the names of the findings in a scrape, sorted.
func findings(t *testing.T, e *exporter.Exporter) (out []string) {
	t.Helper()
	for series := range scrape(t, e) {
		if rest, ok := strings.CutPrefix(series, "finding{"); ok {
			_, name, _ := strings.Cut(rest, `name="`)
			name, _, _ = strings.Cut(name, `"`)
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
