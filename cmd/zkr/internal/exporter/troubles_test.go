package exporter_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A server that goes silent leaves the exporter's copy of the znodes behind: the age of the
// view says so until the view is no longer current.
func TestAgeOfTheViewGrowsInABlackHole(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 10)
	count := counter.New(s.client, "/count", nil)
	_, err := count.Add(s.ctx, 42)
	require.NoError(t, err)
	const series = `counter_value{path="/count"}`
	s.eventually(func(got map[string]float64) bool { return got[series] == 42 })
	s.srv.BlackHole(zktest.Link{Session: s.own.State().Session}, zktest.Both)
	silent := time.Now()
	_, err = count.Add(s.ctx, 1)
	require.NoError(t, err)
	late := 0
	s.eventually(func(got map[string]float64) bool {
		since := time.Since(silent).Seconds()
		if got["view_current"] == 1 {
			require.InDelta(t, 42, got[series], 0)
			// The answers from before the silence were handled within a moment.
			require.Greater(t, got["view_age_seconds"], since-0.5)
			late += map[bool]int{true: 1}[since > 3]
		}
		return got["view_current"] == 0
	})
	require.Positive(t, late, "a view that is older than the period of refreshes was seen")
	s.srv.Heal()
	s.eventually(func(got map[string]float64) bool { return got[series] == 43 })
}

// The first load shows its progress while the server does not answer.
func TestFirstLoadShowsItsProgress(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 10)
	slow := s.connect()
	sess, err := slow.Session(s.ctx)
	require.NoError(t, err)
	e := exporter.New("/", 10)
	s.srv.BlackHole(zktest.Link{Session: sess.ID()}, zktest.ToClient)
	s.follow(e, slow)
	s.e = e
	s.eventually(func(got map[string]float64) bool {
		_, loading := got["load_znodes"]
		return loading && got["view_current"] == 0
	})
	s.srv.Heal()
	got := s.eventually(func(got map[string]float64) bool { return got["view_current"] == 1 })
	require.NotContains(t, got, "load_znodes")
	require.InDelta(t, float64(time.Now().Unix()), got["last_refresh_timestamp_seconds"], 10)
	require.Less(t, got["refresh_seconds"], 10.)
}

// A subtree that the exporter may not read is counted, and hides nothing else.
func TestSubtreeThatMayNotBeReadIsCounted(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 10)
	owner := s.connectWith(&session.Options{Credentials: []session.Credential{session.Digest("me", "secret")}, ACL: session.CreatorACL()})
	_, err := lock.New(owner, "/secret/lock", nil).Lock(s.ctx)
	require.NoError(t, err)
	_, err = lock.New(s.client, "/locks/a", nil).Lock(s.ctx)
	require.NoError(t, err)
	// Servers from ZooKeeper 3.8.4 and 3.9.2 on do not announce the creation of a znode that a
	// client may not read: an exporter that starts later finds it.
	s.e = exporter.New("/", 10)
	s.follow(s.e, s.connect())
	got := s.eventually(func(got map[string]float64) bool {
		return got["unreadable_znodes"] > 0 && got[`holders{kind="mutex",path="/locks/a"}`] == 1
	})
	require.InDelta(t, 1, got["view_current"], 0)
	for name := range got {
		require.NotContains(t, name, "secret")
	}
}

// stateField is a state in a record, which the record's owner writes as it likes.
var stateField = regexp.MustCompile(`"(state|mode|kind|from|to)":"[^"]*"`) // read only

// Records whose states are none add no series.
func TestRecordsWithOddStatesAddNoSeries(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 100)
	_, err := workerctl.Submit(s.ctx, s.client, workerctl.Spec{Name: "count", Workers: 3}, &workerctl.Options{Root: "/jobs"})
	require.NoError(t, err)
	a := rebalanser.Open(s.client, "/shares", nil)
	require.NoError(t, a.Create(s.ctx))
	for i := range 20 {
		_, err = dispatch.New(s.client, "/tasks", nil).Submit(s.ctx, dispatch.Task{ID: fmt.Sprint(i)})
		require.NoError(t, err)
	}
	before := s.eventually(func(got map[string]float64) bool { return got[`tasks{path="/tasks",state="waiting"}`] == 20 })
	sess, err := s.client.Session(s.ctx)
	require.NoError(t, err)
	changed := 0
	var spoil func(path string)
	spoil = func(at string) {
		old, _, err := sess.Get(s.ctx, at)
		require.NoError(t, err)
		odd := strconv.Itoa(changed) + "\\n\\\"}" + "\xff"
		if data := stateField.ReplaceAll(old, []byte(`"$1":"`+odd+`"`)); string(data) != string(old) {
			require.NoError(t, s.srv.Set(at, data))
			changed++
		}
		children, _, err := sess.Children(s.ctx, at)
		require.NoError(t, err)
		for _, child := range children {
			spoil(path.Join(at, child))
		}
	}
	for _, root := range []string{"/jobs", "/shares", "/tasks"} {
		spoil(root)
	}
	require.Greater(t, changed, 20)
	got := s.eventually(func(got map[string]float64) bool { return got[`tasks{path="/tasks",state="waiting"}`] != 20 })
	require.Less(t, len(got), len(before)+12, "%v", got)
	for name := range got {
		require.NotContains(t, name, "\n")
		require.NotContains(t, name, "}\\", name)
	}
	require.Positive(t, got[`thing_problems{kind="task_queue",level="bad",path="/tasks",problem="unreadable"}`], "%v", got)
}

// A move counts also if it was over before the exporter looked, and so does how long a task
// has been with its worker.
func TestMovesAndAssignedTasksAreSeen(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 10)
	a := rebalanser.Open(s.client, "/shares", nil)
	require.NoError(t, a.Create(s.ctx))
	_, err := a.AddResources(s.ctx, "r1", "r2", "r3")
	require.NoError(t, err)
	untilEnd := func(ctx context.Context) error { <-ctx.Done(); return nil }
	run := func(run func(context.Context) error) (stop func()) {
		ctx, cancel := context.WithCancel(s.ctx)
		var running sync.WaitGroup
		// Waited for by stop; ends with ctx.
		running.Go(func() { _ = run(ctx) })
		return func() { cancel(); running.Wait() }
	}
	member := func() (stop func()) {
		return run(rebalanser.New(s.connect(), "/shares", rebalanser.Each(func(ctx context.Context, _ *rebalanser.Resource) error { return untilEnd(ctx) }), nil).Run)
	}
	all := func(members, moves float64) func(map[string]float64) bool {
		return func(got map[string]float64) bool {
			return got[`rebalance_members{path="/shares"}`] == members && got[`rebalance_moves_total{path="/shares"}`] == moves &&
				got[`rebalance_resources{path="/shares",state="moving"}`] == 0 && got[`rebalance_resources{path="/shares",state="unowned"}`] == 0
		}
	}
	stop := member()
	s.eventually(all(1, 0))
	stop()
	defer member()()
	s.eventually(all(1, 3))

	defer run(dispatch.NewMaster(s.client, "/tasks", nil).Run)()
	busy := func(ctx context.Context, _ *dispatch.Attempt) ([]byte, error) { return nil, untilEnd(ctx) }
	defer run(dispatch.NewWorker(s.client, "/tasks", busy, nil).Run)()
	_, err = dispatch.New(s.client, "/tasks", nil).Submit(s.ctx, dispatch.Task{ID: "t1"})
	require.NoError(t, err)
	s.eventually(func(got map[string]float64) bool {
		return got[`tasks{path="/tasks",state="assigned"}`] == 1 && got[`oldest_assigned_task_seconds{path="/tasks"}`] > 1 &&
			got[`oldest_waiting_task_seconds{path="/tasks"}`] == 0
	})
}

// The recipes of Curator and Kazoo have series: the znodes are those that the libraries
// have made (package recognize has the files).
func TestForeignRecipesHaveSeries(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 100)
	sessions := map[string]*session.Session{}
	for _, name := range []string{"curator-mutex", "curator-latch", "curator-rw", "curator-semaphore", "curator-services", "curator-double-waiting", "kazoo-lock", "kazoo-election", "kazoo-semaphore", "kazoo-counter", "kazoo-party", "kazoo-queue"} {
		text, err := os.ReadFile("../ui/recognize/testdata/foreign/" + name + ".golden")
		require.NoError(t, err)
		znodes, _, _ := strings.Cut(string(text), "--\n")
		lines := strings.Split(strings.TrimSpace(znodes), "\n")
		slices.SortStableFunc(lines, func(a, b string) int { return creation(a) - creation(b) })
		for _, line := range lines {
			s.plant(sessions, line)
		}
	}
	want := map[string]float64{
		`holders{kind="mutex",path="/cur/mutex"}`: 1, `waiting{kind="mutex",path="/cur/mutex"}`: 1,
		`holders{kind="election",path="/cur/latch"}`: 1, `waiting{kind="election",path="/cur/latch"}`: 1,
		`holders{kind="rwlock",path="/cur/rw"}`: 1, `waiting{kind="rwlock",path="/cur/rw"}`: 1,
		`permits{path="/cur/semaphore",state="held"}`: 2, `waiting{kind="semaphore",path="/cur/semaphore"}`: 2,
		`members{kind="service",path="/cur/services/web"}`: 2,
		`holders{kind="mutex",path="/kaz/lock"}`:           1, `waiting{kind="mutex",path="/kaz/lock"}`: 1,
		`holders{kind="election",path="/kaz/election"}`: 1, `leader_changes_total{path="/kaz/election"}`: 0,
		`permits{path="/kaz/semaphore",state="total"}`: 2, `permits{path="/kaz/semaphore",state="held"}`: 2,
		`counter_value{path="/kaz/counter"}`: 42, `members{kind="group",path="/kaz/party"}`: 2,
	}
	s.eventually(func(got map[string]float64) bool { return len(differences(want, got)) == 0 },
		func() string { return strings.Join(differences(want, s.scrape()), "\n") })
}

// creation is the number of the transaction that has created the znode of a line (z17).
func creation(line string) int {
	head, _, _ := strings.Cut(line, " =")
	for _, word := range strings.Fields(head)[1:] {
		if n, ok := strings.CutPrefix(word, "z"); ok {
			n, _ := strconv.Atoi(n)
			return n
		}
	}
	return 0
}

// plant creates the znode of a line: its path, the session that owns it (e1, e2, ...), its
// version (v1) and its data.
func (s *stage) plant(sessions map[string]*session.Session, line string) {
	s.Helper()
	head, data, _ := strings.Cut(line, " =")
	words := strings.Fields(head)
	for at := 1; at < len(words[0]); at++ {
		if words[0][at] == '/' && !s.exists(words[0][:at]) {
			require.NoError(s, s.srv.Create(words[0][:at], nil))
		}
	}
	owner := slices.IndexFunc(words, func(w string) bool { return w[0] == 'e' })
	if owner < 0 {
		require.NoError(s, s.srv.Create(words[0], []byte(data)))
		if slices.Contains(words, "v1") {
			require.NoError(s, s.srv.SetVersion(words[0], 1))
		}
		return
	}
	name := words[owner]
	if sessions[name] == nil {
		var err error
		sessions[name], err = s.connect().Session(s.ctx)
		require.NoError(s, err)
	}
	_, err := sessions[name].Create(s.ctx, words[0], []byte(data), session.Ephemeral, nil)
	require.NoError(s, err)
}

func (s *stage) exists(path string) bool {
	sess, err := s.client.Session(s.ctx)
	require.NoError(s, err)
	_, _, err = sess.Get(s.ctx, path)
	return err == nil
}
