package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/idle"
)

func TestIdleCommandLine(t *testing.T) {
	s, err := parseIdle(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, manySettings{
		counts: []int{1000, 10000}, variants: []string{"ours", "go-zookeeper"}, timeout: 10 * time.Second, tick: 2 * time.Second, time: 30 * time.Second,
	}, s)
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"-n", "x"}, "-n"}, {[]string{"-peers", "kazoo"}, `"kazoo"`}, {[]string{"-time", "0s"}, "-time"}} {
		_, err := parseIdle(c.args, io.Discard)
		require.ErrorContains(t, err, c.want)
	}
}

func TestIdleTable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, writeIdle(&out, []idle.Figures{
		{Sessions: 10000, Library: "ours", Memory: 40_100, Goroutines: 7, WakeUps: 12345, Processor: 0.256, Joining: 8},
	}))
	require.Contains(t, out.String(), "| 10000 | ours | 40.1 | 7.0 | 12345 | 0.26 | 8.0 s |\n")
}
