package statuscmd

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
)

// most is how many lines each list of the text has; the JSON has all.
const most = 12

// text is the summary for a terminal: what needs attention first.
func (s *summary) text() []byte {
	var out bytes.Buffer
	switch {
	case s.ReadOnly != "":
		fmt.Fprintf(&out, "ZooKeeper has no quorum; this is what %s knows, which may not be the newest state:\n\n", s.ReadOnly)
	case s.Stale:
		fmt.Fprintf(&out, "ZooKeeper does not answer; as of %s:\n\n", cli.LocalTime(s.At))
	}
	section(&out, []string{"PROBLEM", "PATH", "WHAT"}, s.Problems, func(p problem) []string {
		return []string{string(p.Level), p.Path, p.Text}
	})
	section(&out, []string{"FINDING", "WHERE", "NAME", "WHAT"}, s.seriousFindings(), func(f doctor.Finding) []string {
		return []string{string(f.Level), f.Where, f.Name, f.Evidence}
	})
	section(&out, []string{"WAITED FOR", "KIND", "WAITING", "LONGEST", "FIRST", "HELD BY"}, s.Waits, func(w wait) []string {
		return []string{w.Path, string(w.Kind), strconv.Itoa(w.Waiting), cli.Age(w.Since), w.First, cli.OrElse(strings.Join(w.Holders, ", "), "-")}
	})
	section(&out, []string{"ELECTION", "LEADER", "ENTERED", "STANDBY"}, s.Leaders, func(l leader) []string {
		return []string{l.Path, cli.OrElse(l.Leader, "-"), cli.Age(l.Entered), strconv.Itoa(l.Standby)}
	})
	section(&out, []string{"WORK", "KIND", "STATE"}, s.Work, func(w work) []string {
		return []string{w.Path, string(w.Kind), w.State}
	})
	section(&out, []string{"GROUP", "KIND", "STATE"}, s.Groups, func(w work) []string {
		return []string{w.Path, string(w.Kind), w.State}
	})
	var sums []string
	for _, kind := range slices.Sorted(maps.Keys(s.Things)) {
		sums = append(sums, fmt.Sprintf("%s: %d", kind, s.Things[kind]))
	}
	sums = append(sums, fmt.Sprintf("sessions: %d", s.Sessions), fmt.Sprintf("znodes: %d", s.Znodes))
	if s.Denied > 0 {
		sums = append(sums, fmt.Sprintf("may not be read: %d", s.Denied))
	}
	fmt.Fprintln(&out, strings.Join(sums, ", "))
	return out.Bytes()
}

// section writes the first lines of a list below a header, and an empty line; nothing for an
// empty list.
func section[T any](out *bytes.Buffer, header []string, list []T, row func(T) []string) {
	if len(list) == 0 {
		return
	}
	var rows [][]string
	for _, v := range list[:min(most, len(list))] {
		rows = append(rows, row(v))
	}
	cli.Columns(out, header, rows)
	if rest := len(list) - most; rest > 0 {
		fmt.Fprintf(out, "and %d more: -o json shows all\n", rest)
	}
	fmt.Fprintln(out)
}
