package recognize

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// forest is a set of changing nodes, with an observer's worlds step by step,
// and the observer's past.
type forest struct {
	*rand.Rand
	seeds []*Node // possible nodes
	nodes map[string]*Node
	r     Recognizer
	only  Recognizer // of things
	told  []*Thing   // by only
	past  Past
	now   time.Time
	zxid  int64
}

// seeds are the nodes of all recipes, each below a path of its own.
func seeds(t *testing.T) (out []*Node) {
	t.Helper()
	files, err := filepath.Glob("testdata/foreign/*.golden")
	require.NoError(t, err)
	require.Greater(t, len(files), 30)
	graft := func(at string, lines []string) {
		for _, n := range nodes(lines...) {
			if n.Path != "/" {
				out = append(out, &Node{Path: at + n.Path, Data: n.Data, Size: n.Size, Stat: n.Stat, Denied: n.Denied})
			}
		}
	}
	for i, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		given, _, _ := strings.Cut(string(raw), "--\n")
		graft([]string{"", "/a", "/a/b"}[i%3], strings.Split(strings.TrimSuffix(given, "\n"), "\n"))
	}
	for i, name := range slices.Sorted(maps.Keys(crowds)) {
		graft([]string{"", "/c", "/a/b"}[i%3], crowds[name](12))
	}
	graft("", []string{"/d/orders", "/d/users", "/d/users/lock-0000000001 e5 =x", "/d/web e3", "/d/0123456789abcdef0123456789abcdef", "/d/leases", "/d/ready"})
	graft("", []string{"/x/note =hello", "/x/8080 =8080", "/x/maintenance-gate", "/x/.delay =held 7", "/x.delay.delay =held 1"})
	graft("", []string{"/h/server-1 =1 1000a5c3f2b0001 2a7:812", "/h/server-2"})
	return out
}

// set puts a node into the tree, with all missing ancestors.
func (f *forest) set(changes map[string]*Node, n *Node) {
	for p := znode.Parent(n.Path); p != "/" && f.nodes[p] == nil; p = znode.Parent(p) {
		f.zxid++
		changes[p] = NewNode(p, nil, session.Stat{Czxid: f.zxid, Ctime: f.now.UnixMilli(), Mtime: f.now.UnixMilli()})
		f.nodes[p] = changes[p]
	}
	changes[n.Path], f.nodes[n.Path] = n, n
}

// remove removes the node at a path, with all descendants.
func (f *forest) remove(changes map[string]*Node, path string) {
	for p := range f.nodes {
		if p == path || strings.HasPrefix(p, path+"/") {
			delete(f.nodes, p)
			changes[p] = nil
		}
	}
}

// some is a random existing node.
func (f *forest) some() *Node {
	paths := slices.Sorted(maps.Keys(f.nodes))
	return f.nodes[paths[f.IntN(len(paths))]]
}

// fresh is a node as of now.
func (f *forest) fresh(path string, like *Node, owner int64) *Node {
	f.zxid++
	at := f.now.UnixMilli()
	return &Node{Path: path, Data: like.Data, Size: like.Size, Denied: like.Denied, Stat: session.Stat{
		Czxid: f.zxid, Mzxid: f.zxid, Ctime: at, Mtime: at, EphemeralOwner: owner, Version: like.Stat.Version,
	}}
}

// step changes something.
func (f *forest) step(changes map[string]*Node) {
	seed, n := f.seeds[f.IntN(len(f.seeds))], f.some()
	switch f.IntN(10) {
	case 0, 1, 2:
		f.set(changes, f.fresh(seed.Path, seed, seed.Stat.EphemeralOwner))
	case 3:
		for _, s := range f.seeds { // a whole recipe
			if znode.Parent(s.Path) == znode.Parent(seed.Path) || znode.Parent(znode.Parent(s.Path)) == znode.Parent(seed.Path) {
				f.set(changes, f.fresh(s.Path, s, s.Stat.EphemeralOwner))
			}
		}
	case 4:
		if n.Path != "/" {
			f.remove(changes, n.Path)
		}
	case 5: // other data
		next := *f.fresh(n.Path, seed, n.Stat.EphemeralOwner)
		next.Stat.Czxid, next.Stat.Ctime, next.Denied = n.Stat.Czxid, n.Stat.Ctime, n.Denied
		f.set(changes, &Node{Path: next.Path, Data: next.Data, Size: next.Size, Stat: next.Stat, Denied: next.Denied})
	case 6: // the rights
		if n.Denied {
			f.set(changes, f.fresh(n.Path, &Node{}, 0))
		} else if n.Path != "/" {
			f.set(changes, &Node{Path: n.Path, Denied: true})
		}
	case 7: // beside another
		if n.Path != "/" {
			f.set(changes, f.fresh(n.Path+suffixes[f.IntN(len(suffixes))], seed, 0))
		}
	case 8: // at another place
		f.set(changes, f.fresh(znode.Join(n.Path, seed.Name()), seed, seed.Stat.EphemeralOwner))
	default:
		f.now = f.now.Add(time.Duration(f.IntN(900)) * time.Second)
	}
	f.now = f.now.Add(time.Duration(f.IntN(3000)) * time.Millisecond)
}

// remember does the work of an observer: it notes the beginnings of holds.
func (f *forest) remember(things []*Thing) {
	for _, t := range things {
		for _, c := range t.Holders() {
			if _, known := f.past.Holds[c.Tenure()]; !known {
				f.past.Holds[c.Tenure()] = f.now
			}
			c.Since = f.past.Holds[c.Tenure()]
		}
	}
}

// TestUpdatesEqualOneLook for all changes in trees of all recipes beside, above and
// below each other.
func TestUpdatesEqualOneLook(t *testing.T) {
	histories, steps := 30, 80
	if testing.Short() {
		histories = 3 // the race detector observes
	}
	all := seeds(t)
	for seed := range histories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := &forest{
				Rand: rand.New(rand.NewPCG(uint64(seed), 1)), seeds: all, nodes: map[string]*Node{}, now: noon, zxid: 1000,
				past: Past{Began: noon, Holds: map[Tenure]time.Time{}},
			}
			f.set(map[string]*Node{}, NewNode("/", nil, session.Stat{}))
			for i := range steps {
				changes := map[string]*Node{}
				if i == 0 {
					changes["/"] = f.nodes["/"]
				}
				for range 1 + f.IntN(3) {
					f.step(changes)
				}
				f.compare(t, changes)
			}
		})
	}
}

// compare applies changes, and compares the result with a new look at everything.
func (f *forest) compare(t *testing.T, changes map[string]*Node) {
	t.Helper()
	before := slices.Clone(f.r.World().Things)
	whole := Look(maps.Values(f.nodes), f.past, f.now)
	d := f.r.Update(changes, f.past, f.now)
	f.remember(d.Come)
	f.remember(whole.Things)
	require.Equal(t, whole.Things, d.Things, "%v", slices.Sorted(maps.Keys(changes)))
	require.Equal(t, whole.Sessions, d.Sessions)
	require.Equal(t, []int{whole.Nodes, whole.Ephemeral}, []int{d.Nodes, d.Ephemeral})
	require.Equal(t, len(whole.Denied), len(d.Denied))
	require.Equal(t, whole.awaited, d.awaited)
	require.ElementsMatch(t, d.Things, append(slices.DeleteFunc(before, func(t *Thing) bool { return slices.Contains(d.Gone, t) }), d.Come...))
	f.compareThings(t, changes)
	for path, n := range f.nodes {
		got, ok := d.Lookup(path)
		require.True(t, ok, path)
		require.Same(t, n, got)
		require.Equal(t, whole.Of(path), d.Of(path), path)
		require.Equal(t, whole.Children(path), d.Children(path), path)
	}
}

// compareThings does the same with the Recognizer that tells nothing but things.
func (f *forest) compareThings(t *testing.T, changes map[string]*Node) {
	t.Helper()
	f.only.OnlyThings = true
	whole := Look(maps.Values(f.nodes), Past{}, f.now)
	d := f.only.Update(changes, Past{}, f.now)
	for _, gone := range d.Gone {
		require.Contains(t, f.told, gone)
	}
	f.told = append(slices.DeleteFunc(f.told, func(t *Thing) bool { return slices.Contains(d.Gone, t) }), d.Come...)
	slices.SortFunc(f.told, byPath)
	require.Equal(t, slices.Concat(whole.Things), slices.Concat(f.told), "%v", slices.Sorted(maps.Keys(changes)))
}

// TestOneChangeAsksOneRecipe, however many there are.
func TestOneChangeAsksOneRecipe(t *testing.T) {
	const locks = 10_000
	var lines []string
	for i := range locks {
		lines = append(lines, fmt.Sprintf("/locks/%05d/_c_%s-lock-0000000001 e%d", i, uuid(i), i%100+1))
	}
	lines = append(lines, "/locks/counter =hex:0000000000000001", "/locks/counter/_c_"+uuid(1)+"-writer e7", "/alone/counter =1", "/plain/note =x")
	var r Recognizer
	now := noon
	w := r.Replace(slices.Values(nodes(lines...)), Past{}, now)
	require.Len(t, w.Things, locks+2)
	asks := func(n *Node, path string) int {
		now = now.Add(time.Hour)
		before, things := r.Visits, r.World().Things
		d := r.Update(map[string]*Node{path: n}, Past{}, now)
		require.LessOrEqual(t, len(d.Come), 1)
		for i, thing := range d.Things {
			if len(d.Things) == len(things) && thing.Path != znode.Parent(path) && thing.Path != path {
				require.Same(t, things[i], thing)
			}
		}
		return r.Visits - before
	}
	again := func(path, data string) *Node {
		was, _ := r.World().Lookup(path)
		stat := was.Stat
		stat.Version++
		return NewNode(path, []byte(data), stat)
	}
	lock := "/locks/05000"
	waits := lock + "/_c_" + uuid(77777) + "-lock-0000000002"
	owned := session.Stat{Czxid: 1 << 20, EphemeralOwner: 5}
	require.Equal(t, 1, asks(again("/locks/counter", "12345678"), "/locks/counter"), "a counter among the locks")
	require.Equal(t, 1, asks(again("/alone/counter", "2"), "/alone/counter"), "one alone")
	require.Equal(t, 1, asks(again("/plain/note", "y"), "/plain/note"), "a plain node")
	require.Equal(t, 0, asks(nil, "/none"), "a missing node")
	require.Equal(t, 1, asks(NewNode(waits, nil, owned), waits), "a lock with a waiter")
	require.Equal(t, 1, asks(nil, waits), "and no longer")
	require.Equal(t, 1, asks(NewNode("/locks/new", nil, session.Stat{Czxid: 1 << 21}), "/locks/new"), "a new node like many, which says nothing about its parent")
	require.Equal(t, 2, asks(NewNode("/locks/web", nil, owned), "/locks/web"), "another new node, and its parent")
	require.Equal(t, 1, asks(again("/locks", "z"), "/locks"), "a node with many descendants")
	require.Equal(t, 0, asks(r.World().top.find(lock).Node, lock), "an unchanged node")
}

// TestLaterNeighborsCount: after a change, a tree is recognized as if it had been so
// from the beginning.
func TestLaterNeighborsCount(t *testing.T) {
	lock := "/l/_c_" + uuid(1) + "-lock-0000000001 e1 z50"
	for name, c := range map[string]struct{ before, after []string }{
		"a note beside a lock, with something below it": {[]string{lock, "/l.delay =note", "/l.delay/x"}, []string{lock, "/l.delay =held 7", "/l.delay/x"}},
		"data of an ephemeral child": {
			[]string{"/g/" + hexID(1) + "-ann e1 =other", "/g/stranger"}, []string{"/g/" + hexID(1) + "-ann e1 =ann", "/g/stranger"},
		},
		"a child that was told as something itself": {
			[]string{"/g/w e1", "/g/w/_c_" + uuid(1) + "-lock-0000000001 e1", "/g/x"}, []string{"/g/w e1", "/g/w/_c_" + uuid(1) + "-lock-0000000001 e1"},
		},
		"a counter beside a number": {
			[]string{"/c/a =7", "/c/b =8"}, []string{"/c/a =7", "/c/b =8", "/c/b/_c_" + uuid(1) + "-writer e1"},
		},
	} {
		known := map[string]*Node{} // unchanged nodes keep their identity
		all := func(lines []string) []*Node {
			out := nodes(lines...)
			for i, n := range out {
				n.Stat.Czxid, n.Stat.Mzxid, n.Stat.Ctime, n.Stat.Mtime = 100, 100, 1, 1
				if k := known[n.Path]; k != nil && string(k.Data) == string(n.Data) {
					out[i] = k
				}
				known[n.Path] = out[i]
			}
			return out
		}
		var r Recognizer
		first := r.Replace(slices.Values(all(c.before)), Past{}, noon)
		require.Equal(t, Look(slices.Values(all(c.before)), Past{}, noon).Things, first.Things, name)
		was := brief(first.World)
		whole := Look(slices.Values(all(c.after)), Past{}, noon)
		got := r.Replace(slices.Values(all(c.after)), Past{}, noon)
		require.Equal(t, whole.Things, got.Things, name)
		require.Equal(t, whole.Sessions, got.Sessions, name)
		require.NotEqual(t, was, brief(whole), "%s: the change makes a difference", name)
		require.Equal(t, was, brief(first.World), "%s: the earlier world does not change", name)
	}
}

// TestTroubleOfSessionsIsCounted as it comes and goes.
func TestTroubleOfSessionsIsCounted(t *testing.T) {
	twin := "/l/_c_" + uuid(1) + "-lock-000000000%d e7"
	var r Recognizer
	trouble := func(lines ...string) int {
		return r.Replace(slices.Values(nodes(lines...)), Past{}, noon).Session(7).Trouble
	}
	one, two := fmt.Sprintf(twin, 1), fmt.Sprintf(twin, 2)
	require.Equal(t, 0, trouble("/other e7", one))
	require.Equal(t, 1, trouble("/other e7", one, two))
	require.Equal(t, 0, trouble("/other e7", one))
}
