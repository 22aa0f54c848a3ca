package interop_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

const python = "/usr/bin/python3"

// needKazoo skips loudly where there is no Kazoo, unless real peers are
// insisted on.
func needKazoo(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), python, "-c", "import kazoo").CombinedOutput()
	if err == nil {
		return
	}
	if os.Getenv(apache.EnvRequire) == "1" {
		t.Fatalf("%s=1, but kazoo does not run: %v\n%s", apache.EnvRequire, err, out)
	}
	t.Skipf("*** NOT TESTED AGAINST KAZOO: install the Debian package python3-kazoo (%v)", err)
}

// TestLockIsSharedWithKazoo has processes on Kazoo and clients of this module
// contend for one path, in both layouts (PD4, P17). Who holds the lock makes a
// file that must not be there yet.
func TestLockIsSharedWithKazoo(t *testing.T) {
	needKazoo(t)
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	const rounds = 50
	for name, layout := range map[string]lock.Layout{"curator": lock.Curator, "kazoo": lock.Kazoo} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			path, alone := "/shared/"+name, filepath.Join(t.TempDir(), "alone")
			var all sync.WaitGroup
			running := atomic.Int32{} // Kazoo processes
			running.Store(2)
			for range 2 {
				// Waited for below; ends after its rounds.
				all.Go(func() {
					defer running.Add(-1)
					out, err := exec.CommandContext(ctx, python, "testdata/kazoo_lock.py",
						cluster.Connect(), path, alone, strconv.Itoa(rounds), name).CombinedOutput()
					if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "ok") {
						t.Errorf("kazoo: %v\n%s", err, out)
					}
				})
				c, err := session.Connect(ctx, cluster.Connect(), &session.Options{Timeout: 5 * time.Second})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
				m := lock.New(c, path, &lock.Options{Layout: layout})
				// Waited for below; ends when the others have.
				all.Go(func() {
					for running.Load() > 0 {
						if err := m.Do(ctx, func(ctx context.Context, _ *lock.Held) error { return beAlone(ctx, alone) }); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// beAlone makes the file, which fails if it exists, and removes it.
func beAlone(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_ = f.Close()
	wait := time.NewTimer(time.Millisecond)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
	return os.Remove(path)
}

// TestHolderIsShownToKazooAndTheOtherWayRound: the data of the contenders.
func TestHolderIsShownToKazooAndTheOtherWayRound(t *testing.T) {
	needKazoo(t)
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	ctx := t.Context()
	c, err := session.Connect(ctx, cluster.Connect(), &session.Options{Timeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	m := lock.New(c, "/shown", &lock.Options{Layout: lock.Kazoo, ID: "go:1"})
	held, err := m.Lock(ctx)
	require.NoError(t, err)
	const script = `
import sys
from kazoo.client import KazooClient
c = KazooClient(hosts=sys.argv[1]); c.start(timeout=20)
lock = c.Lock("/shown", "kazoo:2")
print(lock.contenders())
try:
    lock.acquire(timeout=0.5)
except Exception as e:
    print(type(e).__name__)
c.stop(); c.close()`
	out, err := exec.CommandContext(ctx, python, "-c", script, cluster.Connect()).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "['go:1']\nLockTimeout", strings.TrimSpace(string(out)))
	require.NoError(t, held.Unlock(ctx))
}
