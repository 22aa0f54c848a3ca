package house

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// maxSubject is the greatest length of a commit's subject, in characters.
const maxSubject = 72

// subjectForm is "area: phrase". The area is a package, a folder, or several of them.
var subjectForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_/., -]*: [^\sA-Z]`) // read only

// subjectProblem says what is wrong with the subject of a commit; "" if nothing.
func subjectProblem(subject string) string {
	switch n := utf8.RuneCountInString(subject); {
	case n > maxSubject:
		return fmt.Sprintf("the subject has %d characters, and may have %d", n, maxSubject)
	case !subjectForm.MatchString(subject):
		return `the subject is not "area: imperative phrase" in lower case`
	case strings.HasSuffix(subject, "."):
		return "the subject ends with a period"
	}
	return ""
}

func TestSubjectsOfCommitsHaveAForm(t *testing.T) {
	for subject, want := range map[string]string{
		"zkr: note that sudo children cannot be stopped":    "",
		"lock, session: make two tests indifferent":         "",
		"cmd/zkr/internal: count what was drawn":            "",
		"docs: " + strings.Repeat("é", maxSubject-6):        "",
		"docs: " + strings.Repeat("é", maxSubject-5):        "73 characters",
		"note that sudo children cannot be stopped":         "area: imperative phrase",
		"zkr: Note that sudo children cannot be stopped":    "area: imperative phrase",
		"Zkr: note that sudo children cannot be stopped":    "area: imperative phrase",
		"zkr:note that sudo children cannot be stopped":     "area: imperative phrase",
		"zkr: note that sudo children cannot be stopped.":   "ends with a period",
		"Merge branch 'main' of github.com:zkrecipes/other": "area: imperative phrase",
	} {
		if got := subjectProblem(subject); want == "" {
			require.Empty(t, got, subject)
		} else {
			require.Contains(t, got, want, subject)
		}
	}
}

// TestSubjectsOfTheProjectsCommits checks the commits since the rule exists: the commit that
// added scripts/check-commits.sh, the first form of this test. A checkout without history,
// such as a release's archive or a shallow clone, has none to check.
func TestSubjectsOfTheProjectsCommits(t *testing.T) {
	root, err := os.Getwd()
	require.NoError(t, err)
	root = filepath.Join(root, "..", "..")
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			t.Logf("git %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Log("no history: nothing to check")
		return
	}
	first, _, _ := strings.Cut(git("log", "--reverse", "--diff-filter=A", "--format=%H", "--", "scripts/check-commits.sh"), "\n")
	if first == "" {
		t.Log("the history does not reach back to the rule: nothing to check")
		return
	}
	checked := 0
	for line := range strings.Lines(git("log", "--no-merges", "--format=%h %s", first+"..HEAD")) {
		commit, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		checked++
		if problem := subjectProblem(subject); problem != "" {
			t.Errorf("%s %s: %s; reword with git rebase -i", commit, subject, problem)
		}
	}
	if git("rev-parse", "--is-shallow-repository") == "false" {
		require.Positive(t, checked)
	}
}
