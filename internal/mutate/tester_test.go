package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inModule changes to a new module with a package of the given files.
func inModule(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	files["go.mod"] = "module example.com/m\n\ngo 1.25\n"
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// One function is tested, one is not, one test hangs, one is run with another package,
// and one mutation does not compile.
func five() map[string]string {
	return map[string]string{
		"a/a.go": `package a

func Tested(n int) int { n++; return n }

func Untested(n int) int { n--; return n }

func Hangs(n int) int { c := make(chan int, n); n--; if n == 0 { c <- n }; return <-c }

func Elsewhere(n int) int { n += 2; return n }

func Text(a, b string) string { return a + b }
`,
		"a/a_test.go": `package a

import "testing"

func TestTested(t *testing.T) {
	if Tested(1) != 2 {
		t.Error("wrong")
	}
	Hangs(1)
}
`,
		"b/b_test.go": `package b

import (
	"testing"

	"example.com/m/a"
)

func TestElsewhere(t *testing.T) {
	if a.Elsewhere(1) != 3 {
		panic("wrong")
	}
}
`,
	}
}

func TestMutantsThatNoTestKillsSurvive(t *testing.T) {
	inModule(t, five())
	var out, log bytes.Buffer
	packages, err := findPackages(t.Context(), []string{"./a"})
	require.NoError(t, err)
	mutants, err := sample(packages, 1, regexp.MustCompile("delete: n|instead of [+]:"))
	require.NoError(t, err)
	tr := tester{with: []string{"example.com/m/b"}, timeout: 5 * time.Second, out: &out, log: &log}
	sum, err := tr.testAll(t.Context(), mutants, 0)
	require.NoError(t, err)
	sum.took = 0
	require.Equal(t, summary{killed: 3, survived: 1, invalid: 1}, sum, log.String())
	require.Equal(t, "a/a.go:5: delete: n--\n", out.String())
	require.Contains(t, log.String(), "a/a.go:3: delete: n++ (TestTested, ")
	require.Contains(t, log.String(), "a/a.go:7: delete: n-- (panic: test timed out after 5s, ")
	require.Contains(t, log.String(), "a/a.go:9: delete: n += 2 (TestElsewhere, ")
}

func TestSampleDependsOnTheSeedAlone(t *testing.T) {
	inModule(t, five())
	drawn := func(seed uint64) (out []string) {
		packages, err := findPackages(t.Context(), []string{"./..."})
		require.NoError(t, err)
		require.Len(t, packages, 2)
		mutants, err := sample(packages, seed, regexp.MustCompile(""))
		require.NoError(t, err)
		for _, m := range mutants {
			out = append(out, m.String())
		}
		return out
	}
	require.Equal(t, drawn(7), drawn(7))
	require.NotEqual(t, drawn(7), drawn(8))
	require.ElementsMatch(t, drawn(7), drawn(8))
}

func TestOnlySoManyMutantsAreTested(t *testing.T) {
	inModule(t, five())
	code, err := run(t.Context(), []string{"-n", "1", "-fail", "-only", "a.go:[35]: delete", "./a"})
	require.NoError(t, err)
	require.Zero(t, code, "the sample of seed 1 is line 3")
	code, err = run(t.Context(), []string{"-n", "2", "-only", "a.go:[35]: delete", "./a"})
	require.NoError(t, err)
	require.Zero(t, code)
	code, err = run(t.Context(), []string{"-n", "2", "-fail", "-only", "a.go:[35]: delete", "./a"})
	require.NoError(t, err)
	require.Equal(t, 1, code)
}

func TestTestsThatFailWithoutAMutationKillNothing(t *testing.T) {
	files := five()
	files["a/a_test.go"] = strings.ReplaceAll(files["a/a_test.go"], "!= 2", "== 2")
	inModule(t, files)
	code, err := run(t.Context(), []string{"./a"})
	require.Equal(t, 2, code)
	require.ErrorContains(t, err, "example.com/m/a: the tests fail without a mutation: TestTested")
}

func TestSkippedTestsKillNothing(t *testing.T) {
	inModule(t, five())
	code, err := run(t.Context(), []string{"-fail", "-only", "a.go:3: delete", "-skip", "TestTested", "./a"})
	require.NoError(t, err)
	require.Equal(t, 1, code)
}

func TestInterruptedRunIsAnError(t *testing.T) {
	inModule(t, five())
	packages, err := findPackages(t.Context(), []string{"./a"})
	require.NoError(t, err)
	mutants, err := sample(packages, 1, regexp.MustCompile(""))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tr := tester{out: t.Output(), log: t.Output()}
	_, err = tr.testAll(ctx, mutants, 0)
	require.ErrorIs(t, err, context.Canceled)
}

func TestWrongArgumentsAreTold(t *testing.T) {
	inModule(t, five())
	for want, args := range map[string][]string{
		"no package is named":       nil,
		"go list":                   {"./none"},
		"-only: error parsing":      {"-only", "(", "./a"},
		"not defined: -x":           {"-x", "./a"},
		"no code to change was fou": {"-only", "nothing", "./a"},
	} {
		code, err := run(t.Context(), args)
		require.ErrorContains(t, err, want)
		require.Equal(t, 2, code)
	}
	code, err := run(t.Context(), []string{"-h"})
	require.NoError(t, err)
	require.Zero(t, code)
	code, err = run(t.Context(), []string{"-list", "./a"})
	require.NoError(t, err)
	require.Zero(t, code)
}

func TestReasonIsWhatFailedFirst(t *testing.T) {
	require.Equal(t, "TestA", reason("ok\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b\npanic: x\n"))
	require.Equal(t, "panic: x", reason("panic: x\ngoroutine 1\n--- FAIL: TestA (0.00s)\n"))
	require.Equal(t, "fatal error: all asleep", reason("\nfatal error: all asleep\n"))
	require.Equal(t, "WARNING: DATA RACE", reason("==\nWARNING: DATA RACE\n"))
	require.Equal(t, "the tests failed", reason("FAIL\n"))
}

func TestSummaryTellsTheShareOfTheKilled(t *testing.T) {
	require.Equal(t, "3 of 4 mutants killed (75%), 1 survived, 2 did not compile, in 1m1s",
		summary{killed: 3, survived: 1, invalid: 2, took: 61 * time.Second}.String())
	require.Equal(t, "0 of 0 mutants killed (0%), 0 survived, 0 did not compile, in 0s", summary{}.String())
}
