package rwlock

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Tests of our names, and of reading other contenders' names.

func TestNamesAreThoseOfTheOtherLibraries(t *testing.T) {
	const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
	for _, tc := range []struct {
		layout Layout
		kind   kind
		want   string
	}{
		{Curator, reader, "^_c_" + uuid + "-__READ__$"},
		{Curator, writer, "^_c_" + uuid + "-__WRIT__$"},
		{Kazoo, reader, "^[0-9a-f]{32}__rlock__$"},
		{Kazoo, writer, "^[0-9a-f]{32}__lock__$"},
	} {
		name, err := tc.layout.newName(tc.kind)
		require.NoError(t, err)
		require.Regexp(t, regexp.MustCompile(tc.want), name())
		require.NotEqual(t, name(), name())
		q := znode.Parse([]string{name() + "0000000042"}, lockformat.RWMarkers()...)
		require.Len(t, q.Entries, 1)
		require.Equal(t, tc.kind == writer, lockformat.Writes(q.Entries[0].Marker))
	}
	_, err := Layout(2).newName(reader)
	require.ErrorIs(t, err, ErrInvalidArgument)
}

func TestDowngradedNameIsAReadersWithTheSameNumber(t *testing.T) {
	for _, layout := range []Layout{Curator, Kazoo} {
		name, err := layout.newName(writer)
		require.NoError(t, err)
		old := name() + "0000000042"
		q := znode.Parse([]string{old, layout.downgraded(old)}, lockformat.RWMarkers()...)
		require.Len(t, q.Entries, 2)
		for _, e := range q.Entries {
			require.EqualValues(t, 42, e.Seq)
			require.Equal(t, e.Name == old, lockformat.Writes(e.Marker))
		}
	}
}

// FuzzQueue checks that every list of names is read without a panic, and that the
// rules agree with the parts of each name.
func FuzzQueue(f *testing.F) {
	for _, s := range []string{
		"_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-__READ__0000000007", "_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-__WRIT__0000000007",
		"0123456789abcdef0123456789abcdef__lock__0000000005", "0123456789abcdef0123456789abcdef__rlock__-999999999",
		"__READ__", "__WRIT__2147483647", "__rlock____lock__0000000001", "", "/", "\xff__READ__0000000000",
	} {
		f.Add(s, "x__WRIT__0000000003")
	}
	known := regexp.MustCompile(`(?s)(__READ__|__WRIT__|__rlock__|__lock__)[0-9]{10}$`)
	write := regexp.MustCompile(`(?s)(__WRIT__|__lock__)[0-9]{10}$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		q := znode.Parse([]string{a, b}, lockformat.RWMarkers()...)
		for i, e := range q.Entries {
			if !known.MatchString(e.Name) || lockformat.Writes(e.Marker) != write.MatchString(e.Name) {
				t.Fatalf("%q is taken for %+v", e.Name, e)
			}
			k := reader
			if lockformat.Writes(e.Marker) {
				k = writer
			}
			d := k.rule()(q, i)
			writer := slices.ContainsFunc(q.Entries[:i], func(e znode.Entry) bool { return write.MatchString(e.Name) })
			if d.Granted != (i == 0 || k == reader && !writer) || d.Granted == (len(d.Watch) > 0) {
				t.Fatalf("%+v of %q", d, q.Entries)
			}
		}
	})
}
