package world

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestTreeShowsWhatIsBelowAPrefix(t *testing.T) {
	In(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/a", []byte("at 17:00")))
		require.NoError(w, w.Server.Create("/b", nil))
		s := w.Session(w.Client())
		for path, mode := range map[string]session.Mode{"/a/c": session.Container, "/a/e": session.Ephemeral} {
			_, err := s.Create(w.Ctx, path, nil, mode, nil)
			require.NoError(w, err)
		}
		clean := func(text string) string { return strings.ReplaceAll(text, "17:00", "<time>") }
		require.Equal(w, "/a persistent at <time>\n/a/c container \n/a/e ephemeral \n", w.Tree("/a", clean))
	})
}

func TestGoldenComparesWithTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	Golden(t, true, "a\n")
	Golden(t, false, "a\n")
	failed := &witness{TB: t}
	func() {
		defer func() { _ = recover() }()
		Golden(failed, false, "b\n")
	}()
	require.True(t, failed.failed)
}

// witness is a test allowed to fail.
type witness struct {
	testing.TB
	failed bool
}

func (w *witness) Errorf(string, ...any) { w.failed = true }
func (w *witness) FailNow()              { panic("failed") }
