//go:build unix

package jobcmd

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// TestWorkerThatJoinsBeforeTheFirstReadHasJoined, and was not present: the job was
// shown before, without workers.
func TestWorkerThatJoinsBeforeTheFirstReadHasJoined(t *testing.T) {
	var out strings.Builder
	r, stdout, err := os.Pipe()
	require.NoError(t, err)
	w := &jobWatch{app: &app{App: &cli.App{Stdout: stdout}}, states: map[int]workerctl.State{}}
	require.NoError(t, w.resize(workerctl.Info{State: "submitted", Workers: 4}))
	for id, state := range []workerctl.State{"running", "left", "dead", "failed"} {
		m := workerctl.Member{ID: id, Incarnation: 1, State: state}
		if state == "failed" {
			m.Failure = "disk\x1bfull"
		}
		require.NoError(t, w.change(workerctl.Change{What: "present", Member: m}))
	}
	require.NoError(t, stdout.Close())
	_, err = io.Copy(&out, r)
	require.NoError(t, err)
	for _, says := range []string{"ready ", "joined     0    incarnation 1  -  missing: 1-3\n", "left       1    incarnation 1  -  missing: 2-3\n", "dead       2    incarnation 1  -  missing: 2-3\n",
		"failed     3    incarnation 1  -  \"disk\\x1bfull\"  missing: 2\n",
	} {
		assert.Contains(t, out.String(), says)
	}
}
