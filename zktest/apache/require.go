package apache

import (
	"context"
	"errors"
	"os"
	"testing"
)

// Require starts a cluster for a test, or uses a running one, and closes it
// when the test ends. If the test failed, the end of the servers' logs is
// shown.
//
// If no server is available, the test is skipped with the reason. With
// ZKTEST_REQUIRE_REAL=1, as in CI, the test fails instead. Any other error
// fails the test.
func Require(t testing.TB, o *Options) *Cluster {
	t.Helper()
	ctx := t.Context()
	c, err := Start(ctx, o)
	if errors.Is(err, ErrUnavailable) && os.Getenv(EnvRequire) != "1" {
		t.Skipf("\n*** NOT TESTED AGAINST APACHE ZOOKEEPER: %v\n*** (%s=1 makes this a failure)", err, EnvRequire)
	}
	if err != nil {
		t.Fatalf("Apache ZooKeeper is required (%s=%s): %v", EnvRequire, os.Getenv(EnvRequire), err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("server logs:\n%s", c.Logs(context.WithoutCancel(ctx), 60))
		}
		if err := c.Close(); err != nil {
			t.Errorf("close the servers: %v", err)
		}
	})
	return c
}
