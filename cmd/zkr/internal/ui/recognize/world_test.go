package recognize

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestMain(m *testing.M) { world.Main(m) }

// noon is when the worlds of tests are looked at.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) // read only

// nodes reads lines "path [eN] [vN] [zN] [new] [denied] [=data]", where eN is
// the session of an ephemeral node, vN the version, zN the czxid, and data may
// be hex:... or repeat:N. Missing parents are added. The default czxid of a
// node is 100 plus the number of its line. The last line was created a minute
// before noon, and each line before it a second earlier; a new node was created
// a second before noon.
func nodes(lines ...string) []*Node {
	byPath := map[string]*Node{}
	for i, line := range lines {
		head, data, _ := strings.Cut(line, " =")
		words := strings.Fields(head)
		at := noon.Add(-time.Minute - time.Duration(len(lines)-i)*time.Second).UnixMilli()
		stat := session.Stat{Czxid: int64(100 + i), Mzxid: int64(100 + i), Ctime: at, Mtime: at}
		denied := false
		for _, word := range words[1:] {
			n, _ := strconv.ParseInt(word[1:], 10, 64)
			switch {
			case word == "denied":
				denied = true
			case word == "new":
				stat.Ctime, stat.Mtime = noon.Add(-time.Second).UnixMilli(), noon.Add(-time.Second).UnixMilli()
			case word[0] == 'e':
				stat.EphemeralOwner = n
			case word[0] == 'v':
				stat.Version = int32(n)
			case word[0] == 'z':
				stat.Czxid, stat.Mzxid = n, n
			}
		}
		raw := []byte(data)
		if digits, ok := strings.CutPrefix(data, "hex:"); ok {
			raw, _ = hex.DecodeString(digits)
		} else if n, ok := strings.CutPrefix(data, "repeat:"); ok {
			n, _ := strconv.Atoi(n)
			raw = []byte(strings.Repeat("x", n))
		}
		for p := znode.Parent(words[0]); p != "/" && byPath[p] == nil; p = znode.Parent(p) {
			byPath[p] = NewNode(p, nil, session.Stat{Ctime: at})
		}
		if byPath[words[0]] = NewNode(words[0], raw, stat); denied {
			byPath[words[0]] = &Node{Path: words[0], Denied: true}
		}
	}
	if byPath["/"] == nil {
		byPath["/"] = NewNode("/", nil, session.Stat{})
	}
	out := make([]*Node, 0, len(byPath))
	for _, n := range byPath {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *Node) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func look(past Past, lines ...string) *World { return Look(slices.Values(nodes(lines...)), past, noon) }

// brief describes a world in lines: kind (with a question mark for a guess),
// path, state, and the problems below.
func brief(w *World) string {
	var b strings.Builder
	for _, t := range w.Things {
		fmt.Fprintf(&b, "%s%s %s: %s", t.Kind, map[bool]string{false: "?"}[t.Guess == ""], t.Path, t.State)
		if t.Part != "" {
			b.WriteString(" [of " + t.Part + "]")
		}
		b.WriteString("\n")
		for _, p := range t.Problems {
			fmt.Fprintf(&b, "  %s: %s\n", p.Level, p.Text)
		}
	}
	return b.String()
}

// uuid is a uuid for tests.
func uuid(n int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n) }

func hexID(n int) string { return fmt.Sprintf("%032d", n) }

func TestTreeIsWhatItsNodesSay(t *testing.T) {
	w := look(Past{}, "/a =1 2", "/a/c e7 =x", "/a/b denied", "/a-b =y", "/z =repeat:5000")
	require.Equal(t, 6, w.Nodes)
	require.Equal(t, 1, w.Ephemeral)
	require.Equal(t, []string{"/a/b"}, w.Denied)
	var names []string
	for _, n := range w.Children("/a") {
		names = append(names, n.Name())
	}
	require.Equal(t, []string{"b", "c"}, names)
	require.Len(t, w.Children("/"), 3)
	require.Nil(t, w.Children("/none"))
	n, ok := w.Lookup("/z")
	require.True(t, ok)
	require.Equal(t, 5000, n.Size)
	require.Len(t, n.Data, keptOther, "only the beginning is kept")
	require.False(t, n.Whole())
	_, ok = w.Lookup("/none")
	require.False(t, ok)
	require.Nil(t, w.Of("/z"))
	require.Equal(t, "/a", w.Of("/a/c").Path)
}

// TestTreeMayBeginAnywhere: the root need not be "/".
func TestTreeMayBeginAnywhere(t *testing.T) {
	var below []*Node
	for _, n := range nodes("/x/a/lock/_c_"+uuid(1)+"-lock-0000000001 e1 =me", "/y/lock/_c_"+uuid(1)+"-lock-0000000001 e1") {
		if strings.HasPrefix(n.Path, "/x/a") {
			below = append(below, n)
		}
	}
	w := Look(slices.Values(below), Past{}, noon)
	require.Equal(t, "mutex /x/a/lock: held by me\n", brief(w))
}

func TestSessionsHaveWhatIsTheirs(t *testing.T) {
	w := look(Past{},
		"/l/_c_"+uuid(1)+"-lock-0000000001 e10 =ann", "/l/_c_"+uuid(2)+"-lock-0000000002 e11 =bob",
		"/e/_c_"+uuid(3)+"-latch-0000000001 e11 =bob", "/e/_c_"+uuid(4)+"-latch-0000000002 e10 =ann the second",
		"/rw/_c_"+uuid(5)+"-__READ__0000000001 e10 =ann", "/g/here e11", "/own e12 =x",
	)
	var got []string
	for _, s := range w.Sessions {
		line := fmt.Sprintf("%s %q:", s.ID, s.Names)
		for _, h := range s.Holdings {
			line += fmt.Sprintf(" %s %s;", h.As, h.Thing)
		}
		got = append(got, line)
	}
	require.Equal(t, []string{
		`0xa ["ann" "ann the second"]: stands for /e; holds /l; reads /rw;`,
		`0xb ["bob" "here"]: leads /e; is in /g; waits for /l;`,
		`0xc []: has ;`,
	}, got)
	require.Equal(t, noon.Add(-67*time.Second), w.Session(10).Since.UTC())
	require.Nil(t, w.Session(99))
}

// TestSessionsHaveAsManyTroublesAsNodesWithProblems.
func TestSessionsHaveAsManyTroublesAsNodesWithProblems(t *testing.T) {
	w := look(Past{}, "/l/_c_"+uuid(1)+"-lock-0000000001 e10 =__REVOKE__", "/l/_c_"+uuid(1)+"-lock-0000000002 e10 =__REVOKE__", "/l/_c_"+uuid(3)+"-lock-0000000003 e11")
	require.Greater(t, len(w.Things[0].Problems), 2)
	require.Equal(t, 2, w.Session(10).Trouble)
	require.Zero(t, w.Session(11).Trouble)
}

func TestKindsAreInTheOrderOfTheirPaths(t *testing.T) {
	w := look(Past{}, "/b/_c_"+uuid(1)+"-lock-0000000001 e1", "/a =12", "/a/_c_"+uuid(2)+"-writer e1", "/c/_c_"+uuid(1)+"-latch-0000000001 e1")
	require.Len(t, w.Kinds(Mutex, Counter), 2)
	require.Equal(t, "/a", w.Kinds(Mutex, Counter)[0].Path)
	require.Empty(t, w.Kinds(Job))
}

// TestRecordsAreParsedOnce for each type: further looks cost little.
func TestRecordsAreParsedOnce(t *testing.T) {
	n := NewNode("/a", []byte(`{"id":"x"}`), session.Stat{})
	a, ok := readRecord[identified](n)
	require.True(t, ok)
	require.Equal(t, "x", a.ID)
	_, err := decodeNode(n, jobformat.Decode[jobformat.Job])
	require.Error(t, err)
	require.Len(t, *n.memo.Load(), 2)
	first := n.memo.Load()
	_, ok = readRecord[identified](n)
	require.True(t, ok)
	require.Same(t, first, n.memo.Load())
	_, ok = readRecord[identified](NewNode("/a", []byte(`{"id":`), session.Stat{}))
	require.False(t, ok)
}
