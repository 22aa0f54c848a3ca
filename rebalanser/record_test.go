package rebalanser

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
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
		"Grace":          {Grace: -1},
		"Subscription":   {Subscription: []string{"ok", "["}},
	} {
		_, err := o.withDefaults()
		require.ErrorIs(t, err, ErrInvalidArgument, field)
		require.ErrorContains(t, err, field)
	}
	for _, id := range []string{"a/b", ".", "..", "a\x00b", "a\nb", "_c_x", strings.Repeat("x", 1025), "\xff"} {
		_, err := (&Options{Instance: id}).withDefaults()
		require.ErrorIs(t, err, ErrInvalidArgument, "%q", id)
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
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, want)
	}
	require.ErrorIs(t, validPath("/"), ErrInvalidArgument)
	require.ErrorIs(t, validPath("a"), ErrInvalidArgument)
	require.ErrorIs(t, validPath("/a/"), ErrInvalidArgument)
	require.NoError(t, validPath("/a/b"))
	a := Open(nil, "/a", nil)
	_, err := a.Status(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
	for _, name := range []string{"", "a/b", ".", "..", "a\x01", strings.Repeat("x", 1025), "\xff"} {
		_, err := a.AddResources(t.Context(), "fine", name)
		require.ErrorIs(t, err, ErrInvalidArgument, "%q", name)
		require.ErrorContains(t, err, "resource")
	}
}

// A shard survives writing and reading, in parts that servers accept.
func TestShardsSurviveTheirParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z<"é]{1,40}`), 0, 200, rapid.ID).Draw(t, "names")
		if rapid.Bool().Draw(t, "long") {
			for i := range names {
				names[i] += strings.Repeat("<", 20000) // six bytes each, as JSON
			}
		}
		slices.Sort(names)
		s := core.Shard{Client: "c", Generation: rapid.Int64Range(1, shareformat.MaxNumber).Draw(t, "generation"), Resources: names}
		data, chunks, _ := encodeShard(s, 3, written{}, false)
		r, err := decode[shardRecord]("/g/assignments/c", data)
		require.NoError(t, err)
		require.Equal(t, []any{s.Client, s.Generation, len(names), len(chunks)}, []any{r.Client, r.Generation, r.Count, r.Chunks})
		all := slices.Clone(r.Resources)
		for _, c := range append(chunks, data) {
			require.Less(t, len(c), shareformat.MaxChunk+1024)
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

func TestProtectMakesErrorsOfPanics(t *testing.T) {
	inner := errors.New("inner")
	require.ErrorIs(t, callProtected("f", func() error { panic(inner) }), inner)
	require.ErrorContains(t, callProtected("f", func() error { panic(42) }), "f panicked: 42\n")
	require.ErrorIs(t, callProtected("f", func() error { return inner }), inner)
	require.NoError(t, callProtected("f", func() error { return nil }))
}

// Any data in a znode is decoded or refused.
func FuzzRecords(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", "null", `{"format":1,"mode":"resource","id":"x","instance":"i","subscription":["*"]}`,
		`{"client":"c","generation":1,"count":2,"resources":["a","b"]}`, `{"generation":3,"state":"stop"}`,
		`{"generation":-3,"state":"confirmed"}`, `{"epoch":9e99}`, `{"epoch":9223372036854775807}`,
		`{"format":1,"client":"_c_x-latch-0000000001","more":[1]}`, `{"more":1}`, `{"format":2}`, `{"format":"1"}`,
		`{"client":"../x-latch-0000000001"}`, `{"paused":true} {}`, `{"count":1,"failures":[{"since":"never"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const path = "/g/record"
		if m, err := decodeMember(ResourceBarrier, path, data); err == nil {
			again, err := decodeMember(ResourceBarrier, path, encode(&m))
			require.NoError(t, err)
			require.Equal(t, encode(&m), encode(&again))
			require.True(t, m.Instance == "" || validInstance(m.Instance) == nil)
		} else {
			require.ErrorIs(t, err, ErrRecord)
		}
		if st, _, err := parseStatus(path, data); err == nil {
			require.GreaterOrEqual(t, st.Generation, int64(0))
			require.Positive(t, st.Generation+1)
			require.LessOrEqual(t, st.State, core.Confirmed)
		} else {
			require.ErrorIs(t, err, ErrRecord)
		}
		if e, err := decode[epochRecord](path, data); err == nil {
			require.Positive(t, e.Epoch+1)
			survives(t, data, &e)
		} else {
			require.ErrorIs(t, err, ErrRecord)
		}
		if b := layout("/g").barrierTable(nil, nil).Entry("record", data, session.Stat{}); b.Err == nil {
			require.True(t, b.Owner == "" || shareformat.IsClient(b.Owner) && !strings.Contains(b.Owner, "/"))
		} else {
			require.ErrorIs(t, b.Err, ErrRecord)
			require.ErrorContains(t, b.Err, "set the data of this znode to the empty string")
		}
		if c, err := decode[configRecord](path, data); err == nil {
			survives(t, data, &c)
		} else {
			require.ErrorIs(t, err, ErrRecord)
		}
		if _, err := decode[failuresRecord](path, data); err != nil {
			require.ErrorIs(t, err, ErrRecord)
		}
		if _, err := decode[groupRecord](path, data); err != nil {
			require.ErrorIs(t, err, ErrRecord)
		}
	})
}

// The error of a member's record names its path, and the defect.
func TestMemberRecordsOfOthersAreRefused(t *testing.T) {
	const path = "/g/clients/c"
	good := `{"format":1,"mode":"resource","id":"x"}`
	_, err := decodeMember(ResourceBarrier, path, []byte(good))
	require.NoError(t, err)
	for data, says := range map[string]string{
		`{"mode":"resource"}`:                                 "it has format 0",
		`{"format":2,"mode":"resource"}`:                      "the record has format 2, this version supports",
		`{"format":1,"mode":"global"}`:                        `it has mode "global"`,
		`{"format":1,"mode":"resource","weight":-1}`:          "it has weight -1",
		`{"format":1,"mode":"resource","weight":1000001}`:     "it has weight 1000001",
		`{"format":1,"mode":"resource","weight":"1"}`:         "has the data",
		`{"format":1,"mode":"resource","instance":"_c_x"}`:    "Instance",
		`{"format":1,"mode":"resource","subscription":["["]}`: "Subscription",
		"":        "has the data",
		"garbage": "has the data",
	} {
		_, err := decodeMember(ResourceBarrier, path, []byte(data))
		require.ErrorIs(t, err, ErrRecord, data)
		require.ErrorContains(t, err, path, data)
		require.ErrorContains(t, err, says, data)
	}
}

// survives requires that a rewritten record keeps all its fields.
func survives(t *testing.T, data []byte, record any) {
	t.Helper()
	if len(data) == 0 {
		return
	}
	var before, after map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &before))
	require.NoError(t, json.Unmarshal(encode(record), &after))
	for name := range before {
		known := slices.ContainsFunc([]string{"format", "epoch", "client", "since", "paused", "by"}, func(k string) bool { return strings.EqualFold(k, name) })
		require.True(t, known || after[name] != nil, "%q: field %q is lost", data, name)
	}
}

func TestErrorsTellWhatFailed(t *testing.T) {
	err := failure(t.Context(), "run", "/g", fmt.Errorf("%w: why", ErrMode))
	require.EqualError(t, err, "rebalanser: run /g: the group has another mode: why")
	require.Equal(t, -1, optimistic.CulpritIndex(err))
}
