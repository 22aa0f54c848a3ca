package rebalanser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"pgregory.net/rapid"
)

func TestWrongOptionsNameTheField(t *testing.T) {
	for field, o := range map[string]Options{
		"Mode":           {Mode: 2},
		"ID":             {ID: "\xff"},
		"Zone":           {Zone: "\xff"},
		"Weight":         {Weight: -1},
		"MaxMoves":       {MaxMoves: -1},
		"InstanceWait":   {InstanceWait: -1},
		"RevokeTimeout":  {RevokeTimeout: -1},
		"InitialDelay":   {InitialDelay: -1},
		"DepartureDelay": {DepartureDelay: -1},
		"MinInterval":    {MinInterval: -1},
		"Subscription":   {Subscription: []string{"ok", "["}},
	} {
		_, err := o.withDefaults()
		require.ErrorIs(t, err, ErrArgument, field)
		require.ErrorContains(t, err, field)
	}
	for _, id := range []string{"a/b", ".", "..", "a\x00b", "a\nb", "_c_x", strings.Repeat("x", 1025), "\xff"} {
		_, err := (&Options{Instance: id}).withDefaults()
		require.ErrorIs(t, err, ErrArgument, "%q", id)
		require.ErrorContains(t, err, "Instance")
	}
	got, err := (*Options)(nil).withDefaults()
	require.NoError(t, err)
	require.Equal(t, assignor.Sticky().Name(), got.Assignor.Name())
	require.Equal(t, 30*time.Second, got.DepartureDelay)
	require.NotEmpty(t, got.ID)
	require.Equal(t, "Mode(7)", Mode(7).String())
}

func TestWrongArgumentsAreReportedBeforeAnythingIsSent(t *testing.T) {
	h := Each(nil)
	for want, g := range map[string]*Group{
		"the client is nil": New(nil, "/a", h, nil),
		"Weight":            New(nil, "/a", h, &Options{Weight: -1}),
	} {
		err := g.Run(t.Context())
		require.ErrorIs(t, err, ErrArgument)
		require.ErrorContains(t, err, want)
	}
	require.ErrorIs(t, validPath("/"), ErrArgument)
	require.ErrorIs(t, validPath("a"), ErrArgument)
	require.ErrorIs(t, validPath("/a/"), ErrArgument)
	require.NoError(t, validPath("/a/b"))
	a := Open(nil, "/a", nil)
	_, err := a.Status(t.Context())
	require.ErrorIs(t, err, ErrArgument)
	for _, name := range []string{"", "a/b", ".", "..", "a\x01", strings.Repeat("x", 1025), "\xff"} {
		_, err := a.AddResources(t.Context(), "fine", name)
		require.ErrorIs(t, err, ErrArgument, "%q", name)
		require.ErrorContains(t, err, "resource")
	}
}

// Whatever a shard holds comes out as it went in, in parts that servers accept.
func TestShardsSurviveTheirParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z<"é]{1,40}`), 0, 200, rapid.ID).Draw(t, "names")
		if rapid.Bool().Draw(t, "long") {
			for i := range names {
				names[i] += strings.Repeat("<", 20000) // six bytes each, as JSON
			}
		}
		slices.Sort(names)
		s := core.Shard{Client: "c", Generation: rapid.Int64Min(1).Draw(t, "generation"), Resources: names}
		data, chunks := encodeShard(s, 3)
		r, err := decode[shardRecord](data)
		require.NoError(t, err)
		require.Equal(t, []any{s.Client, s.Generation, len(names), len(chunks)}, []any{r.Client, r.Generation, r.Count, r.Chunks})
		all := slices.Clone(r.Resources)
		for _, c := range append(chunks, data) {
			require.Less(t, len(c), maxChunk+1024)
		}
		for _, c := range chunks {
			var part []string
			require.NoError(t, json.Unmarshal(c, &part))
			require.NotEmpty(t, part)
			all = append(all, part...)
		}
		require.Equal(t, len(names), len(all))
		require.True(t, slices.Equal(names, all))
	})
}

func TestBatchesKeepOrderAndLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 100).Draw(t, "sizes")
		most, bytes := rapid.IntRange(1, 20).Draw(t, "most"), rapid.IntRange(1, 100).Draw(t, "bytes")
		var all []int
		for part := range batches(sizes, most, bytes, func(n int) int { return n }) {
			sum := 0
			for _, n := range part {
				sum += n
			}
			require.NotEmpty(t, part)
			require.LessOrEqual(t, len(part), most)
			require.True(t, sum <= bytes || len(part) == 1)
			all = append(all, part...)
		}
		require.True(t, slices.Equal(sizes, all))
		for range batches(sizes, most, bytes, func(n int) int { return n }) {
			break // it can be left
		}
	})
}

func TestNamesOfStoppedNodesAreRead(t *testing.T) {
	for name, ok := range map[string]bool{"a.1": true, "a": false, "a.": false, "a.x": false, "a.1.2": false, "": false} {
		_, _, got := parseStopped(name)
		require.Equal(t, ok, got, name)
	}
	client, generation, _ := parseStopped("_c_x-latch-0000000001.42")
	require.Equal(t, "_c_x-latch-0000000001", client)
	require.EqualValues(t, 42, generation)
	for name, is := range map[string]bool{
		"_c_x-latch-0000000001": true, "latch-0000000000": true, "_c_x-lock-0000000001": false, "x": false, "": false,
		"_c_x-latch-2147483647": false, "_c_x-latch--000000001": false, // they do not say who came first
	} {
		require.Equal(t, is, isClient(name), name)
	}
}

func TestMailboxKeepsOrderAndNeverBlocks(t *testing.T) {
	b := newMailbox[int]()
	for i := range 1000 {
		b.post(i)
	}
	<-b.ready
	got := b.take()
	require.Len(t, got, 1000)
	require.True(t, slices.IsSorted(got))
	require.Empty(t, b.take())
	select {
	case <-b.ready:
		t.Fatal("it is empty")
	default:
	}
}

func TestProtectMakesErrorsOfPanics(t *testing.T) {
	inner := errors.New("inner")
	require.ErrorIs(t, protect("f", func() error { panic(inner) }), inner)
	require.ErrorContains(t, protect("f", func() error { panic(42) }), "f panicked: 42\n")
	require.ErrorIs(t, protect("f", func() error { return inner }), inner)
	require.NoError(t, protect("f", func() error { return nil }))
}

// Whatever is in a znode, it is read as something, or refused.
func FuzzRecords(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", "null", `{"format":1,"mode":"resource","id":"x","instance":"i","subscription":["*"]}`,
		`{"client":"c","generation":1,"count":2,"resources":["a","b"]}`, `{"generation":3,"state":"stop"}`,
		`{"generation":-3,"state":"confirmed"}`, `{"epoch":9e99}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := decodeMember(ResourceBarrier, data); err == nil {
			again, err := decodeMember(ResourceBarrier, encode(m))
			require.NoError(t, err)
			require.Equal(t, encode(m), encode(again))
			require.True(t, m.Instance == "" || validInstance(m.Instance) == nil)
		} else {
			require.ErrorIs(t, err, ErrRecord)
		}
		if st, err := parseStatus(data); err == nil {
			require.GreaterOrEqual(t, st.Generation, int64(0))
			require.LessOrEqual(t, st.State, core.Confirmed)
		} else {
			require.ErrorIs(t, err, ErrRecord)
		}
		if b, err := decode[barrierRecord](data); err == nil && b.Client != "" {
			require.True(t, bytes.Contains(encode(b), []byte("client")))
		}
	})
}

func TestErrorsTellWhatFailed(t *testing.T) {
	err := failure(t.Context(), "run", "/g", fmt.Errorf("%w: why", ErrMode))
	require.EqualError(t, err, "rebalanser: run /g: the group has another mode: why")
	require.Equal(t, -1, culprit(err))
}
