//go:build unix

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// codeRuns are runs of zkr that end with each of its exit codes.
//
// read only
var codeRuns = map[int]func(*bed) *zkrProcess{
	0:               func(b *bed) *zkrProcess { return b.run("counter", "add", "/c") },
	exit.CodeFailed: func(b *bed) *zkrProcess { return b.run("tree", "/nowhere") },
	exit.CodeUsage:  func(b *bed) *zkrProcess { return b.run("tree", "nowhere") },
	exit.CodeTaskFailed: func(b *bed) *zkrProcess {
		return b.failing("--permanent", "3", "--wait")
	},
	exit.CodeTaskDead: func(b *bed) *zkrProcess { return b.failing("--wait") },
	exit.CodeTaskCanceled: func(b *bed) *zkrProcess {
		b.give(0, "x", "/q", "--id", "a")
		b.run("task", "cancel", "/q", "a").ends(0)
		return b.run("task", "wait", "/q", "a")
	},
	exit.CodeUnavailable: func(b *bed) *zkrProcess {
		return start(b.T, command("127.0.0.1:1", "tree", "/", "--connect-timeout", "100ms")).wait()
	},
	exit.CodeUnknown: func(b *bed) *zkrProcess {
		b.run("counter", "set", "/c", "1").ends(0)
		b.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && !r.OnlyChecks {
				return zktest.Action{Do: zktest.DropReplyHole}
			}
			return zktest.Action{}
		})
		return b.run("counter", "add", "/c", "--connect-timeout", "5s")
	},
	exit.CodeBusy: func(b *bed) *zkrProcess {
		b.takeLock("/l")
		return b.run("lock", "/l", "--try", "--", "true")
	},
	exit.CodeLost: func(b *bed) *zkrProcess {
		z := b.start(locked("/l", nil, "sh", "-c", "echo in; exec sleep 1000")...)
		z.says("in") // a contender that loses its session before it holds the lock waits again
		owner, _ := b.owner("/l")
		require.NoError(b, b.srv.ExpireSession(owner))
		return z.wait()
	},
	exit.CodeDenied: func(b *bed) *zkrProcess {
		owner, err := session.Connect(b.ctx, b.srv.Addr(), &session.Options{
			ACL: session.CreatorACL(), Credentials: []session.Credential{session.Digest("ann", "secret")},
		})
		require.NoError(b, err)
		defer func() { _ = owner.Close(b.ctx) }()
		s, err := owner.Session(b.ctx)
		require.NoError(b, err)
		_, err = s.Create(b.ctx, "/mine", nil, session.Persistent, nil)
		require.NoError(b, err)
		return b.run("tree", "/mine")
	},
	exit.CodeCannotRun: func(b *bed) *zkrProcess { return b.run("lock", "/l", "--", "/etc/passwd") },
	exit.CodeNotFound:  func(b *bed) *zkrProcess { return b.run("lock", "/l", "--", "/no/such/command") },
	exit.CodeSignal + 9: func(b *bed) *zkrProcess {
		return b.run(locked("/l", nil, "sh", "-c", "kill -9 $$")...)
	},
}

// failing submits a task to a worker whose command fails. flags are the worker's, and
// then the task's.
func (b *bed) failing(flags ...string) *zkrProcess {
	b.Helper()
	wait := slices.Index(flags, "--wait")
	b.leads("/q")
	b.serves("/q", "exit 3", flags[:wait]...)
	cmd := b.command(append([]string{"task", "submit", "/q", "--data", "x", "--retries", "0"}, flags[wait:]...)...)
	return start(b.T, cmd).wait()
}

// TestEachExitCodeIsThatOfSomeRun: all exit codes in the help are real, and
// there are no others.
func TestEachExitCodeIsThatOfSomeRun(t *testing.T) {
	t.Parallel()
	var told []int
	for _, e := range cli.ExitCodes {
		told = append(told, e.Code)
	}
	assert.True(t, slices.IsSorted(told))
	for code, run := range codeRuns {
		assert.Contains(t, told, min(code, exit.CodeSignal))
		t.Run(cli.ExitCode{Code: code}.String(), func(t *testing.T) {
			b := newBed(t)
			run(b).ends(code)
		})
	}
	assert.Len(t, codeRuns, len(slices.Compact(told)))
}

// TestHelpHasEachCodeOnce, with all its meanings.
func TestHelpHasEachCodeOnce(t *testing.T) {
	for _, cmd := range cli.Chapters((&app{}).root()) {
		codes, means := map[int]bool{}, ""
		for _, e := range cli.CodesOf(cmd) {
			assert.False(t, codes[e.Code], "%s lists %d twice", cmd.CommandPath(), e.Code)
			codes[e.Code] = true
			means += e.Means
		}
		for _, e := range cli.ExitCodes {
			assert.Equal(t, cli.AnyBelow(cmd, e.Of), strings.Contains(means, e.Means), "%s: %s", cmd.CommandPath(), e.Means)
		}
	}
}

// TestHelpHasTheCodesOfItsCommand and no others.
func TestHelpHasTheCodesOfItsCommand(t *testing.T) {
	root := (&app{}).root()
	for name, want := range map[string]string{
		"":                "0, 1, 64, 65, 66, 67, 69, 74, 75, 76, 77, 126, 127, 128+n.",
		"version":         "0, 1, 64, 128+n.",
		"tree":            "0, 1, 64, 69, 77, 128+n.",
		"counter add":     "0, 1, 64, 69, 74, 77, 128+n.",
		"counter cas":     "0, 1, 64, 69, 74, 75, 77, 128+n.",
		"lock":            "0, 1, 64, 69, 74, 75, 76, 77, 126, 127, 128+n; otherwise that of CMD.",
		"lock ls":         "0, 1, 64, 69, 77, 128+n.",
		"job janitor":     "0, 1, 64, 69, 74, 76, 77, 128+n.",
		"task master":     "0, 1, 64, 69, 74, 76, 77, 128+n.",
		"task worker":     "0, 1, 64, 69, 74, 76, 77, 126, 127, 128+n; otherwise that of CMD.",
		"job wait":        "0, 1, 64, 69, 74, 75, 77, 128+n.",
		"job submit":      "0, 1, 64, 69, 74, 75, 77, 128+n.",
		"counter get":     "0, 1, 64, 69, 77, 128+n.",
		"value get":       "0, 1, 64, 69, 77, 128+n.",
		"value set":       "0, 1, 64, 69, 74, 75, 77, 128+n.",
		"value cas":       "0, 1, 64, 69, 74, 75, 77, 128+n.",
		"rebalance join":  "0, 1, 64, 69, 74, 75, 76, 77, 126, 127, 128+n; otherwise that of CMD.",
		"task wait":       "0, 1, 64, 65, 66, 67, 69, 74, 75, 77, 128+n.",
		"barrier gate":    "0, 1, 64, 69, 74, 75, 77, 128+n.",
		"ui":              "0, 1, 64, 69, 77, 128+n.",
		"job ls":          "0, 1, 64, 69, 77, 128+n.",
		"demo cluster":    "0, 1, 64, 69, 74, 77, 128+n.",
		"help":            "0, 1, 64, 128+n.",
		"manual":          "0, 1, 64, 128+n.",
		"serve":           "0, 1, 64, 128+n.",
		"rebalance pause": "0, 1, 64, 69, 74, 77, 128+n.",
		"service watch":   "0, 1, 64, 69, 77, 128+n.",
	} {
		cmd := root
		if name != "" {
			var err error
			cmd, _, err = root.Find(strings.Fields(name))
			require.NoError(t, err)
		}
		assert.Equal(t, want, cli.PageOf(cmd).CodeList(), name)
	}
}

// TestExitCodesDoNotDependOnNames: each command declares its own traits. A
// command that talks to servers without a telling argument is easily forgotten.
func TestExitCodesDoNotDependOnNames(t *testing.T) {
	for _, cmd := range cli.Chapters((&app{}).root()) {
		if cli.IsCommandGroup(cmd) || cmd.Name() == "help" {
			continue
		}
		before := cli.CodesOf(cmd)
		name, rest, _ := strings.Cut(cmd.Use, " ")
		cmd.Use = strings.TrimSpace("x" + name + " " + rest)
		assert.Len(t, cli.CodesOf(cmd), len(before), "%s", cmd.CommandPath())
	}
}
