//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/barriercmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// meetingAt reads "zkr barrier ls -o json".
func meetingAt(b *bed, path string) (m barriercmd.Meeting) {
	b.Helper()
	text := b.run("barrier", "ls", path, "-o", "json").ends(0).out.String()
	require.NoError(b, json.Unmarshal([]byte(text), &m), text)
	return m
}

func TestBarrierLetsAllPassTogetherInRounds(t *testing.T) {
	b := newBed(t)
	b.empty("no znode /b: no client uses the path now, or the path is misspelled", "barrier", "ls", "/b")
	assert.Empty(t, meetingAt(b, "/b").Kind)
	for _, round := range []string{"round 1\n", "round 2\n"} {
		one := b.start("barrier", "await", "/b", "-n", "3", "--id", "one")
		b.queued("/b", 1)
		two := b.start("barrier", "await", "/b", "-n", "3", "--id", "two")
		b.queued("/b", 2)
		if round == "round 2\n" {
			golden(t, "barrier-ls", columns(untokened(b.run("barrier", "ls", "/b").ends(0).out.String())))
			m := meetingAt(b, "/b")
			assert.Equal(t, barriercmd.Meeting{Path: "/b", Exists: true, Kind: "barrier", Parties: 3, Round: 1, Waiting: 2, Missing: 1, Guests: m.Guests}, m)
			assert.Equal(t, []string{"one", "two"}, []string{m.Guests[0].ID, m.Guests[1].ID})
		}
		one.running()
		two.running()
		three := b.run("barrier", "await", "/b", "-n", "3").ends(0)
		for _, z := range []*zkrProcess{one, two, three} {
			assert.Equal(t, round, z.ends(0).out.String())
		}
		assert.Empty(t, b.contenders("/b"))
	}
	assert.Equal(t, `{"path":"/c","round":"1"}`+"\n", b.run("barrier", "await", "/c", "-n", "1", "-o", "json").ends(0).out.String())
}

func TestBarrierAwaitGivesUp(t *testing.T) {
	b := newBed(t)
	z := b.run("barrier", "await", "/b", "-n", "2", "--timeout", "5s").ends(exit.CodeBusy)
	assert.True(t, strings.HasSuffix(z.err.String(), "zkr: timed out after 5s waiting for 2 parties at /b\n"), z.err)
	assert.Empty(t, b.contenders("/b"))
	z = b.start("barrier", "await", "/b", "-n", "2")
	b.queued("/b", 1)
	wrong := b.run("barrier", "await", "/b", "-n", "3").ends(exit.CodeUsage)
	assert.Contains(t, wrong.err.String(), "all parties of a barrier must use the same -n")
	z.signal(syscall.SIGINT)
	z.ends(130)
	assert.Contains(t, z.err.String(), "gave up waiting for 2 parties at /b")
	assert.Empty(t, b.contenders("/b"))
	b.run("barrier", "enter", "/b", "-n", "2", "--timeout", "1m", "--", "true").ends(exit.CodeFailed) // /b is not a double barrier
}

// TestDoubleBarrierEntersAndLeavesTogether: no command runs before all are
// there, and no zkr ends before all commands have.
func TestDoubleBarrierEntersAndLeavesTogether(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	enter := func(name, code string) *zkrProcess {
		script := "echo in; while [ ! -e " + dir + "/" + name + " ]; do sleep 0.1; done; exit " + code
		return b.start(running([]string{"barrier", "enter", "/d", "-n", "3", "--id", name}, "sh", "-c", script)...)
	}
	open := func(name string) { require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600)) }
	one := enter("one", "1")
	b.queued("/d", 1)
	two := enter("two", "2")
	b.queued("/d", 2)
	assert.Empty(t, one.out.String())
	three := enter("three", "3")
	for _, z := range []*zkrProcess{one, two, three} {
		z.says("in")
	}
	golden(t, "barrier-ls-double", columns(untokened(b.run("barrier", "ls", "/d").ends(0).out.String())))
	full := b.run(running([]string{"barrier", "enter", "/d", "-n", "3", "--id", "four"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, full.err.String(), "the seat in /d is taken: ")
	assert.Contains(t, full.err.String(), `"zkr barrier ls /d" shows the holders`)

	open("one")
	b.queued("/d", 2)
	one.running()
	open("two")
	b.queued("/d", 1)
	two.signal(syscall.SIGTERM)
	two.ends(143)
	assert.Contains(t, two.err.String(), "the command has ended; gave up waiting for the others to leave")
	one.running()
	open("three")
	one.ends(1)
	three.ends(3)
	m := meetingAt(b, "/d")
	assert.Equal(t, barriercmd.Meeting{Path: "/d", Exists: true, Kind: "double", Parties: 3, Round: 1, Missing: 3, Guests: []barriercmd.Guest{}}, m)
}

func TestDoubleBarrierTellsItsCommandOfItsSeat(t *testing.T) {
	b := newBed(t)
	for _, round := range []string{"1", "2"} {
		env := environmentOf(b, []string{"barrier", "enter", "/d", "-n", "1"})
		created(b, env, "ZKR_BARRIER")
		assert.Equal(t, round, env["ZKR_BARRIER_ROUND"])
		assert.Len(t, env, 4)
	}
}

// TestCommandThatCannotRunDelaysNoParty: zkr does not wait for the other parties.
func TestCommandThatCannotRunDelaysNoParty(t *testing.T) {
	b := newBed(t)
	gate := filepath.Join(t.TempDir(), "gate")
	one := b.start(running([]string{"barrier", "enter", "/d", "-n", "2"}, "sh", "-c", "while [ ! -e "+gate+" ]; do sleep 0.1; done")...)
	b.queued("/d", 1)
	b.run(running([]string{"barrier", "enter", "/d", "-n", "2"}, broken(t))...).ends(exit.CodeNotFound)
	b.queued("/d", 1)
	one.running()
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	one.ends(0)
}

func TestGateIsClosedAndOpened(t *testing.T) {
	b := newBed(t)
	gate := func(args ...string) string {
		return b.run(append([]string{"barrier", "gate"}, args...)...).ends(0).out.String()
	}
	assert.Equal(t, "open\n", gate("show", "/g"))
	assert.Empty(t, gate("wait", "/g"))
	assert.Empty(t, gate("set", "/g"))
	assert.Empty(t, gate("set", "/g"))
	assert.Equal(t, "closed\n", gate("show", "/g"))
	assert.Equal(t, `{"path":"/g","closed":true}`+"\n", gate("show", "/g", "-o", "json"))
	late := b.run("barrier", "gate", "wait", "/g", "--timeout", "5s").ends(exit.CodeBusy)
	assert.Contains(t, late.err.String(), "timed out after 5s waiting for the gate /g")
	list := b.run("barrier", "ls", "/g").ends(exit.CodeFailed)
	assert.Contains(t, list.err.String(), "/g is not a barrier")
	assert.Contains(t, list.err.String(), `"zkr barrier gate show /g" is for gates`)

	one, two := b.start("barrier", "gate", "wait", "/g"), b.start("barrier", "gate", "wait", "/g")
	eventually(t, func() bool { return len(b.srv.Watches()["/g"]) == 2 }, "both wait")
	two.signal(syscall.SIGINT)
	two.ends(130)
	one.running()
	assert.Empty(t, gate("remove", "/g"))
	assert.Empty(t, gate("remove", "/g"))
	one.ends(0)
	assert.Equal(t, `{"path":"/g","closed":false}`+"\n", gate("show", "/g", "-o", "json"))
}

// TestListOfSomethingElseIsSaid, with any data.
func TestListOfSomethingElseIsSaid(t *testing.T) {
	b := newBed(t)
	b.plant("/new")
	b.empty("no party has arrived at /new yet", "barrier", "ls", "/new")
	for i, data := range []string{"text", `{"kind":"gate"}`, `{"kind":"barrier"}`, `{"kind":"double","parties":0,"round":1}`, "\x1b[2J", `[1]`} {
		path := "/f" + strings.Repeat("x", i)
		b.plant(path + " " + data)
		z := b.run("barrier", "ls", path)
		assert.NotZero(t, z.code, data)
		assert.NotEmpty(t, z.err.String(), data)
		assert.NotContains(t, z.err.String(), "\x1b", data)
	}
}
