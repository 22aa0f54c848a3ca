package rwlock_test

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

var update = flag.Bool("update", false, "write testdata/layout.golden again") // read only

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`) // read only
	hexes = regexp.MustCompile(`[0-9a-f]{32}`)                                                        // read only
)

// tree describes all that is on the server; owners are sessions by name.
func (w *World) tree(owners map[int64]string) string {
	var lines []string
	for _, n := range w.Server.Dump() {
		if n.Path == "/" {
			continue
		}
		mode := "persistent"
		switch {
		case n.Container:
			mode = "container"
		case n.EphemeralOwner != 0:
			mode = "ephemeral of " + owners[n.EphemeralOwner]
		}
		path := hexes.ReplaceAllString(uuids.ReplaceAllString(n.Path, "<uuid>"), "<hex>")
		lines = append(lines, fmt.Sprintf("%s %s %q\n", path, mode, n.Data))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// The exact tree that the operations leave, byte for byte: others read it.
func TestLayoutIsTheOneOfTheGoldenFile(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var out strings.Builder
		owners := map[int64]string{}
		lock := func(name string, layout rwlock.Layout) *rwlock.RWMutex {
			c := w.Client()
			owners[w.ID(c)] = name
			return rwlock.New(c, dir, &rwlock.Options{ID: name, Layout: layout})
		}
		show := func(what string) { fmt.Fprintf(&out, "# %s\n%s\n", what, w.tree(owners)) }
		for _, layout := range []rwlock.Layout{rwlock.Curator, rwlock.Kazoo} {
			name := map[rwlock.Layout]string{rwlock.Curator: "Curator", rwlock.Kazoo: "Kazoo"}[layout]
			a, b, c, d := lock("a", layout), lock("b", layout), lock("c", layout), lock("d", layout)
			h := w.get(a.Lock)
			show(name + ": a writes")
			r2, w3 := w.startTake(w.Ctx, b.RLock), w.startTake(w.Ctx, c.Lock)
			r4 := w.startTake(w.Ctx, d.RLock)
			show(name + ": b waits to read, c to write, d to read")
			h = w.down(h)
			second := w.granted(r2)
			show(name + ": a has become a reader, b reads")
			w.unlock(h)
			w.unlock(second)
			h = w.granted(w3)
			show(name + ": c writes")
			w.unlock(h)
			w.unlock(w.granted(r4))
			w.Pass(time.Second)
			show(name + ": all have left")
			require.NoError(w, w.Server.Delete(dir))
		}
		world.Golden(w, *update, out.String())
	})
}
