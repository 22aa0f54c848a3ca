//go:build unix

package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/records"
)

// untokened replaces the tokens of a table, which depend on other writes.
func untokened(table string) string {
	return regexp.MustCompile(`\b\d{1,6}(  +0x| +none|, session)`).ReplaceAllString(table, "<token>$1")
}

// candidates starts candidates one after the other.
func (b *bed) candidates(path string, ids ...string) []*zkrProcess {
	b.Helper()
	out := make([]*zkrProcess, 0, len(ids))
	for _, id := range ids {
		out = append(out, b.start(running([]string{"elect", path, "--id", id}, "sleep", "1000")...))
		b.queued(path, len(out))
	}
	return out
}

func TestElectTellsItsCommandOfItsLeadership(t *testing.T) {
	b := newBed(t)
	env := environmentOf(b, []string{"elect", "/e"})
	created(b, env, "ZKR_LEADER")
	assert.Equal(t, "0", env["ZKR_LEADER_TERM"])
	assert.Len(t, env, 4)
	env = environmentOf(b, []string{"elect", "/e", "--layout", "selector"})
	assert.Equal(t, "1", env["ZKR_LEADER_TERM"])
	assert.Contains(t, env["ZKR_LEADER_PATH"], "-lock-")
}

func TestElectListShowsTheLeaderAndTheWatches(t *testing.T) {
	b := newBed(t)
	b.empty("no znode /e: no client uses the path now, or the path is misspelled", "elect", "ls", "/e")
	assert.Equal(t, `{"path":"/e","exists":false,"candidates":[]}`+"\n", b.run("elect", "ls", "/e", "-o", "json").ends(0).out.String())
	b.candidates("/e", "a", "b", "c")
	golden(t, "elect-ls", columns(untokened(b.run("elect", "ls", "/e").ends(0).out.String())))
	var got struct {
		Path       string
		Candidates []records.Candidate
	}
	text := b.run("elect", "ls", "/e", "-o", "json").ends(0).out.String()
	require.NoError(t, json.Unmarshal([]byte(text), &got), text)
	require.Len(t, got.Candidates, 3)
	for i, c := range got.Candidates {
		assert.Equal(t, i+1, c.Place)
		assert.EqualValues(t, i, c.Term)
		node, err := b.srv.Get(c.Path)
		require.NoError(t, err)
		assert.Equal(t, node.Czxid, c.Token)
		assert.Equal(t, cli.SessionID(node.EphemeralOwner), c.Session)
		if i > 0 {
			assert.Equal(t, got.Candidates[i-1].Path, c.Watches)
		}
	}
}

// TestElectProclaims: the value is shown while its candidate leads, an empty one too.
func TestElectProclaims(t *testing.T) {
	b := newBed(t)
	w := b.start("elect", "watch", "/e")
	w.says("no leader")
	first := b.start(running([]string{"elect", "/e", "--id", "a", "--proclaim", "http://a:8080"}, "sleep", "1000")...)
	w.says(`a leads  term 0`)
	w.says(`, proclaims "http://a:8080"`)
	assert.Contains(t, b.run("elect", "ls", "/e").ends(0).out.String(), `"http://a:8080"`)
	b.start(running([]string{"elect", "/e", "--id", "b", "--proclaim", ""}, "sleep", "1000")...)
	b.queued("/e", 2)
	first.signal(syscall.SIGTERM)
	w.says(`, proclaims ""`)
	assert.Contains(t, b.run("elect", "ls", "/e", "-o", "json").ends(0).out.String(), `"value":""`)
}

// TestElectWithPriorities: the highest leads next.
func TestElectWithPriorities(t *testing.T) {
	b := newBed(t)
	first := b.start(running([]string{"elect", "/e", "--id", "first", "--priority", "1"}, "sleep", "1000")...)
	b.queued("/e", 1)
	low := b.start(running([]string{"elect", "/e", "--id", "low", "--priority", "1"}, "sleep", "1000")...)
	b.queued("/e", 2)
	high := b.start(running([]string{"elect", "/e", "--id", "high", "--priority", "7"}, "sleep", "1000")...)
	b.queued("/e", 3)
	w := b.start("elect", "watch", "/e")
	w.says("first leads")
	first.signal(syscall.SIGTERM)
	w.says("high leads")
	assert.Regexp(t, `(?m)^1 +leads +7 +high `, b.run("elect", "ls", "/e").ends(0).out.String())
	high.signal(syscall.SIGTERM)
	w.says("low leads")
	low.signal(syscall.SIGTERM)
	b.run("elect", "/e", "--priority", "-1", "--", "true").ends(64)
}

// TestElectWatchShowsEachChange: the leader, the next leader, no leader, and a leader
// again; an interrupted watch ends with 0.
func TestElectWatchShowsEachChange(t *testing.T) {
	b := newBed(t)
	w := b.start("elect", "watch", "/e")
	j := b.start("elect", "watch", "/e", "-o", "json")
	lines := 0
	shows := func(what string) { // waits for both watches, so that neither skips the line
		t.Helper()
		lines++
		for _, z := range []*zkrProcess{w, j} {
			eventually(t, func() bool { return strings.Count(z.out.String(), "\n") == lines }, "%d lines", lines)
		}
		w.says(what)
	}
	shows("no leader")
	all := b.candidates("/e", "a", "b")
	shows("a leads")
	all[0].signal(syscall.SIGTERM)
	shows("b leads")
	all[1].signal(syscall.SIGTERM)
	shows("no leader\n")
	b.candidates("/e", "c\x1b[2J")
	shows(`"c\x1b[2J" leads`)
	w.signal(syscall.SIGINT)
	j.signal(syscall.SIGTERM)
	golden(t, "elect-watch", untokened(w.ends(0).out.String()))
	assert.Empty(t, w.err.String())

	var names []string
	for line := range strings.Lines(j.ends(0).out.String()) {
		var got struct {
			Time   time.Time
			Leader *records.Candidate
		}
		require.NoError(t, json.Unmarshal([]byte(line), &got), line)
		assert.WithinDuration(t, time.Now(), got.Time, limit)
		if got.Leader == nil {
			names = append(names, "none")
		} else {
			names = append(names, got.Leader.ID)
			assert.Equal(t, "leads", got.Leader.State)
		}
	}
	assert.Equal(t, []string{"none", "a", "b", "none", "c\x1b[2J"}, names)
}

// TestWatchGoesOnOverALostSession and shows the changes of the meantime.
func TestWatchGoesOnOverALostSession(t *testing.T) {
	b := newBed(t)
	all := b.candidates("/e", "a")
	w := b.start("elect", "watch", "/e")
	w.says("a leads")
	leader, _ := b.owner("/e")
	for _, s := range b.srv.Sessions() {
		if s.ID != leader {
			require.NoError(t, b.srv.ExpireSession(s.ID))
		}
	}
	all[0].signal(syscall.SIGTERM)
	w.says("no leader")
	w.signal(syscall.SIGHUP)
	w.ends(129)
}

// TestWatchEndsWithItsReader: zkr ends at the next change.
func TestWatchEndsWithItsReader(t *testing.T) {
	b := newBed(t)
	zkr := b.command("elect", "watch", "/e")
	cmd := b.command()
	cmd.Path, cmd.Args = "/bin/bash", append([]string{"bash", "-c", `"$0" "$@" | head -n 1; echo "code ${PIPESTATUS[0]}"`}, zkr.Args...)
	z := start(t, cmd)
	z.says("no leader")
	b.candidates("/e", "a", "b")
	z.ends(0).says("code 141")
	assert.Empty(t, z.err.String())
	b.queued("/e", 2)
	eventually(t, func() bool { return len(b.srv.Sessions()) == 2 }, "its session is closed, not left behind")
}

func TestElectTimeoutAndSignalLeaveNoCandidate(t *testing.T) {
	b := newBed(t)
	b.candidates("/e", "a")
	z := b.run(running([]string{"elect", "/e", "--timeout", "5s"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "did not get the leadership of /e within 5s")
	assert.Contains(t, z.err.String(), `"zkr elect ls /e" shows the holders`)
	b.queued("/e", 1)
	z = b.start(running([]string{"elect", "/e"}, "true")...)
	b.queued("/e", 2)
	z.signal(syscall.SIGINT)
	z.ends(130)
	b.queued("/e", 1)
}
