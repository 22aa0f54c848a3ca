//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/discoverycmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// join starts a zkr as a member until its gate opens.
func (b *bed) join(id string, flags ...string) (z *zkrProcess, open func()) {
	b.Helper()
	gate := filepath.Join(b.TempDir(), "gate")
	args := append([]string{"members", "join", "/g", id}, flags...)
	z = b.start(running(args, "sh", "-c", "echo in; while [ ! -e "+gate+" ]; do sleep 0.1; done; exit 7")...)
	z.says("in")
	return z, func() { require.NoError(b, os.WriteFile(gate, nil, 0o600)) }
}

func TestMembersShowsAMemberWhileItsCommandRuns(t *testing.T) {
	b := newBed(t)
	b.empty("no znode /g: no client uses the path now, or the path is misspelled", "members", "ls", "/g")
	a, open := b.join("a", "--data", `{"zone":1}`)
	b.join("b")
	golden(t, "members", columns(untokened(b.run("members", "ls", "/g").ends(0).out.String())))
	var got struct {
		Path    string
		Members []discoverycmd.Member
	}
	text := b.run("members", "ls", "/g", "-o", "json").ends(0).out.String()
	require.NoError(t, json.Unmarshal([]byte(text), &got), text)
	require.Len(t, got.Members, 2)
	node, err := b.srv.Get("/g/a")
	require.NoError(t, err)
	assert.Equal(t, "a", got.Members[0].ID)
	assert.Equal(t, node.Czxid, got.Members[0].Token)
	assert.Equal(t, `{"zone":1}`, *got.Members[0].Text)
	open()
	a.ends(7)
	assert.Empty(t, a.err.String())
	b.queued("/g", 1)
}

// TestUnknownTimeIsADash: the server has made /zookeeper itself, without a time.
func TestUnknownTimeIsADash(t *testing.T) {
	b := newBed(t)
	rows := strings.Split(b.run("members", "ls", "/").ends(0).out.String(), "\n")
	assert.Equal(t, []string{"zookeeper", "-", "0", "none", "-", "-"}, strings.Fields(rows[1]))
	assert.Equal(t, "-", cli.Age(time.Time{}))
	assert.Equal(t, "1m0s", cli.Age(time.Now().Add(-time.Minute)))
}

func TestMembersWatchShowsEachChange(t *testing.T) {
	b := newBed(t)
	b.join("old")
	w := b.start("members", "watch", "/g")
	j := b.start("members", "watch", "/g", "-o", "json")
	w.says("ready    1 member")
	j.says(`"ready"`)
	a, open := b.join("a", "--data", "hello")
	w.says("added    a  hello")
	j.says("hello")
	long := strings.Repeat("x", 100)
	w.happens(b.srv.Set("/g/a", []byte(long+"1")), "updated  a  xxx")
	j.says(long + "1")
	require.NoError(t, b.srv.Set("/g/a", []byte(long+"2")))
	j.says(long + "2") // beyond the preview for people
	eventually(t, func() bool { return strings.Count(w.out.String(), "updated  a  xxx") >= 2 }, "it is shown")
	open()
	a.ends(7)
	w.says("removed  a")
	j.says(`"removed"`)
	w.signal(syscall.SIGINT)
	j.signal(syscall.SIGINT)
	golden(t, "members-watch", w.ends(0).out.String())
	var last discoverycmd.ListEvent
	lines := strings.Split(strings.TrimSpace(j.ends(0).out.String()), "\n")
	require.Len(t, lines, 6)
	require.NoError(t, json.Unmarshal([]byte(lines[5]), &last))
	assert.Equal(t, "a", last.Member.ID)
	assert.WithinDuration(t, time.Now(), last.Time, limit)
}

// TestMemberStaysOneOverALostSession: the command runs on, and people are told.
func TestMemberStaysOneOverALostSession(t *testing.T) {
	b := newBed(t)
	a, open := b.join("a")
	owner, _ := b.owner("/g")
	// The next session takes so long that zkr cannot miss the time without a
	// registration.
	b.srv.FailNth(func(r zktest.Request) bool { return r.Op == "connect" && r.Session == 0 }, 1,
		zktest.Action{Do: zktest.DelayReply, For: 3 * time.Second})
	require.NoError(t, b.srv.ExpireSession(owner))
	eventually(t, func() bool { return strings.Contains(a.err.String(), "a is registered again") }, "it says so")
	assert.Contains(t, a.err.String(), "a is temporarily not registered: ")
	again, _ := b.owner("/g")
	assert.NotEqual(t, owner, again)
	a.running()
	open()
	a.ends(7)
	b.queued("/g", 0)
}

func TestTakenNameIsSaidOrWaitedFor(t *testing.T) {
	b := newBed(t)
	first, open := b.join("a")
	z := b.run(running([]string{"members", "join", "/g", "a"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "the name a in /g is taken: ")
	assert.Contains(t, z.err.String(), `"zkr members ls /g" shows the holders`)
	z = b.run(running([]string{"members", "join", "/g", "a", "--wait", "--timeout", "5s"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "did not get the name a in /g within 5s")
	z = b.start(running([]string{"members", "join", "/g", "a", "--wait"}, "echo", "ran")...)
	z.running()
	open()
	first.ends(7)
	assert.Equal(t, "ran\n", z.ends(0).out.String())
}

func TestMembersOfOtherLayouts(t *testing.T) {
	b := newBed(t)
	b.join("a", "--layout", "kazoo")
	names := b.contenders("/g")
	require.Len(t, names, 1)
	assert.Contains(t, names[0], "__party__")
	out := b.run("members", "ls", "/g", "--layout", "kazoo").ends(0).out.String()
	assert.Contains(t, out, "\na ")
}

func TestMembersTellTheirCommandsTheirIdentity(t *testing.T) {
	b := newBed(t)
	env := environmentOf(b, []string{"members", "join", "/g", "a"})
	assert.Equal(t, map[string]string{"ZKR_MEMBER_ID": "a", "ZKR_MEMBER_PATH": "/g/a"}, env)
	env = environmentOf(b, []string{"service", "register", "web", "--id", "a"})
	assert.Equal(t, map[string]string{"ZKR_SERVICE_ID": "a", "ZKR_SERVICE_NAME": "web", "ZKR_SERVICE_PATH": "/services/web/a"}, env)
}
