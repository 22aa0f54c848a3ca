//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/rebalancecmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/znodecmd"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// real runs zkr against Apache's server.
type real struct {
	*testing.T
	cluster *apache.Cluster
	servers string
}

func (r *real) start(args ...string) *zkrProcess { return start(r.T, command(r.servers, args...)) }

// out runs a zkr to its good end and returns the output.
func (r *real) out(args ...string) string { return r.start(args...).ends(0).out.String() }

// ls runs a zkr that lists something, until the list contains a text. No run
// may fail.
func (r *real) ls(what string, args ...string) {
	r.Helper()
	eventually(r.T, func() bool { return strings.Contains(r.out(args...), what) }, "%v shows %q", args, what)
}

// followed waits until a session watches a znode whose path matches the
// pattern.
func (r *real) followed(pattern string) {
	r.Helper()
	line := regexp.MustCompile("(?m)^" + pattern + "$")
	eventually(r.T, func() bool {
		for i := range r.cluster.Servers() {
			watches, err := r.cluster.FourLetter(r.Context(), i, "wchp") // an error: the server is busy
			if err == nil && line.MatchString(watches) {
				return true
			}
		}
		return false
	}, "a session watches %s", pattern)
}

// apacheTick is the tick of servers in production, which grant no session below
// twice the tick.
const apacheTick = 2 * time.Second

// TestOnApache runs each group of commands on a shared real server.
func TestOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96, TickTime: apacheTick})
	for name, group := range map[string]func(*real){
		"barrier": barrierOnApache, "cluster": clusterOnApache, "counter": counterOnApache, "value": valueOnApache, "elect": electOnApache, "group": groupOnApache, "job": jobOnApache, "keep": keepOnApache, "members": membersOnApache,
		"rwlock": rwlockOnApache, "service": serviceOnApache, "task": taskOnApache, "tree": treeOnApache, "ui": uiOnApache, "watch": watchOnApache,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group(&real{t, cluster, cluster.Connect()})
		})
	}
}

func treeOnApache(r *real) {
	text := r.out("lock", "/tree/lock", "--id", "me", "--", os.Args[0], "tree", "/tree", "-o", "json", "--data")
	var got znodecmd.Node
	require.NoError(r, json.Unmarshal([]byte(text), &got), text)
	require.Len(r, got.Children, 1)
	require.Len(r, got.Children[0].Children, 1)
	contender := got.Children[0].Children[0]
	assert.True(r, contender.Ephemeral)
	assert.Equal(r, "me", *contender.Text)
	assert.Contains(r, r.out("tree", "/", "--depth", "1"), "── tree  v0, 0 B")
}

func watchOnApache(r *real) {
	w := r.start("watch", "/watch", "--tree")
	w.says("ready    0 znodes")
	r.out("lock", "/watch/lock", "--id", "me", "--", "true")
	w.says("added    /watch/lock")
	w.says("  me\n")
	w.says("removed  /watch/lock/_c_")
	w.signal(syscall.SIGINT)
	w.ends(0)
}

func electOnApache(r *real) {
	w := r.start("elect", "watch", "/elect")
	w.says("no leader")
	a := r.start("elect", "/elect", "--id", "a", "--", "sleep", "1000")
	w.says("a leads")
	b := r.start("elect", "/elect", "--id", "b", "--", "sh", "-c", "exit 3")
	r.ls("2      waits  0         b   1 ", "elect", "ls", "/elect")
	a.signal(syscall.SIGTERM)
	a.ends(143)
	b.ends(3)
	eventually(r.T, func() bool { return strings.Count(w.out.String(), "no leader") >= 2 }, "no leader")
	w.signal(syscall.SIGINT)
	w.ends(0)
}

func rwlockOnApache(r *real) {
	gate := filepath.Join(r.TempDir(), "gate")
	script := "echo in; while [ ! -e " + gate + " ]; do sleep 0.1; done"
	one := r.start("rwlock", "read", "/rw", "--", "sh", "-c", script)
	two := r.start("rwlock", "read", "/rw", "--", "sh", "-c", script)
	one.says("in")
	two.says("in")
	r.start("rwlock", "write", "/rw", "--try", "--", "true").ends(exit.CodeBusy)
	writer := r.start("rwlock", "write", "/rw", "--id", "w", "--", "echo", "wrote")
	r.ls("3      waits  write  w ", "rwlock", "ls", "/rw")
	require.NoError(r, os.WriteFile(gate, nil, 0o600))
	one.ends(0)
	two.ends(0)
	assert.Equal(r, "wrote\n", writer.ends(0).out.String())
	assert.Empty(r, r.out("rwlock", "ls", "/rw"))
}

func barrierOnApache(r *real) {
	for round := 1; round <= 2; round++ {
		one := r.start("barrier", "await", "/barrier", "-n", "2")
		assert.Equal(r, fmt.Sprintf("round %d\n", round), r.out("barrier", "await", "/barrier", "-n", "2"))
		one.ends(0)
	}
	one := r.start("barrier", "enter", "/double", "-n", "2", "--", "sh", "-c", "exit 4")
	r.ls("1 waiting, 1 missing", "barrier", "ls", "/double")
	over := filepath.Join(r.TempDir(), "over")
	two := r.start("barrier", "enter", "/double", "-n", "2", "--", "sh", "-c", "sleep 0.3; touch "+over+"; exit 5")
	one.ends(4)
	assert.FileExists(r, over, "a party that is done waits for the command of the other party")
	two.ends(5)
	r.out("barrier", "gate", "set", "/gate")
	waits := r.start("barrier", "gate", "wait", "/gate")
	assert.Equal(r, "closed\n", r.out("barrier", "gate", "show", "/gate"))
	waits.running()
	r.out("barrier", "gate", "remove", "/gate")
	waits.ends(0)
}

func valueOnApache(r *real) {
	var all []*zkrProcess
	for _, data := range []string{"a", "b", "c"} {
		all = append(all, r.start("value", "cas", "/value", "", data))
	}
	won := 0
	for _, z := range all {
		z.wait()
		if z.code == 0 {
			won++
		} else {
			z.ends(exit.CodeBusy)
		}
	}
	assert.Equal(r, 1, won)
	assert.Contains(r, "abc", r.out("value", "get", "/value"))
}

func counterOnApache(r *real) {
	var all []*zkrProcess
	for range 4 {
		all = append(all, r.start("counter", "add", "/counter", "-5"), r.start("counter", "next", "/ids", "-n", "2"))
	}
	var ids []string
	for _, z := range all {
		if words := strings.Fields(z.ends(0).out.String()); len(words) == 2 {
			ids = append(ids, words...)
		}
	}
	assert.Equal(r, "-20\n", r.out("counter", "get", "/counter"))
	assert.ElementsMatch(r, []string{"1", "2", "3", "4", "5", "6", "7", "8"}, ids)
	r.start("counter", "cas", "/counter", "0", "1").ends(exit.CodeBusy)
}

func membersOnApache(r *real) {
	w := r.start("members", "watch", "/group")
	w.says("ready    0 members")
	a := r.start("members", "join", "/group", "a", "--data", "hello", "--", "sleep", "1000")
	w.says("added    a  hello")
	r.start("members", "join", "/group", "a", "--", "true").ends(exit.CodeBusy)
	r.ls("\na   hello  ", "members", "ls", "/group")
	a.signal(syscall.SIGINT)
	a.ends(130)
	w.says("removed  a")
	w.signal(syscall.SIGINT)
	w.ends(0)
}

func keepOnApache(r *real) {
	a := r.start("keep", "/keep/a", "hello")
	a.says("exists   /keep/a  token ")
	r.start("keep", "/keep/a", "--", "true").ends(exit.CodeBusy)
	r.out("rm", "/keep/a")
	eventually(r.T, func() bool { return strings.Count(a.out.String(), "exists  ") == 2 }, "it is created again")
	assert.Contains(r, r.out("tree", "/keep", "--data"), "hello")
	a.signal(syscall.SIGTERM)
	a.ends(0)
	b := r.start("keep", "/keep/b", "--ttl", "10m")
	b.says("exists   /keep/b  token ")
	r.ls("touch", "tree", "/keep/b")
	b.signal(syscall.SIGINT)
	b.ends(0)
	assert.Contains(r, r.out("tree", "/keep"), "b  v0", "it expires later")
	assert.NotContains(r, r.out("tree", "/keep"), "a  v")
	for kind, name := range map[string]string{"--persistent": "/keep/c", "--container": "/keep/d"} {
		r.out("keep", name, "x", kind, "--", os.Args[0], "tree", name)
	}
	assert.Equal(r, 1, strings.Count(r.out("tree", "/keep", "--depth", "1"), "─ "))
}

func serviceOnApache(r *real) {
	w := r.start("service", "watch", "web")
	w.says("ready    0 instances")
	z := r.start("service", "register", "web", "--id", "a", "--port", "80", "--", "sleep", "1000")
	w.says("added    a  enabled  -  80")
	r.ls("web      1\n", "service", "ls")
	r.ls("\na   enabled  -        80", "service", "ls", "web")
	z.signal(syscall.SIGTERM)
	z.ends(143)
	w.says("removed  a")
	w.signal(syscall.SIGINT)
	w.ends(0)
}

func jobOnApache(r *real) {
	r.out("job", "submit", "words", "--workers", "2")
	joined, finished := r.start("job", "wait", "words"), r.start("job", "wait", "words", "--for", "finished")
	r.followed(`/twister2/words/.*/size\n\t0x\w+\n\t0x\w+`) // both of them do
	w := r.start("job", "workers", "words", "--watch")
	w.says("missing: 0-1")
	a := r.start("job", "join", "words", "--identity", "a", "--", "sleep", "1000")
	w.says("joined     0  a  incarnation 1  -  missing: 1\n")
	a.signal(syscall.SIGTERM)
	a.ends(143)
	w.says("dead       0  a  incarnation 1  -  missing: 0-1\n")
	gate := filepath.Join(r.TempDir(), "gate")
	b := r.start("job", "join", "words", "--identity", "b", "--", "sh", "-c", "while [ ! -e "+gate+" ]; do sleep 0.1; done")
	joined.ends(0)
	r.ls("2 of 2 workers joined, 1 running, 0 left, 0 failed, 1 dead; missing: 0\n", "job", "workers", "words")
	r.start("job", "rm", "words").ends(exit.CodeBusy)
	r.out("job", "join", "words", "--identity", "a", "--", "true")
	require.NoError(r, os.WriteFile(gate, nil, 0o600))
	b.ends(0)
	assert.Contains(r, []int{0, exit.CodeUnknown}, finished.wait().code, finished.err)
	assert.Regexp(r, "(finished   the job is over|over       removed before .*)\n$", w.ends(0).out.String())
	assert.Empty(r, r.out("job", "ls"))
}

func groupOnApache(r *real) {
	for _, mode := range rebalancecmd.Modes() {
		path := "/group-" + mode
		r.out("rebalance", "add", path, "a", "b", "--mode", mode)
		w := r.start("rebalance", "status", path, "--watch")
		w.says("ready ")
		script := `trap 'echo asked $ZKR_RESOURCE; exit 0' TERM; echo in $ZKR_RESOURCE; while :; do sleep 0.1; done`
		one := r.start("rebalance", "join", path, "--id", "one", "--", "sh", "-c", script)
		one.says("in a\n")
		one.says("in b\n")
		two := r.start("rebalance", "join", path, "--id", "two", "--", "sh", "-c", script)
		two.says("in ")
		one.says("asked ") // on a pipe of its own
		assert.Equal(r, 1, strings.Count(one.out.String(), "asked"))
		w.says("  by two") // in global mode the resource had no owner for a moment
		one.signal(syscall.SIGTERM)
		one.ends(0)
		r.ls("1 member, 2 resources: 0 unowned, 0 moving\n", "rebalance", "status", path)
		eventually(r.T, func() bool { return strings.Count(two.out.String(), "in ") >= 2 }, "it has both")
		two.signal(syscall.SIGTERM)
		two.ends(0)
		w.says("left         two\n")
		w.signal(syscall.SIGINT)
		w.ends(0)
	}
}

func taskOnApache(r *real) {
	one := r.start("task", "master", "/tasks", "--id", "one")
	one.says("leads  ")
	two := r.start("task", "master", "/tasks", "--id", "two")
	two.says("stands by  one leads")
	w := r.start("task", "worker", "/tasks", "--name", "w", "--session-timeout", "8s", "--grace", "500ms", "--", "sh", "-c", "read x; [ $x != slow ] || sleep 1000; echo $x $ZKR_ATTEMPT")
	assert.Equal(r, "a 1\n", r.out("task", "submit", "/tasks", "--data", "a\n", "--wait", "--collect"))
	one.signal(syscall.SIGTERM)
	one.ends(0)
	two.says("leads  ")
	id := strings.TrimSpace(r.out("task", "submit", "/tasks", "--data", "slow\n"))
	w.says("began    " + id)
	r.ls("0 waiting, 1 assigned, 0 done", "task", "stats", "/tasks")
	w.signal(syscall.SIGKILL)
	r.start("task", "cancel", "/tasks", id).ends(0)
	r.start("task", "worker", "/tasks", "--", "sh", "-c", "echo $ZKR_ATTEMPT")
	r.start("task", "wait", "/tasks", id).ends(exit.CodeTaskCanceled)
	r.out("task", "requeue", "/tasks", id)
	assert.Regexp(r, "^[12]\n$", r.out("task", "wait", "/tasks", id, "--collect"))
	assert.Empty(r, r.out("task", "ls", "/tasks"))
	two.signal(syscall.SIGINT)
	two.ends(0)
}
