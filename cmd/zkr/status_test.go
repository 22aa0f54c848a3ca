//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// orphan creates a contender's znode that no session will remove.
func (b *bed) orphan(path string) {
	b.Helper()
	s, err := b.client().Session(b.ctx)
	require.NoError(b, err)
	require.NoError(b, s.EnsurePath(b.ctx, path, session.Persistent, nil))
	_, err = s.Create(b.ctx, path+"/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba82f-lock-", []byte("gone"), session.PersistentSequential, nil)
	require.NoError(b, err)
}

func TestStatusShowsWhatNeedsAttention(t *testing.T) {
	b := newBed(t)
	b.candidates("/app/leader", "a", "b")
	holder := b.start(running([]string{"lock", "/app/report", "--id", "web-1"}, "sh", "-c", "echo in; exec sleep 1000")...)
	holder.says("in")
	b.start(running([]string{"lock", "/app/report", "--id", "web-2"}, "sleep", "1000")...)
	b.queued("/app/report", 2)
	b.submit("words", "3", "--root", "/app/jobs")
	text := b.run("status", "/app").ends(0).out.String()
	for _, line := range [][]string{
		{"/app/report", "mutex", "1", "web-2", "web-1"}, {"/app/leader", "a", "1"}, {"/app/jobs/words", "job", "3 missing"},
		{"election: 1", "job: 1", "mutex: 1", "sessions: 4"},
	} {
		assert.True(t, hasLine(text, line), "%q in:\n%s", line, text)
	}
	assert.NotContains(t, text, "PROBLEM")

	b.orphan("/app/lost")
	z := b.run("status", "/app").ends(exit.CodeFailed)
	assert.True(t, strings.HasPrefix(z.out.String(), "PROBLEM"), z.out)
	assert.True(t, hasLine(z.out.String(), []string{"bad", "/app/lost"}), z.out)
	assert.Equal(t, "zkr: 1 problem\n", z.err.String())
	var got struct {
		Root     string
		Stale    bool
		Problems []struct{ Level, Text, Path, Kind, Thing string }
		Waits    []struct {
			Path    string
			Holders []string
		}
		Things map[string]int
	}
	z = b.run("status", "/app", "-o", "json").ends(exit.CodeFailed)
	require.NoError(t, json.Unmarshal([]byte(z.out.String()), &got))
	assert.Equal(t, "/app", got.Root)
	require.Len(t, got.Problems, 1)
	assert.Equal(t, "/app/lost", got.Problems[0].Thing)
	require.Len(t, got.Waits, 1)
	assert.Equal(t, []string{"web-1"}, got.Waits[0].Holders)
	assert.Equal(t, map[string]int{"election": 1, "job": 1, "mutex": 2}, got.Things)
}

// hasLine reports whether a line of text has all the words.
func hasLine(text string, words []string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}

func TestStatusOfNothing(t *testing.T) {
	b := newBed(t)
	z := b.run("status", "/none").ends(0)
	assert.Equal(t, "sessions: 0, znodes: 0\n", z.out.String())
	assert.Contains(t, z.err.String(), "there is no znode /none")
	z = b.run("status", "/none", "-o", "json").ends(0)
	for _, list := range []string{"problems", "waits", "leaders", "work", "groups"} {
		assert.Contains(t, z.out.String(), fmt.Sprintf(`%q:[]`, list))
	}
	assert.Contains(t, b.run("status", "none").ends(exit.CodeUsage).err.String(), "none")
}

// The lists of the text have twelve lines, and those of the JSON all.
func TestStatusOfManyThingsStaysShort(t *testing.T) {
	b := newBed(t)
	for i := range 30 {
		b.orphan(fmt.Sprintf("/locks/l%d", i))
	}
	z := b.run("status").ends(exit.CodeFailed)
	assert.Contains(t, z.out.String(), "and 18 more: -o json shows all\n")
	assert.Equal(t, "zkr: 30 problems\n", z.err.String())
	assert.Equal(t, 30, strings.Count(b.run("status", "-o", "json").ends(exit.CodeFailed).out.String(), `"level":"bad"`))
}

// --watch shows a state once, and again when it has changed, also after an outage.
func TestStatusIsWatched(t *testing.T) {
	b := newBed(t)
	z := b.start("status", "--watch", "-o", "json")
	z.says(`"problems":[]`)
	b.orphan("/lost")
	z.says(`"path":"/lost/`)
	require.NoError(t, b.srv.Stop(1))
	z.says(`"stale":true`)
	require.NoError(t, b.srv.Restart(1))
	eventually(t, func() bool {
		return strings.HasSuffix(z.out.String(), "\n") && !strings.Contains(lastLine(z.out.String()), `"stale":true`)
	}, "the last line is new")
	states := strings.Split(strings.TrimSpace(z.out.String()), "\n")
	for i, state := range states[1:] {
		assert.NotEqual(t, withoutTime(states[i]), withoutTime(state))
	}
	z.signal(syscall.SIGINT)
	z.wait().ends(0)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func withoutTime(state string) string {
	before, after, _ := strings.Cut(state, `"at":`)
	_, after, _ = strings.Cut(after, ",")
	return before + after
}

// A dead server is a reason for the exit code 1, though no znode shows it.
func TestStatusShowsWhatServersSay(t *testing.T) {
	b := newBedOf(t, 3)
	eventually(t, func() bool { return b.run("status").wait().code == 0 }, "all serve")
	follower := b.srv.Leader()%3 + 1
	require.NoError(t, b.srv.Stop(follower))
	z := b.run("status").ends(exit.CodeFailed)
	assert.True(t, hasLine(z.out.String(), []string{"bad", b.srv.ServerAddr(follower), "server.unreachable"}), z.out)
	assert.Contains(t, b.run("status", "-o", "json").ends(exit.CodeFailed).out.String(), `"name":"server.unreachable"`)
}

func TestStatusShowsQueuesAndGroups(t *testing.T) {
	b := newBed(t)
	for _, path := range []string{"/app", "/app/mail", "/app/mail/entry-100-0000000001", "/app/services", "/app/services/web"} {
		require.NoError(t, b.srv.Create(path, nil))
	}
	const record = `{"name":"web","id":"a","address":"10.0.0.1","port":80,"serviceType":"STATIC","registrationTimeUTC":1}`
	require.NoError(t, b.srv.Create("/app/services/web/a", []byte(record)))
	text := b.run("status", "/app").ends(0).out.String()
	assert.True(t, hasLine(text, []string{"/app/mail", "queue", "1 entry"}), text)
	assert.True(t, hasLine(text, []string{"/app/services/web", "service", "1 instance"}), text)
}
