package history_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recorder"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The recording of locks on a real server has the history of the server's log, as far as a
// client sees.
func TestRecordingOfASceneOnApache(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	s, _ := startScene(t, dir)
	defer s.end()
	ctx := s.ctx
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
	s.playBreak(s.client(nil))
	f, err := txnlog.OpenFolder("server", files(t, dir))
	s.ok(err)
	logged := read(t, "/locks", f)
	want := strings.Replace(visible(logged.outline()), "/locks/stuck: ann holds, granted, gone", "/locks/stuck: ann holds, granted, broken", 1)
	require.Contains(t, want, "broken")
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
		require.Equal(t, logged.stays[i].BrokenBy, stay.BrokenBy)
	}
	s.recordMoved()
}

// playBreak takes a lock away from its holder.
func (s *scene) playBreak(admin *session.Client) {
	_, err := lock.New(s.client(nil), "/locks/stuck", &lock.Options{ID: "ann"}).Lock(s.ctx)
	s.ok(err)
	m := lock.New(admin, "/locks/stuck", nil)
	holders, err := m.Contenders(s.ctx)
	s.ok(err)
	s.ok(m.Break(s.ctx, holders[0], "bob", "ann has hung since noon"))
}

// recordMoved records a lock on a server that a server with fewer transactions then replaces, as
// when an ensemble is recreated: the recording has a gap that says so, and the hold of before ends
// in the gap.
func (s *scene) recordMoved() {
	const path = "/recreated/report"
	before, err := zktest.Start(&zktest.Options{TickTime: 200 * time.Millisecond, MaxSessionTimeout: time.Minute})
	s.ok(err)
	s.Cleanup(func() { s.ok(before.Close()) })
	for range 1000 {
		s.ok(before.Set("/", nil))
	}
	old := &cable{}
	client, err := session.Connect(s.ctx, before.Addr(), &session.Options{Timeout: 2 * time.Second, Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
		if conn, err := old.dial(ctx, network, address); err == nil {
			return conn, nil
		}
		return (&net.Dialer{}).DialContext(ctx, network, s.connect)
	}})
	s.ok(err)
	s.Cleanup(func() { s.ok(client.Close(context.Background())) })
	there := &scene{T: s.T, ctx: s.ctx, connect: before.Addr()}
	_, err = lock.New(there.client(nil), path, &lock.Options{ID: "one"}).Lock(s.ctx)
	s.ok(err)
	to := s.TempDir()
	w, err := recording.NewWriter(to, "/recreated", nil)
	s.ok(err)
	begun, over := make(chan recorder.Event, 100), make(chan error, 1)
	r := recorder.New(client, "/recreated", w, &recorder.Options{Notify: func(e recorder.Event) { begun <- e }})
	running, stop := context.WithCancel(s.ctx)
	// Waited for below; ends with its context.
	go func() { over <- r.Run(running) }()
	defer stop()
	<-begun
	_, err = lock.New(s.client(nil), path, &lock.Options{ID: "two"}).Lock(s.ctx)
	s.ok(err)
	old.sever()
	require.Eventually(s, func() bool { return len(readRecording(s.T, "/recreated", to).stays) == 2 }, time.Minute, 100*time.Millisecond)
	stop()
	require.ErrorIs(s, <-over, context.Canceled)
	s.ok(w.Close("stopped"))
	d := readRecording(s.T, "/recreated", to)
	require.Equal(s, "mutex /recreated/report: one holds, granted, gone\nmutex /recreated/report: two holds, granted, \n", d.outline())
	require.NotNil(s, d.stays[0].EndedAfter)
	require.NotNil(s, d.stays[1].GrantedAfter)
	require.True(s, slices.ContainsFunc(d.findings, func(f txnlog.Finding) bool { return strings.Contains(f.String(), "the servers ") }), d.findings)
}
