package ui

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// crowd is the number of locks; busy is the counter that changes among them.
const (
	crowd = 10_000
	busy  = "/locks/counter"
)

// crowded runs a model of n locks, each with a holder, and a counter, on a server
// in this process.
func crowded(t testing.TB, locks int) (*zktest.Server, *Model) {
	t.Helper()
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	c, err := session.Connect(ctx, srv.Addr(), nil)
	require.NoError(t, err)
	require.NoError(t, srv.Create("/locks", nil))
	require.NoError(t, srv.Create(busy, []byte("0")))
	for i := range locks {
		path := fmt.Sprintf("/locks/lock-%05d", i)
		require.NoError(t, srv.Create(path, nil))
		require.NoError(t, srv.Create(contender(path, "lock", i), []byte("holder")))
	}
	m := NewModel(c, "/")
	var over sync.WaitGroup
	// Waited for in the cleanup; ends with ctx.
	over.Go(func() { _ = m.Run(ctx) })
	t.Cleanup(func() {
		_ = c.Close(ctx)
		cancel()
		over.Wait()
		_ = srv.Close()
	})
	require.Eventually(t, func() bool {
		v := m.View() // all nodes may be there before the model knows that they are all
		return v.Nodes == 2*locks+3 && v.Health.Loaded
	}, time.Minute, 10*time.Millisecond)
	return srv, m
}

// changed changes the counter, and returns when the model knows of a change.
func changed(t testing.TB, srv *zktest.Server, m *Model, value int) {
	t.Helper()
	require.NoError(t, srv.Set(busy, fmt.Append(nil, value)))
	require.Eventually(t, func() bool {
		e, _ := m.tree.Lookup(busy)
		return string(e.Value.Data) == fmt.Sprint(value) && m.dirty.hasChanges()
	}, time.Minute, 10*time.Microsecond)
}

// visits is the number of nodes visited for recognition.
func (m *Model) visits() int {
	m.sight.Lock()
	defer m.sight.Unlock()
	return m.recognizer.Visits
}

// TestModelLooksOnlyForReaders, and only at changes.
func TestModelLooksOnlyForReaders(t *testing.T) {
	srv, m := crowded(t, 100)
	version, before := m.Hub.Version(), m.visits()
	for i := range 20 {
		changed(t, srv, m, i+1)
	}
	assert.Equal(t, before, m.visits(), "no look without a reader")
	assert.Equal(t, version, m.Hub.Version(), "and nothing was published")
	for i, read := range []string{"/api/things", "/counters", "/locks", "/"} {
		m.rest0()
		changed(t, srv, m, 100+i)
		before = m.visits()
		w := httptest.NewRecorder()
		Handler(m, "", nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, read, nil))
		require.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, before+1, m.visits(), "%s: one change, one recognition", read)
		assert.Equal(t, fmt.Sprint(100+i), m.lastView().Of(busy).State)
	}
}

// TestViewDoesNotBecomeOlder: the watch over the connection waits for a reader, who
// meanwhile learns that the tree is loaded.
func TestViewDoesNotBecomeOlder(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	defer func() { _ = srv.Close() }()
	c, err := session.Connect(t.Context(), srv.Addr(), nil)
	require.NoError(t, err)
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	ctx, cancel := context.WithCancel(t.Context())
	m := NewModel(c, "/")
	m.sight.Lock()
	var watch, over sync.WaitGroup
	// Waited for below; ends after one look.
	watch.Go(m.watchTree)
	// Waited for below; ends with ctx.
	over.Go(func() { _ = m.Run(ctx) })
	require.Eventually(t, func() bool { return m.tree.Status().Loaded }, time.Minute, time.Millisecond)
	m.lookLocked()
	m.sight.Unlock()
	watch.Wait()
	assert.True(t, m.lastView().Health.Loaded)
	cancel()
	over.Wait()
}

// rest0 lets the next reader look at once.
func (m *Model) rest0() {
	m.sight.Lock()
	defer m.sight.Unlock()
	m.rested = time.Time{}
}

// TestLateChangeIsNotDatedNow: the model looked long after the change.
func TestLateChangeIsNotDatedNow(t *testing.T) {
	d := newDirty()
	at := time.Now()
	_, _, late := d.takeChanges(at)
	assert.False(t, late, "nothing has")
	d.noteAll()
	_, all, late := d.takeChanges(time.Now())
	assert.True(t, all)
	assert.False(t, late, "a moment ago")
	d.noteAll()
	_, _, late = d.takeChanges(time.Now().Add(prompt + time.Second))
	assert.True(t, late)
	assert.False(t, d.hasChanges())
}

// TestAwaitedLockComesFirst among ten thousand locks, with any path.
func TestAwaitedLockComesFirst(t *testing.T) {
	p := newPast()
	for i := range crowd {
		path := fmt.Sprintf("/locks/lock-%05d", i)
		p.has(path, 0, "")
		p.has(contender(path, "lock", 1), 1, "ann")
	}
	last := fmt.Sprintf("/locks/lock-%05d", crowd-1)
	p.has(contender(last, "lock", 2), 2, "bob")
	v := &View{World: p.look(), Exists: true}
	require.Len(t, v.Things, crowd)
	for _, page := range menuPages() {
		if page.at != "/locks" {
			continue
		}
		d := &drawing{View: v, question: question{Page: 1}, page: page}
		blocks := d.drawList()
		require.NoError(t, d.err)
		require.Len(t, blocks, 1+perPage+1)
		assert.Equal(t, "mutex "+last, blocks[1].Key)
		d.Page = crowd / perPage
		for _, b := range d.drawList() {
			assert.NotContains(t, b.Key, last, "only there")
		}
	}
	d := &drawing{View: v, page: menuPages()[0], menu: menuPages()}
	require.Len(t, d.Waits(), 1)
	assert.Equal(t, last, d.Waits()[0].Thing.Path)
	assert.Equal(t, recognize.Mutex, d.Waits()[0].Thing.Kind)
	assert.True(t, strings.HasSuffix(last, "9999"))
}

// BenchmarkChange measures a change among ten thousand locks: in a model
// without readers, with a read after each change, and with a drawn page. The
// figures include the server, which runs in this process.
func BenchmarkChange(b *testing.B) {
	srv, m := crowded(b, crowd)
	h, value := Handler(m, "", nil), 0
	get := func(at string) func() {
		return func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, at, nil))
			require.Equal(b, http.StatusOK, w.Code)
		}
	}
	for name, read := range map[string]func(){
		"unread": func() {}, "recognized": func() { m.View() }, "page": get("/counters"), "locks": get("/locks"), "api": get("/api/things?limit=100"),
	} {
		b.Run(name, func(b *testing.B) {
			begin, visits := processor(b), m.visits()
			for b.Loop() {
				value++
				m.rest0()
				changed(b, srv, m, value)
				read()
			}
			b.ReportMetric(float64(processor(b)-begin)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(m.visits()-visits)/float64(b.N), "recognitions/op")
		})
	}
}
