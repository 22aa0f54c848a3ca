package history_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// second is a moment of the recordings here.
func second(s float64) time.Time {
	return time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
}

// holder is the znode of a holder of /l, with the token 5 and the session 9.
var holder = recording.Znode{Path: "/l/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba820-lock-0000000000", Stat: recording.Stat{Czxid: 5, Mzxid: 5, Ctime: second(0).UnixMilli(), Mtime: second(0).UnixMilli(), Owner: 9}} // read only

// breakRecord is a record of that hold, by bob.
func breakRecord(change func(z *recording.Znode, b *lockformat.Break)) *recording.Znode {
	b := lockformat.Break{Token: 5, Session: "0x9", By: "bob", Reason: "it hangs", At: second(10)}
	z := &recording.Znode{Path: lockformat.BreakPath("/l", 5), Stat: recording.Stat{Czxid: 12, Mzxid: 12, Ctime: second(10).UnixMilli()}}
	if change != nil {
		change(z, &b)
	}
	z.Data = b.Encode()
	z.Size = len(z.Data)
	return z
}

// late makes changes those of a gap.
func late(after float64, records ...*recording.Record) []*recording.Record {
	for _, r := range records {
		r.After = second(after)
	}
	return append([]*recording.Record{{Kind: recording.Gap, At: records[0].At, After: second(after), Why: "the connection was lost"}}, records...)
}

// The record of a broken hold may be seen before or after the end of the hold, also over a gap,
// and in the same changes. A record of another hold, or of another time, is none of its end.
func TestBrokenHoldInARecording(t *testing.T) {
	gone := func(s float64) *recording.Record {
		return &recording.Record{Kind: recording.Gone, At: second(s), Path: holder.Path}
	}
	written := func(s float64) *recording.Record { return breakRecord(nil).SetRecord(second(s)) }
	other := func(change func(z *recording.Znode, b *lockformat.Break)) []*recording.Record {
		return []*recording.Record{gone(10), breakRecord(change).SetRecord(second(10.1))}
	}
	one := func(r *recording.Record) []*recording.Record { return []*recording.Record{r} }
	for name, c := range map[string]struct {
		records []*recording.Record
		broken  bool
	}{
		"end first":                    {[]*recording.Record{gone(10), written(10.2)}, true},
		"record first":                 {[]*recording.Record{written(10), gone(10.2)}, true},
		"end with its session":         {[]*recording.Record{{Kind: recording.Gone, At: second(10), Path: holder.Path, WithSession: true}, written(10.2)}, true},
		"both in a gap":                {late(5, gone(60), written(60)), true},
		"record after a gap":           {append(one(gone(10)), late(9, written(500))...), true},
		"end after a gap":              {append(one(written(10)), late(9, gone(500))...), true},
		"in two gaps":                  {append(late(5, gone(60)), late(59, written(500))...), true},
		"the gap begins after the end": {append(one(gone(10)), late(10.1, written(12))...), false},
		"record much later":            {[]*recording.Record{gone(10), written(80)}, false},
		"record much earlier":          {[]*recording.Record{written(10), gone(80)}, false},
		"record deleted before":        {[]*recording.Record{written(10), {Kind: recording.Gone, At: second(10.1), Path: lockformat.BreakPath("/l", 5)}, gone(10.2)}, false},
		"no record":                    {one(gone(10)), false},
		"holder remains":               {one(written(10)), false},
		"another token":                {other(func(z *recording.Znode, b *lockformat.Break) { z.Path, b.Token = lockformat.BreakPath("/l", 6), 6 }), false},
		"another token in the data":    {other(func(_ *recording.Znode, b *lockformat.Break) { b.Token = 6 }), false},
		"another lock":                 {other(func(z *recording.Znode, _ *lockformat.Break) { z.Path = lockformat.BreakPath("/m", 5) }), false},
		"another session":              {other(func(_ *recording.Znode, b *lockformat.Break) { b.Session = "0x8" }), false},
		"older than the holder":        {other(func(z *recording.Znode, _ *lockformat.Break) { z.Stat.Mzxid = 4 }), false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w, err := recording.NewWriter(dir, "/", nil)
			require.NoError(t, err)
			l := &recording.Znode{Path: "/l", Stat: recording.Stat{Czxid: 1, Mzxid: 1}}
			require.NoError(t, w.Start(recording.NewState(slices.Values([]*recording.Znode{l, &holder})), second(2)))
			require.NoError(t, w.Append(c.records...))
			require.NoError(t, w.Append((&recording.Znode{Path: "/x", Stat: recording.Stat{Czxid: 900, Mzxid: 900}}).SetRecord(second(900))))
			require.NoError(t, w.Close("stopped"))
			d := readRecording(t, "/l", dir)
			require.Len(t, d.stays, 1)
			if !c.broken {
				require.NotEqual(t, history.Broken, d.stays[0].How)
				require.Empty(t, d.stays[0].BrokenBy)
				return
			}
			require.Equal(t, history.Broken, d.stays[0].How)
			require.Equal(t, "bob it hangs", d.stays[0].BrokenBy+" "+d.stays[0].Reason)
			require.Equal(t, second(900), d.sum.Last.Time)
			gaps := 0
			for _, r := range c.records {
				if r.Kind == recording.Gap {
					gaps++
				}
			}
			require.Len(t, d.findings, gaps)
		})
	}
}

// A znode that was made again is another hold, also with the same name and czxid: the servers
// count from the beginning again. Its grant does not make two holders.
func TestSameZxidOfOtherServersIsAnotherHold(t *testing.T) {
	dir := t.TempDir()
	w, err := recording.NewWriter(dir, "/", nil)
	require.NoError(t, err)
	l := &recording.Znode{Path: "/l", Stat: recording.Stat{Czxid: 1, Mzxid: 1}}
	former := holder
	former.Path = "/l/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba821-lock-0000000001"
	made := func(z recording.Znode, czxid, owner int64) *recording.Znode {
		z.Stat.Czxid, z.Stat.Mzxid, z.Stat.Ctime, z.Stat.Mtime, z.Stat.Owner = czxid, czxid, second(30).UnixMilli(), second(30).UnixMilli(), owner
		return &z
	}
	first, next := made(holder, 4, 10), made(former, 5, 11)
	require.NoError(t, w.Start(recording.NewState(slices.Values([]*recording.Znode{l, &former})), second(2)))
	require.NoError(t, w.Append(late(20, &recording.Record{Kind: recording.Gone, At: second(40), Path: former.Path}, first.SetRecord(second(40)), next.SetRecord(second(40)))...))
	require.NoError(t, w.Close("stopped"))
	d := readRecording(t, "/l", dir)
	require.Len(t, d.stays, 3)
	require.Equal(t, history.Gone, d.stays[0].How)
	require.EqualValues(t, 9, d.stays[0].Session)
	require.Equal(t, second(20), *d.stays[0].EndedAfter)
	require.EqualValues(t, 10, d.stays[1].Session)
	require.True(t, d.stays[1].Has())
	require.EqualValues(t, 11, d.stays[2].Session)
	require.False(t, d.stays[2].Has())
	require.Equal(t, second(30).UnixMilli(), d.stays[2].Entered.Time.UnixMilli())
	for _, s := range d.suspicions {
		require.NotEqual(t, history.TwoHolders, s.Kind)
	}
}
