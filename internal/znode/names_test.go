package znode_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"pgregory.net/rapid"
)

func TestParseKnowsTheNamesOfAllLibraries(t *testing.T) {
	children := []string{
		"_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000007", // Curator, and this module
		"_c_0123456789abcdef0123456789abcdef-lock-0000000003",     // go-zookeeper
		"0123456789abcdef0123456789abcdef__lock__0000000005",      // Kazoo
		"lock-0000000004",                                         // unprotected
		"config", "_c_x-lease-0000000001", "x-lock-000000001", "", // strangers
		"x-lock-00000000012", "lock-9999999999", "lock- 000000001", // no numbers
		"0123456789abcdef0123456789abcdef__rlock__0000000000",        // Kazoo's other lock
		"_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-__READ__0000000000", // Curator's other lock
	}
	q := znode.Parse(children, "lock-", "__lock__")
	require.False(t, q.Exhausted)
	var seqs []int32
	for _, e := range q.Entries {
		seqs = append(seqs, e.Seq)
		require.True(t, strings.HasSuffix(e.Name[:len(e.Name)-10], e.Marker))
	}
	require.Equal(t, []int32{3, 4, 5, 7}, seqs)
	require.Equal(t, 3, q.Index(children[0]))
	require.Equal(t, -1, q.Index("config"))
}

// P18, PD8: the suffixes that a Java server formats with %010d from a negative or the
// last number. None of them may be taken for the first, or be overlooked.
func TestNumbersWithoutOrderAreSeen_P18_PD8(t *testing.T) {
	for _, n := range []int64{math.MaxInt32, math.MinInt32, math.MinInt32 + 1, -1000000000, -999999999, -12345, -1} {
		name := fmt.Sprintf("_c_x-lock-%010d", n)
		q := znode.Parse([]string{name, "lock-0000000001"}, "lock-", "__lock__")
		require.True(t, q.Exhausted, name)
		require.Len(t, q.Entries, 1, name)
		require.EqualValues(t, 1, q.Entries[0].Seq)
	}
	require.False(t, znode.Parse([]string{fmt.Sprintf("lock-%010d", math.MaxInt32-1)}, "lock-").Exhausted)
}

// P19: prefixes, random ones and such that sort against the numbers, change
// nothing about the order.
func TestPrefixesDoNotChangeTheOrder_P19(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.Int32Range(0, math.MaxInt32-1), 1, 50, rapid.ID[int32]).Draw(t, "numbers")
		var children []string
		for _, n := range numbers {
			prefix := rapid.StringMatching(`[ -.0-~]{0,20}`).Draw(t, "prefix")
			marker := rapid.SampledFrom([]string{"lock-", "__lock__"}).Draw(t, "marker")
			children = append(children, fmt.Sprintf("%s%s%010d", prefix, marker, n))
		}
		rand.Shuffle(len(children), func(i, j int) { children[i], children[j] = children[j], children[i] })
		q := znode.Parse(children, "lock-", "__lock__")
		require.Len(t, q.Entries, len(numbers))
		slices.Sort(numbers)
		for i, e := range q.Entries {
			require.Equal(t, numbers[i], e.Seq)
			require.Equal(t, i, q.Index(e.Name))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"lock-0000000001", "lock--2147483648", "x__lock__-999999999", "", "lock-", "/", "\xff-lock-0000000000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		q := znode.Parse([]string{name}, "lock-", "__lock__")
		if len(q.Entries) > 1 || q.Exhausted && len(q.Entries) > 0 {
			t.Fatalf("%q: %+v", name, q)
		}
		for _, e := range q.Entries {
			if e.Seq < 0 || e.Seq == math.MaxInt32 || fmt.Sprintf("%010d", e.Seq) != name[len(name)-10:] || !strings.Contains(name, e.Marker) {
				t.Fatalf("%q: %+v", name, e)
			}
		}
	})
}

func TestNamesAreThoseOfTheOtherLibraries(t *testing.T) {
	require.Regexp(t, regexp.MustCompile(`^_c_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-lock-$`), znode.Protected("lock-"))
	require.Regexp(t, regexp.MustCompile(`^[0-9a-f]{32}__lock__$`), znode.Hex("__lock__"))
	seen := map[string]bool{}
	for range 1000 {
		seen[znode.Protected("x")], seen[znode.Hex("x")] = true, true
	}
	require.Len(t, seen, 2000, "CH6: every name is unique")
}

func TestJoinAndBaseAreInverse(t *testing.T) {
	for _, dir := range []string{"/", "/a", "/a/b"} {
		path := znode.Join(dir, "name")
		require.Equal(t, "name", znode.Base(path))
		require.Equal(t, dir, znode.Parent(path))
		require.NotContains(t, path, "//")
	}
	require.Equal(t, "/name", znode.Join("/", "name"))
	require.Equal(t, "/a/name", znode.Join("/a", "name"))
	for _, path := range []string{"/", ""} {
		require.Equal(t, "/", znode.Parent(path))
	}
}

func TestProtectionIsReadOfNamesThatHaveIt(t *testing.T) {
	uuid, digits := "b6e1bacb-95aa-485f-b2a5-02692629ab80", "0123456789abcdef0123456789abcdef"
	for name, want := range map[string]string{
		"_c_" + uuid + "-lock-0000000001": uuid, "_c_" + uuid + "-": uuid,
		"_c_" + digits + "-lock-0000000001": digits,
		digits + "__lock__0000000001":       "", "_c_": "", "lock-0000000001": "", "_c_" + uuid: "",
		"_c_" + uuid + "x-lock-0000000001": "", "_c_" + strings.Repeat("g", 36) + "-x": "", "_c_" + strings.Repeat("0", 36) + "-x": "",
	} {
		id, base, ok := znode.Protection(name)
		require.Equal(t, want, id, name)
		require.Equal(t, want != "", ok, name)
		require.True(t, !ok || "_c_"+id+"-"+base == name, name)
	}
	require.True(t, znode.IsUUID(uuid))
	for _, text := range []string{"", digits, strings.ToUpper(uuid), uuid + "0", uuid[:35] + "g", strings.Replace(uuid, "-", "0", 1)} {
		require.False(t, znode.IsUUID(text), text)
	}
}

func TestNamesAreThoseOfOneElement(t *testing.T) {
	for _, name := range []string{"a", "a.b", "~", strings.Repeat("x", 500)} {
		require.True(t, znode.IsName(name), name)
	}
	for _, name := range []string{"", ".", "..", "a/b", "/", "\x00", "\xff", "a\ufff0"} {
		require.False(t, znode.IsName(name), name)
	}
}
