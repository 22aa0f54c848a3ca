package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/holders"
)

func TestHoldersCommandLine(t *testing.T) {
	s, err := parseHolders(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, manySettings{
		counts: []int{500, 1000, 2000, 4000, 8000}, variants: []string{"own", "shared", "none", "reads"},
		timeout: 10 * time.Second, tick: 2 * time.Second, time: 30 * time.Second, every: 2240 * time.Millisecond,
	}, s)
	s, err = parseHolders([]string{"-n", "7", "-rules", "shared", "-time", "1s", "-timeout", "20s", "-tick", "1s", "-every", "3s", "-servers", "a:1"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, manySettings{
		counts: []int{7}, variants: []string{"shared"}, timeout: 20 * time.Second, tick: time.Second, time: time.Second, every: 3 * time.Second, servers: "a:1",
	}, s)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-n", "0"}, "-n"}, {[]string{"-n", "1,x"}, `"x"`}, {[]string{"-rules", "none,other"}, `"other"`},
		{[]string{"-time", "0s"}, "-time"}, {[]string{"-every", "0s"}, "-every"}, {[]string{"more"}, `"more"`},
	} {
		_, err := parseHolders(c.args, io.Discard)
		require.ErrorContains(t, err, c.want)
	}
}

func TestHoldersTable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, writeHolders(&out, []holders.Figures{
		{Holders: 8000, Rule: "shared", Heartbeats: 7.25, Reads: 9600, P50: 1.14, P99: 3.4, Joining: 12},
	}))
	require.Contains(t, out.String(), "| 8000 | shared | 7.2 | 9600 | 0 | 1.1 / 3.4 ms | 12.0 s |\n")
}
