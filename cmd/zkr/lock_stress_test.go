//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// tokensOf reads the tokens in a file that commands have written under a lock,
// and the first line with a token below an earlier one.
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
// lock that keeps its promise no process ever writes with a token below an
// earlier token: a process that has lost the lock is silent before the next
// holder begins. No process checks the token, as in a program without tokens.
func TestStressOneWriterAtATime(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d servers", servers), func(t *testing.T) {
			oneAtATime(t, servers, []string{"lock", "/locks/a"})
		})
	}
}

// TestStressOneLeaderAtATime is the same with other holds: leaders that
// campaign again, and write locks.
func TestStressOneLeaderAtATime(t *testing.T) {
	t.Parallel()
	t.Run("elect on 3 servers", func(t *testing.T) { oneAtATime(t, 3, []string{"elect", "/locks/a", "--again"}) })
	t.Run("rwlock on 1 server", func(t *testing.T) { oneAtATime(t, 1, []string{"rwlock", "write", "/locks/a"}) })
}

// Of the sessions under stress. The commands are killed a second before a
// server could let the next client in, of which a busy machine needs a part.
const stressTimeout, stressGrace = 10 * time.Second, 100 * time.Millisecond

// stressSeed is the seed of the faults: 0, or the number in ZKTEST_SEED.
// Processes and servers run in real time, so a seed repeats the faults, not
// their effects.
func stressSeed(t *testing.T) uint64 {
	text := os.Getenv("ZKTEST_SEED")
	if text == "" {
		return 0
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, "ZKTEST_SEED")
	return seed
}

func TestStressSeedIsThatOfTheEnvironment(t *testing.T) {
	t.Setenv("ZKTEST_SEED", "")
	require.Zero(t, stressSeed(t))
	t.Setenv("ZKTEST_SEED", "731")
	require.EqualValues(t, 731, stressSeed(t))
}

// oneAtATime lets three processes, each of which breaks now and then, hold
// something below /locks/a, until the hold has changed hands.
func oneAtATime(t *testing.T, servers int, args []string) {
	rounds := 3
	if more, err := strconv.Atoi(os.Getenv("ZKTEST_SEEDS")); err == nil && more > 1 {
		rounds *= min(more, 100)
	}
	b := newBedOf(t, servers)
	seed := stressSeed(t)
	random := rand.New(rand.NewPCG(seed, uint64(servers)))
	t.Logf("seed %d, which ZKTEST_SEED repeats", seed)
	file := filepath.Join(t.TempDir(), "shared")
	workers := make([]*zkrProcess, 3)
	hire := func(i int) {
		workers[i] = b.start(under(stressTimeout, stressGrace, args, os.Args[0], helpBeat, file, "stubborn")...)
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
	for round := 0; round < rounds || handedOver() < 2 && round < 15*rounds; round++ {
		stress(b, random)
		moment := time.Now().Add(time.Second + time.Duration(random.Int64N(int64(stressTimeout))))
		eventually(t, func() bool { return time.Now().After(moment) }, "time passes")
		mend(b, servers)
		for i, w := range workers {
			select {
			case <-w.over:
				require.Contains(t, []int{exit.CodeLost, -1, exit.CodeUnavailable, 143}, w.code, fmt.Sprint(w.out, w.err))
				hire(i)
			default:
			}
		}
	}
	assert.GreaterOrEqual(t, handedOver(), 2, "it changed hands")
	t.Logf("it changed hands %d times", handedOver())
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
	names := b.contenders("/locks/a")
	slices.SortFunc(names, func(one, other string) int { return strings.Compare(one[len(one)-10:], other[len(other)-10:]) })
	if len(names) > 0 { // the first contender holds the lock
		if node, err := b.srv.Get("/locks/a/" + names[0]); err == nil {
			holder = node.EphemeralOwner
			_, pid, _ := strings.Cut(string(node.Data), ":")
			process, _ = strconv.Atoi(pid)
		}
	}
	switch random.IntN(12) {
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
