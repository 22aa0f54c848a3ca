package workerctl_test

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

var update = flag.Bool("update", false, "rewrite testdata/layout.golden") // read only

// TestLayout compares the znodes left by the operations with a file (T8, T10,
// T12, T18: ours differs; docs/workerctl.md says how).
func TestLayout_T8_T9_T10(t *testing.T) {
	var out strings.Builder
	inWorld(t, nil, func(w *World) {
		uuid := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
		short := regexp.MustCompile(`[0-9a-f]{16}`)
		when := regexp.MustCompile(`"created":"[^"]*"`)
		zxid := regexp.MustCompile(`"czxid":[0-9]+`)
		clean := func(text string) string {
			text = zxid.ReplaceAllString(text, `"czxid":<zxid>`)
			text = uuid.ReplaceAllString(text, "<uuid>")
			return when.ReplaceAllString(short.ReplaceAllString(text, "<part of a uuid>"), `"created":"<time>"`)
		}
		show := func(title string) {
			w.Settle()
			fmt.Fprintf(&out, "# %s\n%s\n", title, w.Tree(root, clean))
		}
		c := w.Client()
		j := w.submitSpec(c, workerctl.Spec{Name: "words/2026", Workers: 2, Metadata: map[string]string{"owner": "ann"}})
		show("submitted")
		a := w.join(j, workerctl.Identity{
			Name: "pod/0", Addresses: []string{"10.0.0.1:7000"}, Node: "n1", Rack: "r1", DataCenter: "d1",
			KV: map[string]string{"gpu": "2"},
		})
		show("one has joined")
		b := w.join(j, workerctl.Identity{Addresses: []string{"10.0.0.2:7000"}})
		x := w.barrier(a, "step 1")
		w.passed(1, x, w.barrier(b, "step 1"))
		x = w.phase(a, "map")
		w.passed(0, x, w.phase(b, "map"))
		show("both have passed a barrier and a phase")
		b = w.join(j, workerctl.Identity{Addresses: []string{"10.0.0.2:7000"}})
		require.NoError(w, b.Update(w.Ctx, map[string]string{"done": "yes"}))
		w.leave(a)
		show("one was restarted and has changed, the other has left")
		w.leave(b)
		show("finished")

		j = w.submitSpec(c, workerctl.Spec{Name: "elastic", Workers: 2, ReuseIDs: true})
		w.leave(w.join(j, named("x")))
		_, err := workerctl.NewJanitor(c, nil).Sweep(w.Ctx)
		require.NoError(w, err)
		show("ids are used again; a janitor has looked")
		require.NoError(w, j.Kill(w.Ctx))
		show("killed")
	})
	world.Golden(t, *update, out.String())
}
