package election_test

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

var update = flag.Bool("update", false, "write testdata/layout.golden again") // read only

// unique are the parts of names that differ from run to run.
func unique(name string) string {
	name = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(name, "<uuid>")
	return regexp.MustCompile(`[0-9a-f]{32}`).ReplaceAllString(name, "<32 hex>")
}

// tree prints the server's nodes, one node a line: path, kind, data.
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
		lines = append(lines, fmt.Sprintf("%s %s %q\n", unique(n.Path), kind, n.Data))
	}
	slices.Sort(lines) // the unique parts have an order of their own
	return strings.Join(lines, "")
}

// The exact tree that each layout leaves while it is used, against a file that
// other programs' authors can read.
func TestLayoutIsThatOfTheGoldenFile(t *testing.T) {
	got := ""
	for _, tc := range []struct {
		name string
		o    *election.Options
	}{
		{"LeaderLatch", &election.Options{ID: "host-1:4711"}},
		{"LeaderSelector", &election.Options{ID: "host-2:4711", Layout: election.LeaderSelector}},
		{"Kazoo", &election.Options{ID: "host-3:4711", Layout: election.Kazoo}},
		{"data", &election.Options{ID: "host-4:4711", Data: []byte("{\"address\":\"10.0.0.4:80\"}")}},
		{"priority", &election.Options{ID: "host-5:4711", Priority: 7}},
		{"Kazoo, priority", &election.Options{ID: "host-6:4711", Layout: election.Kazoo, Priority: 7}},
		{"no data", &election.Options{Data: []byte{}}},
	} {
		inWorld(t, nil, func(w *World) {
			e := election.New(w.Client(), dir, tc.o)
			l := w.campaign(e)
			k := w.stand(e)
			w.proclaim(l, "ready")
			got += fmt.Sprintf("# %s: the leader, and a waiting candidate\n%s", tc.name, tree(w.Server.Dump()))
			require.NoError(w, k.Withdraw(w.Ctx))
			w.resign(l)
			w.Settle()
			got += fmt.Sprintf("# %s: after both have left\n%s", tc.name, tree(w.Server.Dump()))
		})
	}
	world.Golden(t, *update, got)
}
