package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// tester runs the tests of packages on mutants.
type tester struct {
	flags    []string // for go test
	skip     string   // tests that are not run; see go test -skip
	with     []string // packages whose tests are run after the mutant's own
	timeout  time.Duration
	out, log io.Writer

	limits map[string]time.Duration // of a run of the tests, by package
}

// fate is the result of a run of tests on a mutant.
type fate int

const (
	survived fate = iota
	killed
	invalid // it does not compile
)

// testAll tests mutants until n of them have a verdict other than invalid; 0: all.
func (t *tester) testAll(ctx context.Context, mutants []mutant, n int) (sum summary, err error) {
	began := time.Now()
	defer func() { sum.took = time.Since(began) }()
	t.limits = make(map[string]time.Duration)
	goal := len(mutants)
	if n > 0 {
		goal = min(n, goal)
	}
	for _, m := range mutants {
		tested := sum.killed + sum.survived
		if tested == goal {
			break
		}
		started := time.Now()
		v, why, err := t.test(ctx, m)
		if err != nil {
			return sum, err
		}
		took := time.Since(started).Round(100 * time.Millisecond)
		switch v {
		case invalid:
			sum.invalid++
		case killed:
			sum.killed++
			fmt.Fprintf(t.log, "%d/%d killed   %v (%s, %v)\n", tested+1, goal, m, why, took)
		case survived:
			sum.survived++
			fmt.Fprintf(t.log, "%d/%d SURVIVED %v (%v)\n", tested+1, goal, m, took)
			fmt.Fprintln(t.out, m)
		}
	}
	return sum, nil
}

// test tests one mutant and returns the verdict with its reason.
func (t *tester) test(ctx context.Context, m mutant) (v fate, why string, err error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	overlay, err := writeOverlay(dir, m)
	if err != nil {
		return 0, "", err
	}
	for _, pkg := range append([]string{m.pkg.ImportPath}, t.with...) {
		limit, err := t.limit(ctx, pkg)
		if err != nil {
			return 0, "", err
		}
		if v, why, err = t.goTest(ctx, pkg, limit, "-overlay="+overlay); v != survived || err != nil {
			return v, why, err
		}
	}
	return survived, "", nil
}

// writeOverlay writes the changed file, and the file for -overlay that names it.
func writeOverlay(dir string, m mutant) (string, error) {
	changed := filepath.Join(dir, filepath.Base(m.path))
	if err := os.WriteFile(changed, m.apply(m.src), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {m.path: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// limit returns how long the tests of pkg may take. For that it runs them once on the
// code as it is, and fails if they do.
func (t *tester) limit(ctx context.Context, pkg string) (time.Duration, error) {
	if limit, ok := t.limits[pkg]; ok {
		return limit, nil
	}
	const slack = 30 * time.Second
	limit := t.timeout
	if limit == 0 {
		limit = 10 * time.Minute
	}
	fmt.Fprintf(t.log, "running the tests of %s without a mutation\n", pkg)
	started := time.Now()
	v, why, err := t.goTest(ctx, pkg, limit)
	switch {
	case err != nil:
		return 0, err
	case v != survived:
		return 0, fmt.Errorf("%s: the tests fail without a mutation: %s", pkg, why)
	}
	if t.timeout == 0 {
		limit = slack + 3*time.Since(started)
	}
	t.limits[pkg] = limit
	return limit, nil
}

// goTest runs the tests of pkg.
func (t *tester) goTest(ctx context.Context, pkg string, limit time.Duration, flags ...string) (fate, string, error) {
	args := append([]string{"test", "-count=1", "-failfast", "-vet=off", "-skip=" + t.skip, "-timeout=" + limit.String()}, flags...)
	args = append(args, t.flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	// go passes an interrupt on to the tests; a kill would leave them running.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, "", context.Cause(ctx)
	case err == nil:
		return survived, "", nil
	case !errors.As(err, &exit):
		return 0, "", err
	case bytes.Contains(out.Bytes(), []byte("[build failed]")), bytes.Contains(out.Bytes(), []byte("[setup failed]")):
		return invalid, "it does not compile", nil
	}
	return killed, reason(out.String()), nil
}

// failure matches what went wrong in the output of go test.
var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: .*|fatal error: .*|WARNING: DATA RACE)$`) // read only

// reason finds in the output of go test what has failed.
func reason(out string) string {
	switch m := failure.FindStringSubmatch(out); {
	case m == nil:
		return "the tests failed"
	case m[1] != "":
		return m[1]
	default:
		return strings.TrimSpace(m[2])
	}
}
