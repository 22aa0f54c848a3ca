package history

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// filled has a value other than zero in each exported field.
func filled[T any](t *testing.T, n int) *T {
	t.Helper()
	out := new(T)
	fill(t, reflect.ValueOf(out).Elem(), n)
	return out
}

func fill(t *testing.T, v reflect.Value, n int) {
	t.Helper()
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(int64(n), int64(n)).UTC()))
		return
	}
	switch v.Kind() { //nolint:exhaustive // another kind fails
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), n+i)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.String:
		v.SetString("text " + strconv.Itoa(n))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.ValueOf([]byte("data " + strconv.Itoa(n))))
	default:
		require.FailNow(t, "no value", "%v", v.Type())
	}
}

// Nothing of a znode or a stay is lost when changes are packed.
func TestPackedChangesAreTheSame(t *testing.T) {
	c := newChanges()
	for i := range 20 {
		n, s := filled[recognize.Node](t, 1000*i+1), filled[Stay](t, -1000*i-100)
		s.czxid, s.ctime = int64(i)<<40+1, -int64(i)-1
		c.nodes.put(n.Path, n, i%2 == 0)
		c.open.put(s.place(), s, i%3 == 0)
	}
	c.nodes.put("/empty", &recognize.Node{Path: "/empty"}, true)
	c.nodes.put("/gone", nil, false)
	c.open.put(place{"a", "b", "c"}, nil, false)
	c.open.put(place{"/a", "/a/b", ""}, &Stay{Path: "/a", Znode: "/a/b"}, false)
	require.Equal(t, c, unpack(c.pack()))
	require.Equal(t, newChanges(), unpack(newChanges().pack()))
}

// A moment is the same after it was packed, also one that a damaged file has.
func TestPackedMomentsAreTheSame(t *testing.T) {
	for _, at := range []time.Time{
		{}, time.UnixMilli(0), time.UnixMilli(1_764_000_000_123), time.UnixMilli(1_764_000_000_123).UTC(),
		time.UnixMilli(-1 << 62), time.UnixMilli(1 << 62), time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC),
	} {
		var p pass
		passTime(&p, &at)
		p.off = true
		var got time.Time
		passTime(&p, &got)
		require.Equal(t, at, got)
		require.Empty(t, p.bytes)
	}
}

// A checkpoint between two others may be left to its neighbors, whether or not it is whole: the
// others restore what they restored.
func TestCheckpointsRestoreTheSameStatesWithoutTheirNeighbors(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		b := &builder{bounds: bounds{size: 1 << 30, number: 1 << 20, span: 1}, all: []*checkpoint{newCheckpoint()}}
		nodes, open := map[string]*recognize.Node{}, map[place]*Stay{}
		b.begin(Moment{}, nodes, open)
		states := map[*checkpoint]map[string]*recognize.Node{b.all[0]: {}}
		for range 3 + r.IntN(12) {
			for range r.IntN(12) {
				path := "/" + strconv.Itoa(r.IntN(30))
				_, was := nodes[path]
				n := recognize.NewNode(path, []byte(strconv.Itoa(r.Int())), session.Stat{})
				if nodes[path] = n; was && r.IntN(2) == 0 {
					delete(nodes, path)
					n = nil
				}
				b.making().made.nodes.put(path, n, !was)
			}
			b.cut(spot{})
			states[b.here()] = maps.Clone(nodes)
		}
		all, wholes := b.finish(), 0
		for _, c := range all {
			if c.whole {
				wholes++
			}
		}
		require.Greater(t, wholes, 1)
		for {
			for i, c := range all {
				got, _ := restore(all, i)
				require.Equal(t, states[c], got, "seed %d", seed)
			}
			if len(all) < 3 {
				break
			}
			i := 1 + r.IntN(len(all)-2)
			all[i].leaveTo(all[i-1], all[i+1])
			all = append(all[:i:i], all[i+1:]...)
		}
	}
}
