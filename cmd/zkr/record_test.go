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
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/lock"
)

// recorded is the history of a recording.
func recorded(t *testing.T, dir string, args ...string) []stay {
	t.Helper()
	return history(t, append(args, "--logs", dir)...)
}

// A recorder that is killed keeps what it has written, and the next one goes on in the same
// folder. zkr history reads the recording while it is written, and after.
func TestRecorderThatIsKilledGoesOn(t *testing.T) {
	b := newBed(t)
	dir := filepath.Join(t.TempDir(), "recording")
	z := b.start("record", dir, "-o", "json")
	z.says(`"event":"recording"`)
	held, err := lock.New(b.client(), "/locks/report", &lock.Options{ID: "one"}).Lock(b.ctx)
	require.NoError(t, err)
	eventually(t, func() bool { return len(recorded(t, dir)) == 1 }, "the hold is on the disk")
	z.signal(syscall.SIGKILL)
	<-z.over
	got := recorded(t, dir, "/locks/report")
	require.Len(t, got, 1)
	assert.Equal(t, "one holds", got[0].Client+" "+got[0].As)
	assert.NotEmpty(t, got[0].Token)
	assert.Empty(t, got[0].How)

	require.NoError(t, held.Unlock(b.ctx))
	z = b.start("record", dir)
	z.says("the recorder did not run")
	again := b.run("record", dir).ends(exit.CodeFailed)
	assert.Contains(t, again.err.String(), "another recorder writes to this folder")
	second, err := lock.New(b.client(), "/locks/report", &lock.Options{ID: "two"}).Lock(b.ctx)
	require.NoError(t, err)
	eventually(t, func() bool { return len(recorded(t, dir, "/locks/report")) == 2 }, "the second hold is on the disk")
	require.NoError(t, second.Unlock(b.ctx))
	eventually(t, func() bool {
		got = recorded(t, dir, "/locks/report")
		return len(got) == 2 && got[1].How != ""
	}, "its end is on the disk")
	assert.Equal(t, "gone", got[1].How)
	z.signal(syscall.SIGTERM)
	z.ends(0)
	assert.Contains(t, z.out.String(), "  stopped after ")

	h := start(t, command("", "history", "/locks", "--logs", dir)).ends(0)
	assert.True(t, hasLine(h.out.String(), []string{"/locks/report", "one", "holds", "gone after"}), h.out)
	assert.True(t, hasLine(h.out.String(), []string{"/locks/report", "two", "holds", "gone"}), h.out)
	assert.Contains(t, h.err.String(), "zkr: nothing was recorded from ")
	assert.Contains(t, h.err.String(), " recorded changes, of which ")
	h = start(t, command("", "history", "--logs", dir, "--suspicious")).ends(exit.CodeFailed)
	assert.True(t, hasLine(h.out.String(), []string{"warn", "files", "nothing was recorded from", "the recorder did not run"}), h.out)
	h = start(t, command("", "history", "--logs", dir, "--logs", scene)).ends(exit.CodeUsage)
	assert.Contains(t, h.err.String(), "which must be the only --logs")
}

// A recorder that is stopped for longer than its session lives tells of the gap, and does not say
// who held in the gap. When its folder is deleted, it goes on in a new one.
func TestRecorderThatIsStoppedGoesOn(t *testing.T) {
	b := newBed(t)
	dir := filepath.Join(t.TempDir(), "recording")
	z := b.start("record", dir)
	z.says("recording ")
	first, second := b.client(), b.client()
	held, err := lock.New(first, "/locks/report", &lock.Options{ID: "one"}).Lock(b.ctx)
	require.NoError(t, err)
	eventually(t, func() bool { return len(recorded(t, dir)) == 1 }, "the hold is on the disk")
	z.signal(syscall.SIGSTOP)
	signaled := time.Now()
	eventually(t, func() bool { return time.Since(signaled) > 300*time.Millisecond }, "all threads have stopped")
	stopped := time.Now()
	require.NoError(t, held.Unlock(b.ctx))
	_, err = lock.New(second, "/locks/report", &lock.Options{ID: "two"}).Lock(b.ctx)
	require.NoError(t, err)
	eventually(t, func() bool { return time.Since(stopped) > 1500*time.Millisecond }, "the pause is long")
	for _, s := range b.srv.Sessions() {
		one, err := first.Session(b.ctx)
		require.NoError(t, err)
		two, err := second.Session(b.ctx)
		require.NoError(t, err)
		if s.ID != one.ID() && s.ID != two.ID() {
			require.NoError(t, b.srv.ExpireSession(s.ID))
		}
	}
	z.signal(syscall.SIGCONT)
	z.says("; not recorded since ")
	h := start(t, command("", "history", "/locks", "--logs", dir)).ends(0)
	assert.True(t, hasLine(h.out.String(), []string{"/locks/report", "one", "holds", "gone after"}), h.out)
	assert.Contains(t, h.err.String(), ": the connection was lost")
	h = start(t, command("", "history", "/locks", "--logs", dir, "--at", stopped.Add(700*time.Millisecond).Format(time.RFC3339Nano))).ends(0)
	assert.True(t, hasLine(h.out.String(), []string{"/locks/report", "one", "perhaps holds", "gone after"}), h.out)

	require.NoError(t, os.RemoveAll(dir))
	z.says("was deleted, replaced or shortened")
	eventually(t, func() bool { return len(recorded(t, dir)) == 1 }, "the recording has begun again")
	z.signal(syscall.SIGTERM)
	z.ends(0)
}

func TestRecorderSaysWhatItRecords(t *testing.T) {
	b := newBed(t)
	b.plant("/app", "/app/config x")
	dir := t.TempDir()
	before := b.srv.Dump()
	z := b.start("record", dir, "--root", "/app", "-o", "json", "--max-file", "64KiB", "--max-total", "1MiB")
	z.says("\n")
	var got struct {
		Event, Bytes           string
		Znodes, Files, Changes int
	}
	require.NoError(t, json.Unmarshal([]byte(z.out.String()), &got))
	assert.Equal(t, "recording 2 1", got.Event+" "+strings.Join([]string{string(rune('0' + got.Znodes)), string(rune('0' + got.Files))}, " "))
	z.signal(syscall.SIGINT)
	z.ends(0)
	assert.Contains(t, z.out.String(), `"event":"stopped"`)
	assert.Equal(t, before, b.srv.Dump(), "a recorder writes nothing")
	files, err := filepath.Glob(filepath.Join(dir, "recording-*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "data of znodes may be secret")

	other := b.run("record", dir).ends(exit.CodeFailed)
	assert.Contains(t, other.err.String(), "recording of other znodes, those at and below /app, not /")
	file := b.run("record", files[0]).ends(exit.CodeFailed)
	assert.Contains(t, file.err.String(), "not a directory")
}

func TestRecorderRefusesWrongArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"": "which folder? zkr record DIR", "a b": "one word too many", "a --root x": "begins with /",
		"a --max-file 1x": `--max-file is "1x"`, "a --max-file 1": "must be 64KiB or more", "a --max-total 1MiB": "at least twice --max-file",
		"a --max-data 0": "--max-data is 0",
	} {
		z := inside(t, command("127.0.0.1:1", append([]string{"record"}, strings.Fields(args)...)...)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), want, args)
	}
}
