//go:build unix

package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// witness is a file to which all processes append lines, each in one write, so
// that all observations are in one order:
//
//	in <process> x|s <token>    the process was let in, alone (x) or with others (s)
//	out <process>               the process is about to leave
//	begin <process>             the process is about to add one
//	done <process> <sum>        the process has added one, with this sum
//	gone <process>              the process was killed or frozen, and writes nothing more
type witness struct{ path string }

func newWitness(t *testing.T) witness {
	w := witness{filepath.Join(t.TempDir(), "witness")}
	require.NoError(t, os.WriteFile(w.path, nil, 0o600))
	return w
}

// appendLine appends a line.
func (w witness) appendLine(line string) error {
	f, err := os.OpenFile(w.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

func (w witness) read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(w.path)
	require.NoError(t, err)
	return string(text)
}

// rules are the rules that turns keep.
type rules struct {
	// together is how many clients that do not want to be alone may be inside; 0: any.
	together int
	// unordered says that the client that came first need not be let in first.
	unordered bool
}

// turns are a witness's observations of a lock.
type turns struct {
	entered map[string]int // by process
	changes int            // how often the process that got in differs from the one before
	most    int            // inside at a time
}

// judgeTurns checks that no client was inside together with a client that wants to be
// alone, nor with more than together others, and that the clients were let in in the
// order in which they had come: the tokens, the czxids of contenders' nodes, tell that
// order. So fencing tokens grow as well, no matter which client holds. Clients that
// share have no order among themselves.
func judgeTurns(text string, r rules) (turns, error) {
	out := turns{entered: map[string]int{}}
	inside := map[string]string{} // kind by process
	var highest, highestAlone int64
	last := ""
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("line %d, %q: %s; inside: %v", i+1, line, fmt.Sprintf(format, args...), inside)
		}
		f := strings.Fields(line)
		switch {
		case len(f) == 4 && f[0] == "in" && (f[2] == "x" || f[2] == "s"):
			token, err := strconv.ParseInt(f[3], 10, 64)
			if err != nil || token <= 0 {
				return out, bad("no token")
			}
			if why := admit(inside, f[2], r.together); why != "" {
				return out, bad("%s", why)
			}
			alone := f[2] == "x"
			// The same token twice is that of a lock that one process has
			// handed on within itself.
			if before := map[bool]int64{true: highest, false: highestAlone}[alone]; !r.unordered && token < before {
				return out, bad("%d had come later, and was let in before", before)
			}
			highest = max(highest, token)
			if alone {
				highestAlone = max(highestAlone, token)
			}
			if f[1] != last {
				out.changes++
			}
			inside[f[1]], last = f[2], f[1]
			out.entered[f[1]]++
			out.most = max(out.most, len(inside))
		case len(f) == 2 && f[0] == "out":
			if inside[f[1]] == "" {
				return out, bad("it is not inside")
			}
			delete(inside, f[1])
		case len(f) == 2 && f[0] == "gone":
			delete(inside, f[1])
		default:
			return out, bad("what is that?")
		}
	}
	if len(inside) > 0 {
		return out, fmt.Errorf("still inside at the end: %v", inside)
	}
	return out, nil
}

// admit says why no process may get in for a hold of that kind.
func admit(inside map[string]string, kind string, together int) string {
	for process, other := range inside {
		if kind == "x" || other == "x" {
			return process + " is inside"
		}
	}
	if together > 0 && len(inside) >= together {
		return "all places are taken"
	}
	return ""
}

// sums are a witness's observations of a counter.
type sums struct {
	added   map[string]int // by process
	unknown int            // begun by a process that was killed
	highest int64
}

// judgeSums checks the sums of a counter that begins at 0, to which all
// processes add one: no sum comes twice, none is skipped except by processes
// killed during an addition, and a sum is above all sums that existed when its
// addition began.
func judgeSums(text string) (sums, error) {
	out := sums{added: map[string]int{}}
	began := map[string]int64{} // highest sum at that moment, by process
	seen := map[int64]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("line %d, %q: %s", i+1, line, fmt.Sprintf(format, args...))
		}
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "begin":
			if _, twice := began[f[1]]; twice {
				return out, bad("it adds already")
			}
			began[f[1]] = out.highest
		case len(f) == 3 && f[0] == "done":
			sum, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil {
				return out, bad("no sum")
			}
			before, ok := began[f[1]]
			switch {
			case !ok:
				return out, bad("it has not begun")
			case seen[sum]:
				return out, bad("this sum comes twice")
			case sum <= before:
				return out, bad("%d existed before it began", before)
			}
			delete(began, f[1])
			seen[sum] = true
			out.added[f[1]]++
			out.highest = max(out.highest, sum)
		case len(f) == 2 && f[0] == "gone":
			if _, adds := began[f[1]]; adds {
				delete(began, f[1])
				out.unknown++
			}
		default:
			return out, bad("what is that?")
		}
	}
	if len(began) > 0 {
		return out, fmt.Errorf("begun and not ended: %v", began)
	}
	if skipped := int(out.highest) - len(seen); skipped < 0 || skipped > out.unknown {
		return out, fmt.Errorf("%d sums up to %d; %d are unknown", len(seen), out.highest, out.unknown)
	}
	return out, nil
}
