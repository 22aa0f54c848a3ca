package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func reported(t *testing.T, events ...string) string {
	t.Helper()
	var out strings.Builder
	r := report{out: &out}
	require.NoError(t, r.read(strings.NewReader(strings.Join(events, "\n")+"\n")))
	r.summary()
	return out.String()
}

func TestSkippedTestsAreListedByReason(t *testing.T) {
	skip := func(test, why string) []string {
		return []string{
			`{"Action":"output","Package":"a","Test":"` + test + `","Output":"=== RUN   ` + test + `\n"}`,
			`{"Action":"output","Package":"a","Test":"` + test + `","Output":"    x_test.go:7: ` + why + `\n"}`,
			`{"Action":"output","Package":"a","Test":"` + test + `","Output":"--- SKIP: ` + test + ` (0.00s)\n"}`,
			`{"Action":"skip","Package":"a","Test":"` + test + `"}`,
		}
	}
	events := append(skip("T1", "no server"), skip("T2", "no Kazoo")...)
	events = append(events, skip("T3", "no server")...)
	events = append(events, `{"Action":"output","Package":"a","Output":"ok  \ta\t1s\n"}`, `{"Action":"pass","Package":"a"}`)
	require.Equal(t, "ok  \ta\t1s\n\nNOT TESTED: 1 test: no Kazoo\n    a T2\n\nNOT TESTED: 2 tests: no server\n    a T1\n    a T3\n",
		reported(t, events...))
}

func TestFailuresAreShownAndPassesAreNot(t *testing.T) {
	got := reported(t,
		`{"Action":"output","Package":"a","Test":"T1","Output":"fine\n"}`, `{"Action":"pass","Package":"a","Test":"T1"}`,
		`{"Action":"output","Package":"a","Test":"T2","Output":"wrong\n"}`, `{"Action":"fail","Package":"a","Test":"T2"}`,
		`{"Action":"output","Package":"a","Output":"leak\n"}`, `{"Action":"output","Package":"a","Output":"FAIL\ta\t1s\n"}`,
		`{"Action":"fail","Package":"a"}`, `{"Action":"build-output","Output":"x.go:1: syntax\n"}`, `no JSON`)
	require.Equal(t, "wrong\nFAIL\ta\t1s\nleak\nx.go:1: syntax\nno JSON\n", got)
}

func TestASkipWithoutAMessageIsListedToo(t *testing.T) {
	require.Contains(t, reported(t, `{"Action":"skip","Package":"a","Test":"T"}`), "1 test: no reason given")
	require.NotContains(t, reported(t, `{"Action":"skip","Package":"a"}`), "NOT TESTED", "a package without tests")
}

func TestTallyCountsTheTestsOfEachPackage(t *testing.T) {
	var out strings.Builder
	r := report{out: &out}
	skip := `{"Action":"output","Package":"a","Test":"T/x","Output":"    x_test.go:7: lacks it\n"}`
	require.NoError(t, r.read(strings.NewReader(strings.Join([]string{
		skip, `{"Action":"skip","Package":"a","Test":"T/x"}`, `{"Action":"pass","Package":"a","Test":"T/y"}`,
		`{"Action":"fail","Package":"a","Test":"T/z/1"}`, `{"Action":"fail","Package":"a","Test":"T/z"}`, `{"Action":"fail","Package":"a","Test":"T"}`,
		strings.ReplaceAll(skip, "T/x", "U/x"), `{"Action":"skip","Package":"a","Test":"U/x"}`, `{"Action":"pass","Package":"a","Test":"U"}`,
		`{"Action":"pass","Package":"b","Test":"T"}`, `{"Action":"pass","Package":"b"}`, `{"Action":"fail","Package":"a"}`,
		`{"Action":"fail","Package":"c"}`,
	}, "\n"))))
	out.Reset()
	r.tally()
	require.Equal(t, "\n     2 tests of a\n        failed: T/z/1\n             2 left out: lacks it\n     1 tests of b\n"+
		"     0 tests of c\n        failed: the package: see above\n", out.String())
}

// The exit code is that of go test.
func TestExitCodeIsThatOfGoTest(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("go.mod", "module m\n\ngo 1.26\n")
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	for body, want := range map[string]int{"": 0, "t.Error()": 1} {
		write("m_test.go", "package m\n\nimport \"testing\"\n\nfunc TestM(t *testing.T) { "+body+" }\n")
		code, err := run([]string{"./..."}, false)
		require.NoError(t, err)
		require.Equal(t, want, code, body)
	}
}
