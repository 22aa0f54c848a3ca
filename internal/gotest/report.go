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
}

// read reports the events of r until it ends. Lines that are not events are printed.
func (r *report) read(in io.Reader) error {
	r.output, r.skips = map[testID][]string{}, map[string][]testID{}
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
		}
		delete(r.output, id)
	case "pass":
		delete(r.output, id)
	case "fail":
		for _, line := range r.output[id] {
			fmt.Fprint(r.out, line)
		}
		delete(r.output, id)
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
