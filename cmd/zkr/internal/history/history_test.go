package history_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// told is what a reader has told.
type told struct {
	stays      []*history.Stay
	suspicions []history.Suspicion
	findings   []txnlog.Finding
	sum        history.Summary
}

// read reads everything below a root.
func read(t *testing.T, root string, folders ...*txnlog.Folder) *told {
	t.Helper()
	return listen(t, func(o *history.Options) (*history.Reader, error) {
		return history.NewReader(t.Context(), root, folders, o)
	})
}

// listen reads what a reader tells.
func listen(t *testing.T, open func(*history.Options) (*history.Reader, error)) *told {
	t.Helper()
	out := &told{}
	audit := history.NewAuditor(func(s history.Suspicion) { out.suspicions = append(out.suspicions, s) })
	r, err := open(&history.Options{
		Began: audit.Began, Granted: audit.Granted, Thing: audit.Thing, Herd: audit.Herd,
		Ended: func(s *history.Stay) {
			audit.Ended(s)
			out.stays = append(out.stays, s)
		},
		Report: func(f txnlog.Finding) {
			audit.Report(f)
			out.findings = append(out.findings, f)
		},
	})
	require.NoError(t, err)
	out.sum, err = r.Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return out
}

// outline is what the stays are, without what differs from run to run.
func (d *told) outline() string {
	var b strings.Builder
	for _, s := range d.stays {
		got := "in vain"
		if s.Has() {
			got = "granted"
		}
		how := string(s.How)
		if s.By != 0 {
			how += " by another"
		}
		fmt.Fprintf(&b, "%s %s: %s %s, %s, %s\n", s.Kind, s.Path, s.Client(), s.As, got, how)
	}
	return b.String()
}

const sceneGolden = "testdata/scene.golden"

func openScene(t *testing.T) *txnlog.Folder {
	t.Helper()
	f, err := txnlog.OpenFolder("scene", "testdata/scene")
	require.NoError(t, err)
	return f
}

// The files of the scene were written by a real server.
func TestSceneIsTold(t *testing.T) {
	d := read(t, "/", openScene(t))
	golden, err := os.ReadFile(sceneGolden)
	require.NoError(t, err)
	require.Equal(t, string(golden), d.outline())
	require.Empty(t, d.findings)
}
