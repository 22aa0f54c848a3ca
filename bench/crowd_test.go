package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/crowd"
)

func TestCrowdCommandLine(t *testing.T) {
	s, err := parseCrowd(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, crowdSettings{manySettings: manySettings{
		counts: []int{1000, 2000, 4000}, variants: []string{"lock", "semaphore", "election", "workers"},
		timeout: 10 * time.Second, tick: 2 * time.Second,
	}}, s)
	s, err = parseCrowd([]string{"-n", "7,8", "-what", "workers", "-shared", "-warm", "-timeout", "20s", "-tick", "1s", "-servers", "a:1"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, crowdSettings{shared: true, warm: true, manySettings: manySettings{
		counts: []int{7, 8}, variants: []string{"workers"}, timeout: 20 * time.Second, tick: time.Second, servers: "a:1",
	}}, s)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-n", "0"}, "-n"}, {[]string{"-what", "lock,other"}, `"other"`},
		{[]string{"-timeout", "0s"}, "-timeout"}, {[]string{"-tick", "-1s"}, "-tick"}, {[]string{"more"}, `"more"`},
	} {
		_, err := parseCrowd(c.args, io.Discard)
		require.ErrorContains(t, err, c.want)
	}
}

func TestCrowdTable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, writeCrowd(&out, []crowd.Figures{
		{What: "workers join", Clients: 100, Seconds: 1, Requests: 1000, Read: 1e6, Written: 5e5},
		{What: "workers leave", Clients: 100, Seconds: 1, Requests: 500, Read: 1e6, Written: 5e5},
		{What: "workers join", Clients: 400, Seconds: 2, Requests: 4000, Read: 16e6, Written: 2e6},
	}))
	require.Equal(t, `
| what | clients | seconds | requests | MB read | MB written |
|---|---|---|---|---|---|
| workers join | 100 | 1.0 | 1000 | 1.0 | 0.5 |
| workers join | 400 | 2.0 | 4000 | 16.0 | 2.0 |
| exponent | | 0.50 | 1.00 | 2.00 | 1.00 |
| workers leave | 100 | 1.0 | 500 | 1.0 | 0.5 |
`, out.String())
}
