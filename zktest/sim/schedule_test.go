package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestAScheduleIsReadAsItWasWritten(t *testing.T) {
	kinds := map[Kind]bool{}
	for seed := range uint64(50) {
		space := Space{Processes: []string{"a-1", "a-2"}, Servers: 3, Kinds: append(DefaultKinds(), Empty)}
		s := space.Draw(rand.New(rand.NewPCG(seed, 1)))
		again, err := Parse("\n" + s.String() + "\n\n")
		require.NoError(t, err)
		require.Equal(t, s, again)
		require.Equal(t, s, space.Draw(rand.New(rand.NewPCG(seed, 1))), "the seed decides")
		for _, f := range s {
			kinds[f.Kind] = true
			require.Less(t, f.At, time.Minute)
			require.LessOrEqual(t, f.end(), s.End())
		}
	}
	require.Len(t, kinds, len(DefaultKinds()), "Freeze stands there twice, and Empty does not")
}

func TestAFaultInOneLine(t *testing.T) {
	f := Fault{At: 12500 * time.Millisecond, For: 3 * time.Second, Kind: Delay, Process: "web-1", Direction: zktest.ToServer, By: 800 * time.Millisecond}
	require.Equal(t, "12.5s +3s delay process=web-1 direction=to-server by=800ms", f.String())
	require.Equal(t, Schedule{f}, MustParse(f.String()))
	require.Equal(t, Schedule{{At: time.Second, Kind: Cut, Process: "a"}}, MustParse("1s cut process=a"))
	require.PanicsWithError(t, `sim: line 1: "x" is not a time such as 12.5s: invalid fault`, func() { MustParse("x") })
}

func TestSomeFaultsDoNotLast(t *testing.T) {
	for _, k := range []Kind{Cut, Expire, Empty} {
		require.Equal(t, time.Second, Schedule{{At: time.Second, For: time.Hour, Kind: k, Process: "a"}}.End(), k)
	}
	require.Equal(t, time.Second+time.Hour, Schedule{{At: time.Second, For: time.Hour, Kind: Kill, Process: "a"}}.End())
}

func TestAnInvalidFaultIsRefusedWithItsReason(t *testing.T) {
	for text, reason := range map[string]string{
		"soon cut process=a":            "not a time",
		"1s":                            "the kind is missing",
		"1s +x hole process=a":          "not a duration",
		"1s melt process=a":             "does not exist",
		"1s cut":                        "it needs process=",
		"1s stop-server":                "it needs server=",
		"1s cut-servers server=1":       "it needs other=",
		"1s lose-reply process=a":       "it needs nth=",
		"1s delay process=a":            "it needs by=",
		"1s cut process=a color=red":    "the fields are",
		"1s hole process=a direction=x": "the directions are both, to-server, to-client",
		"1s stop-server server=x":       "invalid syntax",
		"-1s cut process=a":             "negative",
	} {
		_, err := Parse("2s cut process=b\n" + text)
		require.ErrorIs(t, err, ErrFault, text)
		require.ErrorContains(t, err, reason, text)
		require.ErrorContains(t, err, "line 2", text)
	}
	require.ErrorContains(t, Fault{Kind: Hole, Process: "a", Direction: 7}.check(), "the direction")
}

func TestASpaceHasOnlyWhatExists(t *testing.T) {
	for range 20 {
		for _, f := range (Space{}).Draw(rand.New(rand.NewPCG(1, 1))) {
			require.Contains(t, []Kind{FreezeServer, StopServer}, f.Kind)
		}
	}
	require.Empty(t, Space{Kinds: []Kind{Cut}}.Draw(rand.New(rand.NewPCG(1, 1))), "no process")
	long := Space{Kinds: []Kind{StopServer}, Span: time.Hour, Longest: time.Second}.Draw(rand.New(rand.NewPCG(1, 1)))
	for _, f := range long {
		require.LessOrEqual(t, f.For, time.Second)
	}
	require.InDelta(t, 720, len(long), 100, "a pause of 5 s on average")
}
