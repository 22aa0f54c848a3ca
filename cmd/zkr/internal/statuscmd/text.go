package statuscmd

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// most is how many lines each list of the text has; the JSON has all.
const most = 12

// text is the summary for a terminal: what needs attention first.
func (s *summary) text() []byte {
	var out bytes.Buffer
	if s.Stale {
		fmt.Fprintf(&out, "ZooKeeper does not answer; as of %s:\n\n", cli.LocalTime(s.At))
	}
	section(&out, "PROBLEM\tPATH\tWHAT", s.Problems, func(p problem) []string {
		return []string{string(p.Level), p.Path, p.Text}
	})
	section(&out, "WAITED FOR\tKIND\tWAITING\tLONGEST\tFIRST\tHELD BY", s.Waits, func(w wait) []string {
		return []string{w.Path, string(w.Kind), strconv.Itoa(w.Waiting), cli.Age(w.Since), w.First, cli.OrElse(strings.Join(w.Holders, ", "), "-")}
	})
	section(&out, "ELECTION\tLEADER\tENTERED\tSTANDBY", s.Leaders, func(l leader) []string {
		return []string{l.Path, cli.OrElse(l.Leader, "-"), cli.Age(l.Entered), strconv.Itoa(l.Standby)}
	})
	section(&out, "WORK\tKIND\tSTATE", s.Work, func(w work) []string {
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
func section[T any](out *bytes.Buffer, header string, list []T, row func(T) []string) {
	if len(list) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for _, v := range list[:min(most, len(list))] {
		fmt.Fprintln(w, strings.Join(row(v), "\t"))
	}
	_ = w.Flush() // into memory
	if rest := len(list) - most; rest > 0 {
		fmt.Fprintf(out, "and %d more: -o json shows all\n", rest)
	}
	fmt.Fprintln(out)
}
