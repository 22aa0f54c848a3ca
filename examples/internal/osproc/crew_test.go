//go:build unix

package osproc

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain is a process of a crew when it is told so.
func TestMain(m *testing.M) {
	if os.Getenv("CREW") != "1" {
		os.Exit(m.Run())
	}
	fmt.Println("works")
	if os.Args[1] == "fail" {
		os.Exit(3)
	}
	ctx, cancel := UntilStdinEnds(context.Background())
	defer cancel()
	<-ctx.Done()
}

// recorder collects the reports of a crew, in order for each process.
type recorder struct {
	mu    sync.Mutex // guards lines
	lines map[string][]string
}

func (r *recorder) report(name, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines[name] = append(r.lines[name], line)
}

func newTestCrew(t *testing.T) (*Crew, *recorder) {
	t.Setenv("CREW", "1")
	r := &recorder{lines: map[string][]string{}}
	return NewCrew(r.report), r
}

func TestOnlyUnwantedEndsAreFailures(t *testing.T) {
	c, r := newTestCrew(t)
	for _, name := range []string{"killed", "ended", "frozen"} {
		require.NoError(t, c.Start(name, "stay"))
	}
	c.Process("killed").Kill()
	require.Error(t, c.Process("killed").Wait())
	c.Process("ended").End()
	require.NoError(t, c.Process("ended").Wait())
	c.Process("frozen").Freeze()
	require.NoError(t, c.Failure())
	killed, others := c.Names()
	assert.Equal(t, []string{"killed"}, killed)
	assert.ElementsMatch(t, []string{"ended", "frozen"}, others)

	require.NoError(t, c.Start("bad", "fail"))
	require.EqualError(t, c.Process("bad").Wait(), "exit status 3")
	require.EqualError(t, c.Failure(), "bad has ended by itself: exit status 3")

	began := time.Now()
	require.NoError(t, c.Dismiss(), "a frozen process ends too")
	assert.Less(t, time.Since(began), endTime)
	require.NoError(t, c.Process("frozen").Wait())
	assert.Contains(t, r.lines["killed"], "KILLED")
	assert.Contains(t, r.lines["frozen"], "FROZEN")
	assert.Equal(t, []string{"works"}, r.lines["ended"])
}
