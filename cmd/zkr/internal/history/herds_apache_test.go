package history_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// takeNaively takes a lock that is one znode, for which all clients wait. It calls waits when it
// waits.
func (s *scene) takeNaively(sess *session.Session, path string, waits func()) error {
	for {
		_, err := sess.Create(s.ctx, path, nil, session.Ephemeral, nil)
		if !errors.Is(err, session.ErrNodeExists) {
			return err
		}
		_, exists, watch, err := sess.ExistsW(s.ctx, path)
		if err != nil {
			return err
		}
		if exists {
			waits()
			_, err = watch.Wait(s.ctx)
		}
		if watch.Stop(); err != nil {
			return err
		}
	}
}

// The log of a real server shows the herd of a lock without a queue, and none of a lock with one.
func TestHerdOnApache(t *testing.T) {
	dir := t.TempDir()
	s, _ := startScene(t, dir)
	defer s.end()
	ctx := s.ctx
	const clients, turns = 16, 3
	admin, err := s.client(nil).Session(ctx)
	s.ok(err)
	_, err = admin.Create(ctx, "/naive", nil, session.Ephemeral, nil)
	s.ok(err)
	waits, release, done := make(chan struct{}, clients*clients), make(chan struct{}), make(chan error, clients)
	for range clients {
		c := s.client(nil)
		sess, err := c.Session(ctx)
		s.ok(err)
		// Waited for below; each ends with its turns.
		go func() {
			err := s.takeNaively(sess, "/naive", func() { waits <- struct{}{} })
			<-release
			err = errors.Join(err, sess.Delete(ctx, "/naive", -1))
			for range 3 {
				h, lockErr := lock.New(c, "/queue", nil).Lock(ctx)
				if lockErr == nil {
					lockErr = h.Unlock(ctx)
				}
				err = errors.Join(err, lockErr)
			}
			done <- err
		}()
	}
	for turn := range turns { // each begins when all others wait
		for range clients - turn {
			<-waits
		}
		if turn == 0 {
			s.ok(admin.Delete(ctx, "/naive", -1))
		} else {
			release <- struct{}{}
		}
	}
	close(release)
	for range clients {
		s.ok(<-done)
	}
	f, err := txnlog.OpenFolder("server", files(t, dir))
	require.NoError(t, err)
	var herds []history.Suspicion
	for _, found := range read(t, "/", f).suspicions {
		if found.Kind == history.HerdOfClients {
			herds = append(herds, found)
		}
	}
	require.NotEmpty(t, herds)
	for _, h := range herds {
		require.Equal(t, "/naive", h.Path)
		require.Contains(t, h.Text, " clients tried in vain to create it within ")
	}
}
