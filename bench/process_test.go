package main

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
)

// A child process may hold the peer's output open for longer than the peer
// lives.
func TestAPeerIsGoneOnceItIsKilled(t *testing.T) {
	p, err := script(t, hello+`sleep 60 & read t`)
	require.NoError(t, err)
	began := time.Now()
	p.kill()
	require.Less(t, time.Since(began), 30*time.Second)
	require.NotNil(t, p.State())
}

// script starts a shell script as a peer; the script reads its tasks line by
// line.
func script(t *testing.T, text string) (*process, error) {
	t.Helper()
	p, err := launch(t.Context(), exec.Command("/bin/sh", "-c", text))
	if err == nil {
		t.Cleanup(p.kill)
	}
	return p, err
}

const hello = `read t; echo '{"version":"shell"}'; `

func TestAPeerSaysWhatItIsAndAnswers(t *testing.T) {
	p, err := script(t, hello+`read t; echo '{"value":2.5}'; read t; echo '{"value":3}'`)
	require.NoError(t, err)
	require.Equal(t, "shell", p.version)
	for _, want := range []float64{2.5, 3} {
		a, err := p.runTask(t.Context(), task.Task{}, nil)
		require.NoError(t, err)
		require.InDelta(t, want, a.Value, 0)
	}
	p.end(t.Context())
}

func TestTheWriterWorksFromReadyUntilTheAnswer(t *testing.T) {
	p, err := script(t, hello+`read t; echo '{"ready":true}'; read t; echo '{"value":1}'; read t`)
	require.NoError(t, err)
	ended := false
	a, err := p.runTask(t.Context(), task.Task{}, func(ctx context.Context) error {
		if err := p.Tell("written"); err != nil {
			return err
		}
		<-ctx.Done()
		ended = true
		return nil
	})
	require.NoError(t, err)
	require.InDelta(t, 1, a.Value, 0)
	require.True(t, ended, "end waits for the peer")
}

func TestAWriterThatFailsEndsTheRun(t *testing.T) {
	p, err := script(t, hello+`read t; echo '{"ready":true}'; read t`)
	require.NoError(t, err)
	broken := errors.New("broken")
	_, err = p.runTask(t.Context(), task.Task{}, func(context.Context) error { return broken })
	require.ErrorIs(t, err, broken)
}

func TestFailureOfAPeerIsAnError(t *testing.T) {
	_, err := script(t, `exit 3`)
	require.ErrorIs(t, err, errGone)
	for text, want := range map[string]string{
		`read t; echo '{"error":"sorry"}'; read t`:                     "sorry",
		`read t; echo nonsense; read t`:                                `"nonsense"`,
		`read t; echo '{"ready":true}'; echo '{"ready":true}'; read t`: "ready twice",
		`read t; exit 0`: errGone.Error(),
		`read t; echo '{"ready":true}'; kill -9 $$; echo '{"value":1}'; :`: errGone.Error(),
	} {
		p, err := script(t, hello+text)
		require.NoError(t, err)
		_, err = p.runTask(t.Context(), task.Task{}, func(ctx context.Context) error { return nil })
		require.ErrorContains(t, err, want)
	}
}

func TestAPeerThatHangsIsLeftWhenTheContextEnds(t *testing.T) {
	p, err := script(t, hello+`exec sleep 1000`)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = p.runTask(ctx, task.Task{}, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	p.end(ctx) // kills the peer
	require.NotNil(t, p.State())
}
