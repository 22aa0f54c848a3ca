package ui_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// TestKazooRecipesAreShownOnApache: Kazoo itself makes its recipes on a real
// server, and the pages recognize them.
func TestKazooRecipesAreShownOnApache(t *testing.T) {
	const python = "/usr/bin/python3"
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import kazoo").CombinedOutput(); err != nil {
		if os.Getenv(apache.EnvRequire) == "1" {
			t.Fatalf("%s=1, but the Debian package python3-kazoo is not there: %v\n%s", apache.EnvRequire, err, out)
		}
		t.Skipf("\n*** NOT TESTED AGAINST KAZOO: install the Debian package python3-kazoo: %v\n%s", err, out)
	}
	servers, root := apache.Require(t, &apache.Options{Heap: 96}).Connect(), "/ui-"+session.NewID()
	makesWithKazoo(t, python, servers, root)

	m, base := watch(t, servers, root)
	want := strings.Join([]string{
		"gate? /barrier: closed",
		"double barrier? /barriers/early: 1 comes or leaves",
		"counter? /counters/curator: -7",
		"counter? /counters/text: 42",
		"double barrier /double: 2 are inside",
		"election? /election: led by ann, 1 candidate behind",
		"queue /lockingqueue: 1 entry, 1 of them taken",
		"mutex? /locks/mutex: held by ann, 1 waits",
		"read/write lock /locks/rw: read by ann, 1 waits",
		"group /party: 1 member",
		"semaphore /pool: 0 of 2 permits free, 1 waits",
		"queue /queue: 1 entry",
		"group /shallow: 1 member",
	}, "\n")
	got := ""
	assert.Eventually(t, func() bool {
		var lines []string
		for _, thing := range m.View().Things {
			mark := map[bool]string{false: "?"}[thing.Guess == ""]
			lines = append(lines, fmt.Sprintf("%s%s %s: %s", thing.Kind, mark, strings.TrimPrefix(thing.Path, root), thing.State))
			assert.Empty(t, thing.Problems, thing.Path)
		}
		got = strings.Join(lines, "\n")
		return got == want
	}, limit, 20*time.Millisecond)
	require.Equal(t, want, got)
	for path, says := range map[string]string{
		"/locks": "bob again", "/elections": "election?</span>", "/barriers": "looks like a gate because of its name", "/counters": ">-7<",
		"/members": "shallow", "/tasks": "1 entry", "/": "Waiting longest",
	} {
		code, text, _ := get(t, base+path)
		assert.Equal(t, 200, code, path)
		has(t, text, says, path)
	}
}

// makesWithKazoo runs testdata/recipes.py until the test is over.
func makesWithKazoo(t *testing.T, python, servers, root string) {
	t.Helper()
	cmd := exec.Command(python, "testdata/recipes.py", servers, root)
	var said strings.Builder
	cmd.Stderr = &said
	kazoo, lines, err := subprocess.StartLines(cmd)
	require.NoError(t, err)
	t.Cleanup(func() {
		kazoo.End()
		late := time.AfterFunc(limit, kazoo.Kill)
		_ = kazoo.Wait()
		late.Stop()
	})
	stuck := time.AfterFunc(2*limit, kazoo.Kill)
	defer stuck.Stop()
	line, ok := <-lines
	if !ok {
		_ = kazoo.Wait()
		t.Fatal(&said)
	}
	require.Equal(t, "READY", line)
}

// watch serves a dashboard for a path of real servers.
func watch(t *testing.T, servers, root string) (m *ui.Model, base string) {
	t.Helper()
	client, err := session.Connect(t.Context(), servers, &session.Options{Timeout: 10 * time.Second})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	m = ui.NewModel(client, root)
	var running sync.WaitGroup
	// Waited for when the test is over; ends with ctx.
	running.Go(func() { _ = m.Run(ctx) })
	server := httptest.NewServer(ui.Handler(m, servers, nil))
	t.Cleanup(func() {
		server.Close()
		cancel()
		running.Wait()
		limited, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_ = client.Close(limited)
	})
	return m, server.URL
}
