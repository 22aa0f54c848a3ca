package ui

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestUnobservedChangeIsDatedFromTheLastLook: a change of the evening, found in the
// night, is not reported as new.
func TestUnobservedChangeIsDatedFromTheLastLook(t *testing.T) {
	p := newPast()
	p.has("/e", 0, "")
	p.has(contender("/e", "latch", 1), 1, "ann")
	p.has(contender("/e", "latch", 2), 2, "bob")
	p.look()
	looked := p.now
	delete(p.nodes, contender("/e", "latch", 1))
	p.now, p.seen = p.now.Add(5*time.Hour), false
	p.look()
	require.Equal(t, []string{"/e is now led by bob"}, p.feedLines())
	assert.Equal(t, looked, p.changes()[0].After)
	assert.Equal(t, p.now, p.changes()[0].At)
	delete(p.nodes, contender("/e", "latch", 2))
	p.seen = true
	p.look()
	assert.Zero(t, p.changes()[0].After, "this change was observed")
}

// TestChangeWithoutAReaderHasItsOwnTime: the model hears of a change while no page is
// open, and recognizes the change hours later.
func TestChangeWithoutAReaderHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := zktest.Start(&zktest.Options{InMemory: true})
		require.NoError(t, err)
		defer func() { _ = srv.Close() }()
		require.NoError(t, srv.Create("/e", nil))
		for i := range 2 {
			require.NoError(t, srv.Create(contender("/e", "latch", i+1), []byte([]string{"ann", "bob"}[i])))
		}
		c, err := session.Connect(t.Context(), srv.Addr(), &session.Options{Dialer: srv.Dial})
		require.NoError(t, err)
		m, over := NewModel(c, "/"), make(chan error, 1)
		// Waited for below; ends when the client is closed.
		go func() { over <- m.Run(t.Context()) }()
		for !m.View().Health.Loaded || len(m.View().Things) == 0 {
			time.Sleep(time.Second)
		}
		m.View()
		time.Sleep(time.Hour)
		m.View()
		time.Sleep(time.Minute)
		deposed := time.Now()
		require.NoError(t, srv.Delete(contender("/e", "latch", 1)))
		time.Sleep(5 * time.Hour)
		feed := m.View().Feed
		require.Len(t, feed, 1)
		assert.Equal(t, "is now led by bob", feed[0].Text)
		assert.WithinRange(t, deposed, feed[0].After, feed[0].At)
		assert.WithinDuration(t, deposed, feed[0].At, time.Second)
		w := httptest.NewRecorder()
		Handler(m, "", nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		assert.Contains(t, w.Body.String(), "between ")
		_ = c.Close(t.Context())
		<-over
	})
}
