//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/countercmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestCounterCommandsReadAndChangeTheNumber(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		line, out string
		code      int
	}{
		{"get /c", "0\n", 0},
		{"add /c", "1\n", 0},
		{"add /c 41", "42\n", 0},
		{"add /c -50", "-8\n", 0},
		{"add /c -- -1", "-9\n", 0},
		{"cas /c -9 -3", "-3\n", 0},
		{"cas /c -9 1", "", exit.CodeBusy},
		{"get /c", "-3\n", 0},
		{"set /c 9223372036854775807", "9223372036854775807\n", 0},
		{"add /c", "", exit.CodeFailed},
		{"set /c -7 --verbose=false -o json", `{"path":"/c","value":"-7"}` + "\n", 0},
		{"get -o json /c", `{"path":"/c","value":"-7"}` + "\n", 0},
		{"set /i 5 --format int", "5\n", 0},
		{"add /i --format int", "6\n", 0},
		{"set /t 5 --format text", "5\n", 0},
		{"add /t -6 --format text", "-1\n", 0},
		{"get /t", "", exit.CodeFailed}, // in another format
	} {
		z := b.run(append([]string{"counter"}, strings.Fields(c.line)...)...).ends(c.code)
		assert.Equal(t, c.out, z.out.String(), c.line)
	}
	z := b.run("counter", "cas", "/c", "5", "6")
	assert.Equal(t, "zkr: the counter /c is not 5\nzkr: \"zkr counter get /c\" shows the number\n", z.err.String())
	z = b.run("counter", "get", "/t")
	assert.Contains(t, z.err.String(), "check --format")
	node, err := b.srv.Get("/i")
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 0, 0, 6}, node.Data)
	node, err = b.srv.Get("/t")
	require.NoError(t, err)
	assert.Equal(t, "-1", string(node.Data))
}

func TestNegativeNumbersAreNumbersInCountersOnly(t *testing.T) {
	root := (&app{}).root()
	for line, want := range map[string]string{
		"counter add /c -5":           "counter add /c −5",
		"-o json counter cas /c -1 2": "-o json counter cas /c −1 2",
		"counter add -- /c -5":        "counter add -- /c −5",
		"lock /a -n -1 -- true":       "lock /a -n -1 -- true",
		"lock /a -- kill -9 1":        "lock /a -- kill -9 1",
		"nonsense -5":                 "nonsense -5",
		"counter next /c -n 5":        "counter next /c -n 5",
	} {
		assert.Equal(t, strings.Fields(want), countercmd.WithNumbers(root, strings.Fields(line)), line)
	}
	for text, want := range map[string]int64{"-9223372036854775808": -1 << 63, "−5": -5, "+5": 5, "007": 7} {
		n, err := countercmd.Number("N", text)
		require.NoError(t, err)
		assert.Equal(t, want, n)
	}
	for _, text := range []string{"", "-", "−", "−−5", "five", "0x10", "1.5", "9223372036854775808"} {
		_, err := countercmd.Number("N", text)
		assert.Error(t, err, text)
	}
}

// TestSequenceGivesEachNumberOnce, also when several clients ask concurrently.
func TestSequenceGivesEachNumberOnce(t *testing.T) {
	b := newBed(t)
	assert.Equal(t, "1\n", b.run("counter", "next", "/ids").ends(0).out.String())
	assert.Equal(t, `{"path":"/ids","value":"2"}`+"\n", b.run("counter", "next", "/ids", "-o", "json").ends(0).out.String())
	var all []*zkrProcess
	for range 5 {
		all = append(all, b.start("counter", "next", "/ids", "-n", "4"))
	}
	var numbers []int
	for _, z := range all {
		own := strings.Fields(z.ends(0).out.String())
		require.Len(t, own, 4)
		for _, word := range own {
			n, err := strconv.Atoi(word)
			require.NoError(t, err)
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		assert.Equal(t, i+3, n)
	}
}

func TestCounterWatchShowsEachChange(t *testing.T) {
	b := newBed(t)
	w := b.start("counter", "watch", "/c")
	j := b.start("counter", "watch", "/c", "-o", "json")
	w.says("0  (no znode)")
	j.says("\n")
	b.plant("/c")
	w.says("  0\n")
	j.says(`"exists":true`)
	for _, n := range []string{"5", "-6"} {
		b.run("counter", "set", "/c", n).ends(0)
		w.says("  " + n + "\n")
		j.says(fmt.Sprintf(`"value":"%s",`, n))
	}
	w.signal(syscall.SIGINT)
	j.signal(syscall.SIGINT)
	golden(t, "counter-watch", w.ends(0).out.String())
	var last struct {
		Time    time.Time
		Value   int64 `json:",string"`
		Exists  bool
		Version int32
		Zxid    int64 `json:",string"`
	}
	lines := strings.Split(strings.TrimSpace(j.ends(0).out.String()), "\n")
	require.Len(t, lines, 4)
	require.NoError(t, json.Unmarshal([]byte(lines[3]), &last))
	node, err := b.srv.Get("/c")
	require.NoError(t, err)
	assert.Equal(t, node.Mzxid, last.Zxid)
	assert.Equal(t, node.Version, last.Version)
	assert.True(t, last.Exists)
}

// TestChangeWithoutAnAnswerIsUnknown: neither done nor not done, whether zkr
// gives up by itself or a signal ends zkr.
func TestChangeWithoutAnAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	for _, signal := range []bool{false, true} {
		t.Run(fmt.Sprintf("signal %v", signal), func(t *testing.T) {
			b := newBed(t)
			b.run("counter", "set", "/c", "1").ends(0)
			asked := make(chan struct{}, 16)
			b.srv.OnRequest(func(r zktest.Request) zktest.Action {
				if r.Op != "multi" || r.OnlyChecks {
					return zktest.Action{}
				}
				asked <- struct{}{}
				return zktest.Action{Do: zktest.DropReplyHole}
			})
			limit := "5s"
			if signal {
				limit = "1m"
			}
			z := b.start("counter", "add", "/c", "--connect-timeout", limit)
			<-asked
			if signal {
				z.signal(syscall.SIGINT)
			}
			z.ends(exit.CodeUnknown)
			assert.Contains(t, z.err.String(), "outcome unknown")
			assert.Contains(t, z.err.String(), "check the outcome before you repeat the change")
			assert.Empty(t, z.out.String())
		})
	}
}
