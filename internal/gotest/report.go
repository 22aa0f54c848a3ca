package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
}

// testID names a test of a package.
type testID struct{ pkg, test string }

// report prints what go test prints and collects the skipped tests.
type report struct {
	out    io.Writer
	output map[testID][]string // of tests that have not ended
	skips  map[string][]testID // skipped tests by reason
	ran    map[testID]bool     // tests that were not skipped: whether they have no subtests
	failed map[testID]bool     // tests, and packages without a test that failed
}

// read reports the events of r until it ends. Lines that are not events are printed.
func (r *report) read(in io.Reader) error {
	r.output, r.skips = map[testID][]string{}, map[string][]testID{}
	r.ran, r.failed = map[testID]bool{}, map[testID]bool{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				r.addEvent(e)
			} else {
				fmt.Fprint(r.out, line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) addEvent(e event) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		switch {
		case e.Action == "build-output":
			fmt.Fprint(r.out, e.Output)
		case e.Test == "":
			r.packageLine(id, e.Output)
		default:
			r.output[id] = append(r.output[id], e.Output)
		}
	case "skip":
		if e.Test != "" {
			why := reason(r.output[id])
			r.skips[why] = append(r.skips[why], id)
			r.noteParents(id)
		}
		delete(r.output, id)
	case "pass":
		r.noteRan(id)
		delete(r.output, id)
	case "fail":
		r.noteRan(id)
		r.failed[id] = true
		for _, line := range r.output[id] {
			fmt.Fprint(r.out, line)
		}
		delete(r.output, id)
	}
}

// noteRan notes a test that was not skipped. Its subtests have ended before.
func (r *report) noteRan(id testID) {
	if id.test == "" {
		return
	}
	if _, isParent := r.ran[id]; !isParent {
		r.ran[id] = true
	}
	r.noteParents(id)
}

// noteParents notes the tests that id is a subtest of.
func (r *report) noteParents(id testID) {
	for i := range id.test {
		if id.test[i] == '/' {
			r.ran[testID{id.pkg, id.test[:i]}] = false
		}
	}
}

// packageLine prints the result of a package, and keeps everything else that the
// package prints until the package fails.
func (r *report) packageLine(id testID, line string) {
	for _, result := range []string{"ok ", "FAIL\t", "?  ", "---", "panic:"} {
		if strings.HasPrefix(line, result) {
			fmt.Fprint(r.out, line)
			return
		}
	}
	if line != "PASS\n" {
		r.output[id] = append(r.output[id], line)
	}
}

var place = regexp.MustCompile(`^\s*[\w./-]+\.go:\d+: `) // read only

// reason is the message of the skip: the last line that names a place in the code,
// with the lines that continue it.
func reason(lines []string) string {
	var out []string
	for _, line := range lines {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- "):
		case place.MatchString(line):
			out = []string{strings.TrimSpace(place.ReplaceAllString(line, ""))}
		case text != "" && len(out) > 0:
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return "no reason given"
	}
	return strings.Join(out, " ")
}

// tally prints how many tests of each package ran, which of them failed, and how many were
// skipped for which reason. A test with subtests counts as these.
func (r *report) tally() {
	ran, skipped := map[string]int{}, map[string]map[string]int{}
	for id, leaf := range r.ran {
		if ran[id.pkg] += 0; leaf {
			ran[id.pkg]++
		}
	}
	for why, ids := range r.skips {
		for _, id := range ids {
			if skipped[id.pkg] == nil {
				skipped[id.pkg] = map[string]int{}
			}
			ran[id.pkg] += 0
			skipped[id.pkg][why]++
		}
	}
	failed := r.failedTests()
	for pkg := range failed {
		ran[pkg] += 0
	}
	fmt.Fprintln(r.out)
	for _, pkg := range slices.Sorted(maps.Keys(ran)) {
		fmt.Fprintf(r.out, "%6d tests of %s\n", ran[pkg], pkg)
		for _, test := range failed[pkg] {
			fmt.Fprintf(r.out, "%14s: %s\n", "failed", test)
		}
		for _, why := range slices.Sorted(maps.Keys(skipped[pkg])) {
			fmt.Fprintf(r.out, "%14d left out: %s\n", skipped[pkg][why], why)
		}
	}
}

// failedTests are the failed tests of each package that have no subtests, or the package if it
// failed without a failed test: it was not compiled, or ended early.
func (r *report) failedTests() map[string][]string {
	failed := map[string][]string{}
	for id := range r.failed {
		if id.test != "" && r.ran[id] {
			failed[id.pkg] = append(failed[id.pkg], id.test)
		}
	}
	for id := range r.failed {
		if id.test == "" && len(failed[id.pkg]) == 0 {
			failed[id.pkg] = []string{"the package: see above"}
		}
	}
	for _, tests := range failed {
		slices.Sort(tests)
	}
	return failed
}

// summary lists the skipped tests.
func (r *report) summary() {
	for _, why := range slices.Sorted(maps.Keys(r.skips)) {
		ids := r.skips[why]
		tests := "tests"
		if len(ids) == 1 {
			tests = "test"
		}
		fmt.Fprintf(r.out, "\nNOT TESTED: %d %s: %s\n", len(ids), tests, why)
		for _, id := range ids {
			fmt.Fprintf(r.out, "    %s %s\n", id.pkg, id.test)
		}
	}
}
