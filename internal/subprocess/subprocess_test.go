//go:build unix

package subprocess

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sh(script string) *exec.Cmd { return exec.Command("/bin/sh", "-c", script) }

func startLines(t *testing.T, cmd *exec.Cmd) (*Process, <-chan string) {
	t.Helper()
	p, lines, err := StartLines(cmd)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Kill()
		_ = p.Wait() // it was killed
	})
	return p, lines
}

func TestProcessIsDrivenByLines(t *testing.T) {
	p, lines := startLines(t, sh(`while read line; do echo "got $line"; done; exit 3`))
	require.Positive(t, p.PID())
	for _, word := range []string{"one", "two"} {
		require.NoError(t, p.Tell(word))
		require.Equal(t, "got "+word, <-lines)
	}
	require.Nil(t, p.State())
	p.End()
	require.EqualError(t, p.Wait(), "exit status 3")
	require.Equal(t, 3, p.State().ExitCode())
	_, more := <-lines
	require.False(t, more)
	require.ErrorIs(t, p.Signal(os.Interrupt), os.ErrProcessDone)
	require.Error(t, p.Tell("three"))
}

func TestEndIsReportedBeforeTheProcessIsGone(t *testing.T) {
	var said []string
	p, err := Start(sh("echo a; echo b; exit 1"), func(line string) { said = append(said, line) }, func(state *os.ProcessState) { said = append(said, state.String()) })
	require.NoError(t, err)
	<-p.Gone()
	require.Equal(t, []string{"a", "b", "exit status 1"}, said)
}

func TestFrozenProcessContinues(t *testing.T) {
	require.True(t, CanFreeze)
	p, lines := startLines(t, sh(`while read line; do echo "$line"; done`))
	require.NoError(t, p.Freeze())
	require.NoError(t, p.Tell("hello"))
	select {
	case line := <-lines:
		t.Fatalf("a frozen process has said %q", line)
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, p.Thaw())
	require.Equal(t, "hello", <-lines)
	require.NoError(t, p.Freeze())
	p.Kill()
	require.EqualError(t, p.Wait(), "signal: killed", "a frozen process is killed, too")
}

func TestKilledGroupIsGoneThoughAChildHasTheOutput(t *testing.T) {
	for name, script := range map[string]string{"in the group": "sleep 600 & echo ready; wait", "outside": "setsid sleep 15 & echo ready; wait"} {
		t.Run(name, func(t *testing.T) {
			cmd := sh(script)
			OwnGroup(cmd)
			p, lines := startLines(t, cmd)
			require.Equal(t, "ready", <-lines)
			p.KillGroup()
			select {
			case <-p.Gone():
			case <-time.After(10 * time.Second):
				t.Fatal("its child is waited for")
			}
		})
	}
}

func TestLineThatIsTooLongBlocksNothing(t *testing.T) {
	var longer []string
	p, err := Start(sh(`head -c 3000000 /dev/zero | tr '\0' x; echo; echo behind`), func(line string) { longer = append(longer, line) }, nil)
	require.NoError(t, err)
	require.NoError(t, p.Wait())
	require.Empty(t, strings.Join(longer, ""), "and it is not reported")
}

func TestCommandThatCannotBeStartedIsAnError(t *testing.T) {
	_, err := Start(exec.Command("/there/is/no/such/program"), nil, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	cmd := sh("true")
	cmd.Stdout = os.Stdout
	_, _, err = StartLines(cmd)
	require.Error(t, err)
	cmd = sh("true")
	cmd.Stdin = os.Stdin
	_, _, err = StartLines(cmd)
	require.Error(t, err)
}
