package recognize

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite what is told in testdata/foreign") // read only

// TestForeignFormsAreTold from znodes of Curator 5.4.0 and Kazoo 2.8.0: a file
// for each recipe has the znodes, as lines for the function nodes, and below
// "--" the expected things.
func TestForeignFormsAreTold(t *testing.T) {
	files, err := filepath.Glob("testdata/foreign/*.golden")
	require.NoError(t, err)
	require.Greater(t, len(files), 30)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".golden"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			given, want, ok := strings.Cut(string(raw), "--\n")
			require.True(t, ok)
			got := told(look(Past{}, strings.Split(strings.TrimSuffix(given, "\n"), "\n")...))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(given+"--\n"+got), 0o600))
				return
			}
			assert.Equal(t, want, got, "-update rewrites the file")
		})
	}
}

// told describes all things of a world.
func told(w *World) string {
	var b strings.Builder
	for _, t := range w.Things {
		fmt.Fprintf(&b, "%s %s: %s\n  how: %s\n", t.Kind, t.Path, t.State, t.How)
		if t.Guess != "" {
			fmt.Fprintf(&b, "  guess: %s\n", t.Guess)
		}
		for _, c := range t.Queue {
			fmt.Fprintf(&b, "  %d %q of %s: %s %v\n", c.Seq, c.ID, c.Session, c.RoleIn(t.Kind), c.Watches)
		}
		members := t.Members
		if m := t.Meeting; m != nil {
			members = append(m.Here, m.Inside...)
		}
		for _, m := range members {
			fmt.Fprintf(&b, "  %q %s of %s %s\n", m.ID, m.Data, m.Session, m.Address)
		}
		if n := t.Number; n != nil {
			fmt.Fprintf(&b, "  %d, %s\n", *n.Value, n.Format)
		}
		for _, p := range t.Problems {
			fmt.Fprintf(&b, "  %s: %s\n", p.Level, p.Text)
		}
	}
	if len(w.Things) == 0 {
		return "plain znodes\n"
	}
	return b.String()
}
