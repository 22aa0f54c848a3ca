package discovery_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// update rewrites the golden file.
var update = flag.Bool("update", false, "write the golden files again") // read only

// golden is the tree of znodes that the operations leave.
const golden = "testdata/layout.golden"

// describe is a node in one line.
func describe(n zktest.Node) string {
	kind := "persistent"
	switch {
	case n.EphemeralOwner != 0:
		kind = "ephemeral"
	case n.Container:
		kind = "container"
	}
	line := regexp.MustCompile(`/[0-9a-f]{32}`).ReplaceAllString(n.Path, "/<32 hex>") + " " + kind
	if len(n.Data) > 0 {
		line += " " + string(n.Data)
	}
	return line
}

// The layout, which other programs read, must not change by accident.
func TestLayoutIsTheGoldenOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r := registry(c)
		i := discovery.Instance{
			Service: "full", ID: "one", Address: "10.0.0.1", Port: 8080, SSLPort: 8443,
			Payload: json.RawMessage(`{"@class":"com.example.Load","zone":"<eu>"}`), RegistrationTime: time.UnixMilli(946684800123),
			URISpec: "{scheme}://{address}:{ssl-port}/{[}",
		}
		w.register(r, i)
		i.ID, i.Type = "several", discovery.DynamicSequential
		w.register(r, i)
		w.register(r, i)
		bare := discovery.Instance{Service: "bare", ID: "one", Type: discovery.Static}
		w.register(r, bare)
		bare.ID, bare.Type, bare.Disabled = "two", discovery.Permanent, true
		g := w.register(r, bare)
		require.NoError(w, g.Move(w.Ctx, "moved", g.Instance()))
		bare.ID = "gone"
		w.unregister(w.register(r, bare))
		for path, layout := range map[string]discovery.Layout{"/members": discovery.Curator, "/party": discovery.Kazoo, "/shallow": discovery.KazooShallow} {
			group := discovery.NewGroup(c, path, &discovery.Options{Layout: layout})
			_, err := group.Join(w.Ctx, "one", nil)
			require.NoError(w, err)
			if layout == discovery.Curator {
				_, err = group.Join(w.Ctx, "two", []byte("data"))
				require.NoError(w, err)
			}
		}
		var got strings.Builder
		for _, n := range w.Server.Dump() {
			fmt.Fprintln(&got, describe(n))
		}
		if *update {
			require.NoError(w, os.WriteFile(golden, []byte(got.String()), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(w, err)
		if !world.Has(world.Containers) { // they are persistent
			want = bytes.ReplaceAll(want, []byte(" container\n"), []byte(" persistent\n"))
		}
		require.Equal(w, string(want), got.String())
	})
}
