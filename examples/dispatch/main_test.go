package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/examples/internal/verdict"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestMain is the program itself when it is told so.
func TestMain(m *testing.M) {
	if os.Getenv("DISPATCH") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestTasksEndOnceThoughOthersDie plays two scenarios: a worker dies, and a master lags.
// Nothing is left of them. M13, M16, M27, M28
func TestTasksEndOnceThoughOthersDie(t *testing.T) {
	t.Setenv("DISPATCH", "1")
	// A machine that stalls costs no session, except the sessions that are meant to be lost.
	const lasting = 40 * time.Second
	server, err := zktest.Start(&zktest.Options{TickTime: 250 * time.Millisecond, MaxSessionTimeout: lasting})
	require.NoError(t, err)
	defer server.Close()
	c := settings{
		session: lasting,
		servers: server.Addr(), path: "/dispatch", second: 60 * time.Millisecond, mortal: 3 * time.Second,
		scenario: "c1w2m1,c2w2m2-lags", tasks: 20, retention: time.Hour,
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out bytes.Buffer
	require.NoError(t, runScenarios(ctx, c, &out), out.String())
	one, two, ok := strings.Cut(out.String(), "\n\nc2w2m2-lags: ")
	require.True(t, ok, out.String())
	assert.Contains(t, one, "\nRIGHT: ")
	assert.Regexp(t, `(?m)^ +\d+\.\d{3}  b   KILLED$`, one)
	assert.Regexp(t, `(?m)^ +\d+\.\d{3}  m1  gives c1-\d\d to a, again$`, one)
	assert.Regexp(t, `[23]\d assignments of 20 tasks, [1-9]\d? of them again`, one)
	assert.Contains(t, two, "\nRIGHT: ")
	assert.Regexp(t, `(?s)m1  LEADS.*m1  FROZEN\n.*m2  LEADS.*m1  THAWED\n`, two)
	assert.Regexp(t, `4\d assignments of 40 tasks, none of them again`, two)
	_, err = server.Get("/dispatch")
	assert.ErrorIs(t, err, zktest.ErrNoNode)
}

func TestUnknownNamesAreRefused(t *testing.T) {
	require.ErrorContains(t, runScenarios(t.Context(), settings{scenario: "c9"}, &bytes.Buffer{}), `-scenario is "c9"`)
	require.ErrorContains(t, settings{role: "king"}.roleFunc()(t.Context(), settings{}, &bytes.Buffer{}), `-role is "king"`)
}

// TestBystanderReadsTheTree: the bystander notes which znodes were created, deleted
// or changed, and that something may be missing.
func TestBystanderReadsTheTree(t *testing.T) {
	var out bytes.Buffer
	b := newBystander("/q", &out)
	b.leader = "m1"
	see := func(what session.EventType, path string) { b.onEvent(session.Event{Type: what, Path: path}) }
	for _, path := range []string{
		"/q", "/q/tasks", "/q/tasks/0a", "/q/tasks/0a/c1-01", "/q/data/0a/c1-01~1", "/q/alive/a~1", "/q/workers/a~1", "/q/workers/a~1/c1-01~1-7-1",
	} {
		see(session.EventCreated, path)
	}
	assert.Empty(t, b.waitingLocked())
	assert.True(t, b.alive["a"])
	assert.Len(t, b.has["a"], 1)
	see(session.EventDataChanged, "/q/tasks/0a/c1-01")
	see(session.EventDeleted, "/q/workers/a~1/c1-01~1-7-1")
	assert.Equal(t, []string{"c1-01"}, b.waitingLocked())
	see(session.EventCreated, "/q/workers/b~1/c1-01~2-7-2")
	see(session.EventDeleted, "/q/workers/b~1/c1-01~2-7-2")
	see(session.EventCreated, "/q/results/0a/c1-01")
	see(session.EventDeleted, "/q/tasks/0a/c1-01")
	see(session.EventCreated, "/q/workers/b~1/c2-01~1-7-3")
	see(session.EventDeleted, "/q/workers/b~1/c2-01~1-7-3")
	see(session.EventCreated, "/q/workers/a~1/c2-01~1-7-4")
	see(session.EventDeleted, "/q/alive/a~1")
	assert.Empty(t, b.waitingLocked())
	want := newHistory()
	want.submitted["c1-01"], want.ended["c1-01"], want.removed["c1-01"] = 1, 1, 1
	want.given["c1-01"] = []assignment{{"a", "1"}, {"b", "2"}}
	want.given["c2-01"] = []assignment{{"b", "1"}, {"a", "1"}}
	assert.Equal(t, want, b.seen)
	assert.Equal(t, "m1  gives c1-01 to a\nm1  gives c1-01 to b, again\nm1  gives c2-01 to b\nm1  gives c2-01 to a, which b gave back\na   is seen no more\n",
		regexp.MustCompile(`(?m)^ *[\d.]+  `).ReplaceAllString(out.String(), ""))
	see(session.EventReattached, "/q")
	assert.True(t, b.seen.gap)
}

// A worker may give back what it has not begun, and the next one has the same attempt.
func TestJudgeAcceptsWhatWasGivenBack(t *testing.T) {
	h := newHistory()
	h.submitted["t1"], h.ended["t1"], h.removed["t1"] = 1, 1, 1
	h.given["t1"] = []assignment{{"a", "1"}, {"b", "1"}}
	o := judge(h, 1, nil, nil)
	require.NoError(t, o.Err())
	assert.Contains(t, o.String(), "2 assignments of 1 tasks, none of them again, 1 after a worker gave the task back; 1 to a, 1 to b\n")
	h.given["t1"][1].attempt = "2"
	require.Error(t, judge(h, 1, nil, nil).Err())
}

// TestJudgeSees whatever is wrong.
func TestJudgeSees(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(h *history)
		left  []string
		says  string
	}{
		"nothing":                        {func(*history) {}, nil, ""},
		"a watch with a gap":             {func(h *history) { h.gap = true }, nil, "the watch was interrupted"},
		"a task that was lost":           {func(h *history) { delete(h.ended, "t1") }, nil, "t1 has ended 0 times"},
		"a task that ended twice":        {func(h *history) { h.ended["t2"]++ }, nil, "t2 has ended 2 times"},
		"a task that came twice":         {func(h *history) { h.submitted["t2"]++ }, nil, "t2 was created 2 times"},
		"a task that is kept":            {func(h *history) { delete(h.removed, "t1") }, nil, "t1 was removed 0 times"},
		"too few tasks":                  {func(h *history) { delete(h.submitted, "t2"); delete(h.ended, "t2"); delete(h.removed, "t2") }, nil, "there were 1 tasks"},
		"a task that no worker has done": {func(h *history) { delete(h.given, "t1") }, nil, "t1 was given to no worker"},
		"a task without a submission":    {func(h *history) { h.ended["t3"] = 1 }, nil, "t3 was never submitted"},
		"a task taken from the living":   {func(h *history) { h.given["t1"] = []assignment{{"a", "1"}, {"b", "2"}} }, nil, "t1 was taken from a, which was not killed"},
		"something that is left":         {func(*history) {}, []string{"/q/tasks/0a/t1"}, "/q/tasks/0a/t1 is left"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			for _, id := range []string{"t1", "t2"} {
				h.submitted[id], h.ended[id], h.removed[id] = 1, 1, 1
			}
			h.given["t1"], h.given["t2"] = []assignment{{"a", "1"}}, []assignment{{"dead", "1"}, {"a", "2"}}
			c.spoil(h)
			v := judge(h, 2, map[string]bool{"dead": true}, c.left)
			if c.says == "" {
				require.NoError(t, v.Err())
				assert.Equal(t, "3 assignments of 2 tasks, 1 of them again; 2 to a, 1 to dead\nRIGHT: each task has ended exactly once, and nothing is left", v.String())
				return
			}
			require.ErrorIs(t, v.Err(), verdict.ErrWrong)
			require.Len(t, v.Charges(), 1)
			assert.Contains(t, v.String(), "\nWRONG, 1 times:\n  "+c.says)
		})
	}
}

func TestWordsThatAreNoFlagsAreRefused(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "foo")
	cmd.Env = append(os.Environ(), "DISPATCH=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
	require.Equal(t, "dispatch: unexpected argument \"foo\"\n", string(out))
}
