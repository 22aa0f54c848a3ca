package zktest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestKazooWorks runs another client library, in another language, against the
// server: its implementation of the protocol is independent of this project.
func TestKazooWorks(t *testing.T) {
	const python = "/usr/bin/python3"
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import kazoo").CombinedOutput(); err != nil {
		if os.Getenv("ZKTEST_REQUIRE_REAL") == "1" {
			t.Fatalf("ZKTEST_REQUIRE_REAL=1, but kazoo does not run: %v\n%s", err, out)
		}
		t.Skipf("NOT TESTED AGAINST KAZOO: install the Debian package python3-kazoo (%v)", err)
	}
	for name, o := range map[string]*zktest.Options{
		"standalone": nil,
		"ensemble":   {Servers: 3, SyncLimit: 30, ElectionDelay: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := startTCP(t, o)
			waitLeader(t, s)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, python, "testdata/kazoo_check.py", s.Addr()).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.True(t, strings.HasSuffix(strings.TrimSpace(string(out)), "ok"), "%s", out)
			if o == nil {
				require.Eventually(t, func() bool { return len(s.Sessions()) == 0 }, time.Minute, time.Millisecond)
			}
		})
	}
}
