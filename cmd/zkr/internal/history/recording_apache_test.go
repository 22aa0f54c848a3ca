package history_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recorder"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// The recording of locks on a real server has the history of the server's log, as far as a
// client sees.
func TestRecordingOfASceneOnApache(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	cluster := apache.Require(t, &apache.Options{Mode: apache.Jars, Own: true, Dir: dir, Config: map[string]string{"preAllocSize": "8"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := &scene{T: t, ctx: ctx, connect: cluster.Connect()}
	w, err := recording.NewWriter(to, "/locks", nil)
	s.ok(err)
	begun, over := make(chan recorder.Event, 10), make(chan error, 1)
	r := recorder.New(s.client(nil), "/locks", w, &recorder.Options{Notify: func(e recorder.Event) { begun <- e }})
	recording, stop := context.WithCancel(ctx)
	// Waited for below; ends with its context.
	go func() { over <- r.Run(recording) }()
	defer stop()
	<-begun
	s.playMutex(s.client(nil))
	f, err := txnlog.OpenFolder("server", files(t, dir))
	s.ok(err)
	logged := read(t, "/locks", f)
	want := visible(logged.outline())
	require.Eventually(t, func() bool { return readRecording(t, "/locks", to).outline() == want }, 30*time.Second, 100*time.Millisecond, want)
	stop()
	require.ErrorIs(t, <-over, context.Canceled)
	require.NoError(t, w.Close("stopped"))
	recorded := readRecording(t, "/locks", to)
	require.Equal(t, want, recorded.outline())
	require.Empty(t, recorded.findings)
	for i, stay := range recorded.stays {
		require.Equal(t, logged.stays[i].Entered.Zxid, stay.Entered.Zxid)
		require.Equal(t, logged.stays[i].Token, stay.Token)
	}
}
