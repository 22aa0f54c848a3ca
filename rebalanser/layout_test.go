package rebalanser_test

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
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/zktest"
)

var update = flag.Bool("update", false, "write testdata/layout.golden anew") // read only

// unique replaces the parts of names and data that differ between runs.
func unique(text string) string {
	for pattern, by := range map[string]string{
		`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`: "<uuid>",
		`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`:      "<time>",
		`"id":"[^"]*:[0-9]+"`:                       `"id":"<host>:<pid>"`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, by)
	}
	return text
}

// tree describes the server's nodes, a line each: path, kind, data.
func tree(nodes []zktest.Node) string {
	var lines []string
	for _, n := range nodes {
		kind := "persistent"
		switch {
		case n.Container:
			kind = "container"
		case n.EphemeralOwner != 0:
			kind = "ephemeral"
		}
		lines = append(lines, fmt.Sprintf("%s %s v%d %s\n", unique(n.Path), kind, n.Version, unique(string(n.Data))))
	}
	slices.Sort(lines) // the unique parts have an order of their own
	return strings.Join(lines, "")
}

// The exact tree of each mode, against a file that authors of other programs
// can read.
func TestLayoutIsThatOfTheGoldenFile_R1_R2_R28(t *testing.T) {
	var got strings.Builder
	for _, mode := range modes() {
		inWorld(t, mode, nil, func(w *World) {
			a := w.stock(3)
			c1 := w.node("c1", rebalanser.Options{}).run()
			w.Pass(time.Second)
			c2 := w.node("c2", rebalanser.Options{
				Instance: "static-1", Weight: 2, Zone: "north", Subscription: []string{"r*"},
			}).run()
			w.Pass(time.Second)
			fmt.Fprintf(&got, "# %v: a coordinator and a static member\n%s", mode, tree(w.Server.Dump()))
			if mode == rebalanser.GlobalBarrier {
				hold := make(chan struct{})
				c2.before = waitFor(hold)
				_, err := a.AddResources(w.Ctx, "r03") // several are seen together or one after the other
				require.NoError(w, err)
				w.Pass(time.Second)
				fmt.Fprintf(&got, "# %v: what is new is being started\n%s", mode, tree(w.Server.Dump()))
				close(hold)
				w.Pass(time.Second)
			}
			require.NoError(w, a.Pause(w.Ctx))
			c2.stop()
			c1.stop()
			fmt.Fprintf(&got, "# %v: after both have left, while it is paused\n%s", mode, tree(w.Server.Dump()))
		})
	}
	world.Golden(t, *update, got.String())
}
