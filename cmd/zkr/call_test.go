//go:build unix

package main

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestSignalBeforeThereIsAConnectionEndsEveryCommand, at once, with its code:
// no watch has begun.
func TestSignalBeforeThereIsAConnectionEndsEveryCommand(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	for _, line := range []string{
		"lock ls /a", "elect watch /a", "barrier await /a -n 2", "barrier gate wait /a", "counter add /a", "watch /a", "tree /a",
		"members watch /a", "keep /a", "keep /a -- true", "service ls", "members join /a b -- true", "job ls", "job wait a", "job workers a --watch", "job join a -- true",
	} {
		z := start(t, command(l.Addr().String(), strings.Fields(line)...))
		c, err := l.Accept()
		require.NoError(t, err)
		sent := time.Now()
		z.signal(syscall.SIGTERM)
		z.ends(143)
		assert.Less(t, z.at.Sub(sent), patience/2, line)
		assert.Contains(t, z.err.String(), "ended by signal 15", line)
		_ = c.Close()
	}
}

// TestPathsAreBelowTheChroot in all output.
func TestPathsAreBelowTheChroot(t *testing.T) {
	b := newBed(t)
	b.plant("/app", "/app/a", "/app/a/b", "/other")
	out := start(t, with(b.command("tree", "/"), "ZKR_CHROOT=/app")).ends(0).out.String()
	assert.Equal(t, "/  v0, 0 B\n└── a  v0, 0 B\n    └── b  v0, 0 B\n\n3 znodes, 0 ephemeral\n", out)
	w := start(t, with(b.command("watch", "/a", "--tree"), "ZKR_CHROOT=/app"))
	w.says("present  /a/b  ")
	w.signal(syscall.SIGINT)
	w.ends(0)
}

// TestAnswerThatIsLostIsFoundOut: the number is changed once, and the exit code
// says whether the change was made.
func TestAnswerThatIsLostIsFoundOut(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]zktest.Action{
		"request lost": {Do: zktest.CutBefore}, "answer lost": {Do: zktest.DropReplyCut}, "cut behind the answer": {Do: zktest.CutAfter},
		"expired before": {Do: zktest.ExpireBefore}, "expired after": {Do: zktest.ExpireAfter}, "late": {Do: zktest.DelayReply, For: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.run("counter", "set", "/c", "1").ends(0)
			b.srv.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, 1, fault)
			z := b.run("counter", "add", "/c", "5")
			now := b.run("counter", "get", "/c").ends(0).out.String()
			switch z.code {
			case 0:
				assert.Equal(t, "6\n", z.out.String())
				assert.Equal(t, "6\n", now)
			case exit.CodeUnknown:
				assert.Contains(t, []string{"1\n", "6\n"}, now)
				assert.Contains(t, name, "expired", "anything else can be found out")
			default:
				t.Errorf("exit code %d: %s", z.code, z.err)
			}
		})
	}
}

// TestEndOfAWaitSaysWhyThereIsNoConnection, and is not reported as a hold of another
// client.
func TestEndOfAWaitSaysWhyThereIsNoConnection(t *testing.T) {
	t.Parallel()
	for path, line := range map[string]string{
		"/l": "lock /l --timeout 12s -- true", "/e": "elect /e --timeout 12s -- true",
	} {
		t.Run(path, func(t *testing.T) {
			b := newBed(t)
			b.start(running([]string{strings.Fields(line)[0], path}, "sleep", "1000")...)
			b.queued(path, 1)
			z := b.start(strings.Fields(line)...)
			b.queued(path, 2)
			require.NoError(t, b.srv.Stop(1))
			z.ends(exit.CodeUnavailable)
			assert.Contains(t, z.err.String(), "connection refused")
		})
	}
}
