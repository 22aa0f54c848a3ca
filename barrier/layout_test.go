package barrier_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
)

var update = flag.Bool("update", false, "rewrite testdata/layout.golden") // read only

// TestLayout compares the znodes left by the operations with a file.
func TestLayout(t *testing.T) {
	var out strings.Builder
	inWorld(t, nil, func(w *World) {
		uuid := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
		show := func(title string) {
			w.Settle()
			var lines []string
			for _, n := range w.Server.Dump() {
				if n.Path == "/" || strings.HasPrefix(n.Path, "/zookeeper") {
					continue
				}
				mode := "persistent"
				if n.EphemeralOwner != 0 {
					mode = "ephemeral"
				}
				data := strings.ReplaceAll(string(n.Data), fmt.Sprintf(`"czxid":%d,`, n.Czxid), `"czxid":<its own>,`)
				lines = append(lines, fmt.Sprintf("%s %s %q\n", uuid.ReplaceAllString(n.Path, "<uuid>"), mode, uuid.ReplaceAllString(data, "<uuid>")))
			}
			slices.Sort(lines)
			fmt.Fprintf(&out, "# %s\n%s\n", title, strings.Join(lines, ""))
		}
		c := w.Client()
		party := func(id string) *barrier.Options { return &barrier.Options{ID: id, Data: []byte("host:1")} }

		g := barrier.NewGate(c, "/gate", party(""))
		require.NoError(w, g.Set(w.Ctx))
		show("a closed gate")
		require.NoError(w, g.Remove(w.Ctx))
		show("an open one")

		a := w.await(w.Ctx, barrier.New(c, "/b", 2, party("a")))
		show("one waits at a barrier of two")
		b := w.await(w.Ctx, barrier.New(c, "/b", 2, party("b")))
		w.round(a, 1)
		w.round(b, 1)
		show("both have passed")
		require.NoError(w, w.Server.Delete("/b"))
		require.NoError(w, w.Server.Delete("/b.passed"))

		x := w.enter(w.Ctx, barrier.NewDouble(c, "/d", 2, party("a")))
		seats := w.seats(1, x, w.enter(w.Ctx, barrier.NewDouble(c, "/d", 2, party("b"))))
		anon := w.enter(w.Within(0), barrier.NewDouble(c, "/d", 2, party("")))
		require.Error(w, (<-anon).err)
		show("two are inside a double barrier")
		first := w.leave(w.Ctx, seats[0])
		third := w.enter(w.Ctx, barrier.NewDouble(c, "/d", 2, &barrier.Options{Data: []byte("host:2")}))
		show("one has left, one without an ID waits")
		w.left(first, w.leave(w.Ctx, seats[1]))
		w.seats(2, third, w.enter(w.Ctx, barrier.NewDouble(c, "/d", 2, party("b"))))
		show("the next round")
	})
	const file = "testdata/layout.golden"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

func TestBarriersTellTheirPath(t *testing.T) {
	require.Equal(t, dir, barrier.New(nil, dir, 2, nil).Path())
	require.Equal(t, dir, barrier.NewDouble(nil, dir, 2, nil).Path())
}
