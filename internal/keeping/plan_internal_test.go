package keeping

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

func TestNextStep(t *testing.T) {
	a := &Entry{Dir: "/s/web", Name: "one", Data: []byte("a"), Mode: session.Ephemeral}
	with := func(edit func(*Entry)) *Entry { e := *a; edit(&e); return &e }
	for name, c := range map[string]struct {
		have *Entry
		want *Entry
		step step
	}{
		"nothing, nothing": {nil, nil, stepNothing},
		"first":            {nil, a, stepCreate},
		"as it is":         {a, a, stepNothing},
		"the same again":   {a, with(func(*Entry) {}), stepConfirm},
		"other data":       {a, with(func(e *Entry) { e.Data = []byte("b") }), stepSet},
		"no data":          {a, with(func(e *Entry) { e.Data = nil }), stepSet},
		"other service":    {a, with(func(e *Entry) { e.Dir = "/s/api" }), stepMove},
		"other id":         {a, with(func(e *Entry) { e.Name = "two" }), stepMove},
		"other type":       {a, with(func(e *Entry) { e.Mode = session.Persistent }), stepMove},
		"other everything": {a, &Entry{Dir: "/x", Name: "y"}, stepMove},
		"nothing any more": {a, nil, stepRemove},
	} {
		var have *place
		if c.have != nil {
			have = &place{entry: c.have}
		}
		require.Equal(t, c.step, nextStep(have, c.want), name)
	}
}

// From every state to every wanted state, the plan takes two steps at most: checked
// against a server that is a string.
func TestStepsLeadToWhatIsWanted(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) *Entry {
		if rapid.IntRange(0, 4).Draw(t, "nothing") == 0 {
			return nil
		}
		return &Entry{
			Dir: rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "dir"), Name: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "name"),
			Data: []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "data")),
			Mode: rapid.SampledFrom([]session.Mode{session.Ephemeral, session.Persistent}).Draw(t, "mode"),
		}
	})
	say := func(e *Entry) string {
		if e == nil {
			return "nothing"
		}
		return fmt.Sprint(e.Path(), string(e.Data), e.Mode)
	}
	rapid.Check(t, func(t *rapid.T) {
		have, want := draw.Draw(t, "have"), draw.Draw(t, "want")
		server, at := say(have), (*place)(nil)
		if have != nil {
			at = &place{entry: have}
		}
		for n := 0; ; n++ {
			switch s := nextStep(at, want); s {
			case stepNothing:
				if server != say(want) {
					t.Fatalf("%s exists, %s is wanted", server, say(want))
				}
				return
			case stepRemove:
				server, at = "nothing", nil
			case stepSet, stepConfirm:
				if !at.entry.samePlace(want) {
					t.Fatal("a set cannot do that")
				}
				server, at = say(want), &place{entry: want}
			case stepCreate, stepMove:
				if (s == stepCreate) != (server == "nothing") {
					t.Fatalf("step %d with %s", s, server)
				}
				server, at = say(want), &place{entry: want}
			}
			if n > 0 {
				t.Fatal("more than one step")
			}
		}
	})
}

// A node belongs to one registration, the first that finds it.
func TestNodeIsTakenOnce(t *testing.T) {
	c, a, b := NewOwnership(), &Registrant{}, &Registrant{}
	require.True(t, c.own(a, "/x", 1))
	require.True(t, c.own(a, "/x", 1))
	require.False(t, c.own(b, "/x", 1))
	require.True(t, c.own(b, "/x", 2), "another node of the same name")
	require.True(t, c.own(b, "/y", 1), "of the same transaction")
	c.release(&place{path: "/x", czxid: 1})
	c.release(nil)
	require.True(t, c.own(b, "/x", 1))
	require.False(t, c.hadSession(5))
	c.addSession(5)
	require.True(t, c.hadSession(5))
	for id := range int64(10 * maxSessions) { // years
		c.addSession(100 + id)
		c.addSession(100 + id)
	}
	require.False(t, c.hadSession(5))
	require.True(t, c.hadSession(99+10*maxSessions))
	require.Len(t, c.sessions, maxSessions)
}

// While ZooKeeper is unavailable for long, a caller that gives up leaves no
// request in the queue.
func TestAbandonedRequestsAreNotKept(t *testing.T) {
	k := &Registrant{wake: make(chan struct{}, 1), want: &Entry{}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		require.ErrorIs(t, k.ChangeEntry(ctx, func(now *Entry) (*Entry, error) { return now, nil }), context.Canceled)
	}
	require.Empty(t, k.requests)
	require.Equal(t, 100, k.rev, "they are wanted still")
}

func TestSequentialNamesAreToldFromOthers(t *testing.T) {
	for name, want := range map[string]bool{
		"a0000000001": true, "a-000000001": true, "a-2147483648": true, "a2147483647": true,
		"a": false, "a000000001": false, "ab0000000001": false, "a00000000012": false, "a000000000123": false,
		"b0000000001": false, "a000000-001": false,
	} {
		require.Equal(t, want, sequentialOf(name, "a"), name)
	}
	// The id may end in digits.
	require.True(t, sequentialOf("a10000000001", "a1"))
	require.False(t, sequentialOf("a10000000001", "a"))
}
