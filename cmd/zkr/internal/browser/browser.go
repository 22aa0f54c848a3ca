// Package browser drives a real Chromium, so that tests see pages as people do.
// Nothing but tests uses it.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// ErrUnavailable: no Chromium is installed here.
var ErrUnavailable = errors.New("no Chromium is installed")

// names are those under which a Chromium may be found.
//
// read only
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"}

// startLimit bounds the start of the browser.
const startLimit = 2 * time.Minute

// Browser is a running Chromium without a window.
type Browser struct {
	ctx  context.Context
	stop func()
}

// Require starts a browser for a test, and ends the browser with the test. A
// start takes a second or two, so start a single one.
//
// Without a Chromium the test is skipped with the reason, or fails if
// ZKTEST_REQUIRE_REAL is 1, as in CI, where nothing may be skipped silently.
func Require(t testing.TB) *Browser {
	t.Helper()
	b, err := start()
	if errors.Is(err, ErrUnavailable) && os.Getenv(apache.EnvRequire) != "1" {
		t.Skipf("\n*** NOT TESTED IN A BROWSER: %v\n*** (%s=1 makes this a failure)", err, apache.EnvRequire)
	}
	if err != nil {
		t.Fatalf("a browser is required (%s=%s; Debian's package is chromium): %v", apache.EnvRequire, os.Getenv(apache.EnvRequire), err)
	}
	t.Cleanup(b.stop)
	return b
}

// requireRoot skips a test with the reason without the right to change the network of
// this machine, or fails it as Require does.
func requireRoot(t testing.TB) {
	t.Helper()
	switch must := os.Getenv(apache.EnvRequire) == "1"; {
	case os.Geteuid() == 0:
	case must:
		t.Fatalf("root is required (%s=1): only root may change the network", apache.EnvRequire)
	default:
		t.Skipf("\n*** NOT TESTED: only root may change the network\n*** (%s=1 makes this a failure)", apache.EnvRequire)
	}
}

// find looks for a Chromium.
func find() (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: none of %v is in PATH", ErrUnavailable, names)
}

// start starts a browser. The browser must not outlive the test, and therefore
// has a context of its own.
func start() (*Browser, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true),
		// Fewer processes: each costs as much as some pages.
		chromedp.Flag("renderer-process-limit", "1"), chromedp.Flag("in-process-gpu", true), chromedp.Flag("disable-software-rasterizer", true),
		chromedp.Flag("force-prefers-reduced-motion", true), // no animation runs without a viewer
	)
	allocated, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	b := &Browser{ctx: ctx, stop: func() { cancel(); release() }}
	late := time.AfterFunc(startLimit, b.stop)
	defer late.Stop()
	if err := chromedp.Do(ctx); err != nil {
		b.stop()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return b, nil
}
