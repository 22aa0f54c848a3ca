package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestMain is the program itself when it is told so.
func TestMain(m *testing.M) {
	if os.Getenv("PARTLOG") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestOutputIsRightThoughConsumersDie, and nothing is left of it.
func TestOutputIsRightThoughConsumersDie(t *testing.T) {
	t.Setenv("PARTLOG", "1")
	server, err := zktest.Start(&zktest.Options{TickTime: 250 * time.Millisecond})
	require.NoError(t, err)
	defer server.Close()
	c := settings{
		servers: server.Addr(), dir: t.TempDir(), root: "/partlog", session: 2 * time.Second, pace: 8 * time.Millisecond, batch: 20,
		partitions: 8, keys: 3, consumers: 3, last: 2 * time.Second, seed: rand.Uint64(),
	}
	var out bytes.Buffer
	require.NoError(t, runDemo(t.Context(), c, &out), out.String())
	text := out.String()
	assert.Contains(t, text, "\nRIGHT: ")
	assert.Regexp(t, `killed [1-9]\d* times, frozen [1-9]\d* times`, text)
	assert.Regexp(t, `[1-9]\d\d+ records of 24 keys in 8 partitions`, text)
	owners := regexp.MustCompile(`by (\d+) owners`).FindStringSubmatch(text)
	require.Len(t, owners, 2, text)
	n := 0
	_, err = fmt.Sscan(owners[1], &n)
	require.NoError(t, err)
	assert.Greater(t, n, 8, "partitions have moved")
	_, err = server.Get("/partlog")
	assert.ErrorIs(t, err, zktest.ErrNoNode)
}

// TestJudgeSees whatever is wrong.
func TestJudgeSees(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(chain []batch) []batch
		says  string
	}{
		"nothing": {func(chain []batch) []batch { return chain }, ""},
		"a record that is lost": {func(chain []batch) []batch {
			chain[1].Lines = chain[1].Lines[1:]
			return chain
		}, "number 4 where 3 belongs"},
		"a batch that is lost":     {func(chain []batch) []batch { return slices.Delete(chain, 1, 2) }, "number 5 where 3 belongs"},
		"the end that is lost":     {func(chain []batch) []batch { return chain[:3] }, "lacks the records from number 7 on"},
		"a batch that comes twice": {func(chain []batch) []batch { return slices.Insert(chain, 1, chain[0]) }, "number 1 where 3 belongs"},
		"the last batch twice":     {func(chain []batch) []batch { return append(chain, chain[3]) }, "one record too many"},
		"another order": {func(chain []batch) []batch {
			slices.Reverse(chain[2].Lines)
			return chain
		}, "number 6 where 5 belongs"},
		"another value": {func(chain []batch) []batch {
			chain[2].Lines[1].Sum++
			return chain
		}, "wrong sum at number 6"},
		"an owner that comes back": {func(chain []batch) []batch {
			chain[3].Token = 1
			return chain
		}, "token 1 comes behind one with 3"},
		"a key that there is not": {func(chain []batch) []batch {
			chain[0].Lines[0].Key = "b"
			return chain
		}, "b has one record too many"},
	} {
		t.Run(name, func(t *testing.T) {
			var records []record
			var chain []batch
			state := map[string]progress{}
			for i := range 4 {
				w := newBatch(head{}, state, int64(1+i))
				for j := range 2 {
					r := record{"a", 2*i + j + 1, rand.Uint64()}
					records = append(records, r)
					w.add(r)
				}
				chain, state = append(chain, w.batch), w.State
			}
			v := &outcome{}
			v.compare("p", records, c.spoil(chain))
			if c.says == "" {
				require.Empty(t, v.Charges())
				require.NoError(t, v.Err())
				assert.Contains(t, v.String(), "\nRIGHT: ")
				return
			}
			require.NotEmpty(t, v.Charges())
			assert.Contains(t, strings.Join(v.Charges(), "\n"), c.says)
			require.Error(t, v.Err())
			assert.Contains(t, v.String(), "\nWRONG, ")
		})
	}
}

// TestLinesThatAreNotCompleteAreNotRead.
func TestLinesThatAreNotCompleteAreNotRead(t *testing.T) {
	file := t.TempDir() + "/log"
	require.NoError(t, os.WriteFile(file, []byte("a 1 10\nb 1 20\na 2 3"), 0o600))
	records, next, err := read(file, 0, 10)
	require.NoError(t, err)
	assert.Equal(t, []record{{"a", 1, 10}, {"b", 1, 20}}, records)
	records, again, err := read(file, next, 10)
	require.NoError(t, err)
	assert.Empty(t, records)
	assert.Equal(t, next, again)
	require.NoError(t, os.WriteFile(file, []byte("a 1 10\nb 1 20\na 2 30\n"), 0o600))
	records, _, err = read(file, next, 10)
	require.NoError(t, err)
	assert.Equal(t, []record{{"a", 2, 30}}, records)
	records, _, err = read(file, 0, 1)
	require.NoError(t, err)
	assert.Len(t, records, 1)
}

// ownPartition returns a partition that has an owner. It runs in a bubble: a machine that
// stalls costs no session.
func ownPartition(t *testing.T) (*zktest.Server, *session.Client, *store, *rebalanser.Resource) {
	t.Helper()
	server, err := zktest.Start(&zktest.Options{InMemory: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	client, err := session.Connect(t.Context(), server.Addr(), &session.Options{Dialer: server.Dial})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close(context.WithoutCancel(t.Context()))) })
	c := settings{dir: t.TempDir(), root: "/partlog", partitions: 1}
	require.NoError(t, prepareLog(t.Context(), c, client))
	got := make(chan *rebalanser.Resource, 2)
	over := make(chan error, 1)
	// Waited for below; ends with the test's context.
	go func() {
		over <- rebalanser.New(client, "/partlog/group", ownOnly(got), nil).Run(t.Context())
	}()
	t.Cleanup(func() {
		if err := <-over; !errors.Is(err, session.ErrLost) { // as one test wants
			require.NoError(t, err)
		}
	})
	return server, client, c.store(client, partitionName(0)), <-got
}

// TestCommitIsMadeOnce though its answer gets lost, or the request.
func TestCommitIsMadeOnce(t *testing.T) {
	for _, what := range []zktest.Action{{Do: zktest.DropReplyCut}, {Do: zktest.DropRequest}, {Do: zktest.CutBefore}} {
		synctest.Test(t, func(t *testing.T) {
			server, _, st, r := ownPartition(t)
			server.FailNth(func(q zktest.Request) bool { return q.Op == "multi" && !q.OnlyChecks }, 1, what)
			next := head{10, "0-1.json"}
			require.NoError(t, st.commit(t.Context(), r, next, 0), what)
			is, version, err := st.head(t.Context())
			require.NoError(t, err)
			assert.Equal(t, next, is)
			assert.EqualValues(t, 1, version)
			require.ErrorIs(t, st.commit(t.Context(), r, head{20, "x"}, 0), errRefused, "the head is another")
		})
	}
}

// TestCommitOfAFormerOwnerIsRefused, in its session or in a later one.
func TestCommitOfAFormerOwnerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client, st, r := ownPartition(t)
		s, err := client.Session(t.Context())
		require.NoError(t, err)
		require.NoError(t, server.ExpireSession(s.ID()))
		require.ErrorIs(t, st.commit(t.Context(), r, head{10, "x"}, 0), errRefused)
		var h head
		node, err := server.Get(st.path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(node.Data, &h))
		assert.Equal(t, head{}, h)
	})
}

func TestWordsThatAreNoFlagsAreRefused(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "foo")
	cmd.Env = append(os.Environ(), "PARTLOG=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
	require.Equal(t, "partlog: unexpected argument \"foo\"\n", string(out))
}
