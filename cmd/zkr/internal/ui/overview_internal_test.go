package ui

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestTilesSummarizeThings of all kinds.
func TestTilesSummarizeThings(t *testing.T) {
	p := newPast()
	p.has("/l", 0, "")
	p.has(contender("/l", "lock", 1), 1, "ann")
	p.has("/m", 0, "")
	p.has(contender("/m", "lock", 1), 1, "ann")
	p.has("/m/_c_00000001-0000-4000-8000-000000000000-lock--2147483648", 1, "")
	p.has("/q", 0, "")
	p.has("/r", 0, "")
	p.has("/r/entries", 0, "")
	p.has("/r/taken", 0, "")
	p.has("/r/taken/entry-100-0000000001", 1, "")
	for i := range 3 {
		p.has(fmt.Sprintf("/q/entry-100-%010d", i), 0, "x")
		p.has(fmt.Sprintf("/r/entries/entry-100-%010d", i), 0, "x")
	}
	w := p.look()
	assert.Equal(t, "the order of the contenders is unknown", w.Of("/m").State)
	assert.Equal(t, "1 held, 1 waiting", summarizeThings(w.Kinds(recognize.Mutex)), "with exhausted numbers the holder is unknown")
	assert.Equal(t, "5 waiting", summarizeThings(w.Kinds(recognize.Queue)), "and one item is taken")
}

func TestUnknownWorkersArePartOfTheirJob(t *testing.T) {
	n := 0
	for _, p := range jobParts(&recognize.JobState{Size: 21, Running: 1, Left: 2, Failed: 3, Missing: 4, Unknown: 5, Dead: 6}) {
		n += p.N
	}
	assert.Equal(t, 21, n)
}

// TestOnlyOurBarriersTellHowManyTheyWaitFor after the first round: others never do.
func TestOnlyOurBarriersTellHowManyTheyWaitFor(t *testing.T) {
	p := newPast()
	p.has("/barrier", 0, "")
	p.has("/barrier/00000001-0000-4000-8000-000000000000", 1, "")
	p.has("/ours", 0, "")
	p.has("/ours/_c_00000001-0000-4000-8000-000000000000-ann-party-0000000001", 1, "")
	w := p.look()
	d := &drawing{View: &View{World: w}}
	require.Equal(t, recognize.Double, w.Things[0].Kind)
	assert.NotContains(t, string(d.drawThing(w.Things[0]).HTML), "after the first round")
	assert.Contains(t, string(d.drawThing(w.Things[1]).HTML), "after the first round")
	require.NoError(t, d.err)
}

// TestLoadedIsPublishedWithTheThings, even if watch notices the end of the load
// before View.
func TestLoadedIsPublishedWithTheThings(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	defer srv.Close()
	require.NoError(t, srv.Create("/counter", []byte("5")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := session.Connect(ctx, srv.Addr(), nil)
	require.NoError(t, err)
	m := NewModel(c, "/")
	m.patience = time.Hour
	over := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { over <- m.tree.Run(ctx) }()
	require.Eventually(t, func() bool { return m.tree.Status().Loaded }, time.Minute, time.Millisecond)
	m.watchTree()
	v := m.View()
	assert.True(t, v.Health.Loaded)
	assert.True(t, v.Exists)
	assert.Len(t, v.Things, 1)
	assert.NoError(t, c.Close(ctx))
	cancel()
	<-over
}
