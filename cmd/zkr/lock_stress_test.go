package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// tokensOf reads the tokens in a file that commands have written under a lock,
// and the first line with a token below one before it.
func tokensOf(text string) (tokens []int64, back string) {
	for line := range strings.Lines(text) {
		_, word, _ := strings.Cut(strings.TrimSpace(line), " ")
		token, err := strconv.ParseInt(word, 10, 64)
		switch n := len(tokens); {
		case err != nil:
			return tokens, line
		case n == 0 || tokens[n-1] < token:
			tokens = append(tokens, token)
		case tokens[n-1] > token:
			return tokens, line
		}
	}
	return tokens, ""
}

func TestTokensThatGoBackAreNoticed(t *testing.T) {
	tokens, back := tokensOf("1 10\n2 10\n3 12\n4 30\n")
	assert.Empty(t, back)
	assert.Equal(t, []int64{10, 12, 30}, tokens)
	for _, bad := range []string{"1 10\n2 12\n3 10\n", "1 10\n2\n", "1 10\n2 x\n"} {
		_, back = tokensOf(bad)
		assert.NotEmpty(t, back, bad)
	}
}

// TestStressOneWriterAtATime: zkr processes whose commands ignore TERM write
// into one file, while connections, servers and zkr itself are broken. Under a
// lock that keeps its promise nobody ever writes with a token below one that
// stands there already: who has lost the lock is silent before the next one
// begins. Nobody checks the token, as in a program that knows nothing of it.
func TestStressOneWriterAtATime(t *testing.T) {
	rounds := 5
	if more, err := strconv.Atoi(os.Getenv("ZKR_SEEDS")); err == nil && more > 1 {
		rounds *= min(more, 100)
	}
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d servers", servers), func(t *testing.T) {
			b := newBedOf(t, servers)
			seed := uint64(time.Now().UnixNano())
			random := rand.New(rand.NewPCG(seed, uint64(servers)))
			t.Logf("seed %d", seed)
			file := filepath.Join(t.TempDir(), "shared")
			workers := make([]*zkrProcess, 3)
			hire := func(i int) {
				workers[i] = b.start("lock", "/locks/a", "--session-timeout", "2s", "--grace", "100ms", "--", os.Args[0], helpBeat, file, "stubborn")
			}
			for i := range workers {
				hire(i)
			}
			beating(t, file)
			handedOver := func() int {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				tokens, back := tokensOf(string(text))
				require.Empty(t, back, "written after token %d", tokens[len(tokens)-1])
				return len(tokens) - 1
			}
			for round := 0; round < rounds || handedOver() < 2 && round < 5*rounds; round++ {
				stress(b, random)
				moment := time.Now().Add(time.Duration(1000+random.IntN(2500)) * time.Millisecond)
				eventually(t, func() bool { return time.Now().After(moment) }, "time passes")
				mend(b, servers)
				for i, w := range workers {
					select {
					case <-w.over:
						require.Contains(t, []int{exitLost, -1, exitUnavailable, 143}, w.code, w.err.String())
						hire(i)
					default:
					}
				}
			}
			assert.GreaterOrEqual(t, handedOver(), 2, "the lock changed hands")
			t.Logf("it changed hands %d times", handedOver())
		})
	}
}

// stress breaks something.
func stress(b *bed, random *rand.Rand) {
	b.Helper()
	server := 1 + random.IntN(3)
	if b.srv.ServerAddr(server) == "" {
		server = 1
	}
	var holder int64
	var process int
	if names := b.contenders("/locks/a"); len(names) > 0 {
		if node, err := b.srv.Get("/locks/a/" + names[0]); err == nil {
			holder = node.EphemeralOwner
			_, pid, _ := strings.Cut(string(node.Data), ":")
			process, _ = strconv.Atoi(pid)
		}
	}
	switch random.IntN(10) {
	case 0:
		b.srv.BlackHole(zktest.Link{Session: holder}, zktest.Both)
	case 1:
		b.srv.BlackHole(zktest.Link{Session: holder}, zktest.ToServer)
	case 2:
		b.srv.Delay(zktest.Link{}, zktest.Both, time.Duration(random.IntN(400))*time.Millisecond)
	case 3:
		b.srv.Cut(holder)
	case 4:
		require.NoError(b, b.srv.Freeze(server))
	case 5:
		require.NoError(b, b.srv.Stop(server))
	case 6:
		b.srv.IsolateServer(server)
	default:
		if process > 0 {
			_ = syscall.Kill(process, syscall.SIGKILL)
		}
	}
}

// mend repairs everything.
func mend(b *bed, servers int) {
	b.Helper()
	b.srv.Heal()
	b.srv.HealPeers()
	for i := 1; i <= servers; i++ {
		require.NoError(b, b.srv.Thaw(i))
		require.NoError(b, b.srv.Restart(i))
	}
}
