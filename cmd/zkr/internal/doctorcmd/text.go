package doctorcmd

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

const (
	// lineWidth is how long a line of the text is, unless a word is longer.
	lineWidth = 100
	// indent is how far the texts of a finding are indented, behind the two columns that all
	// hanging texts have.
	indent = 14
)

// text is the report for a terminal.
func (r *report) text() []byte {
	var out bytes.Buffer
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "%-4s  %s  %s\n", f.Level, f.Name, cli.Readable([]byte(f.Where)))
		writeItem(&out, "evidence", f.Evidence)
		writeItem(&out, "meaning", f.Meaning)
		writeItem(&out, "do", f.Remedy)
		writeItem(&out, "more", f.More)
		out.WriteByte('\n')
	}
	for _, u := range r.NotSeen {
		fmt.Fprintf(&out, "not seen  %s\n", cli.Readable([]byte(u.Where)))
		writeItem(&out, "what", u.What)
		writeItem(&out, "do", u.Remedy)
		out.WriteByte('\n')
	}
	var rows [][]string
	for _, s := range r.Servers {
		rows = append(rows, []string{s.Address, cli.OrElse(s.Mode, "-"), cli.OrElse(s.Version, "-")})
	}
	if len(rows) > 0 {
		cli.Columns(&out, []string{"SERVER", "MODE", "VERSION"}, rows)
	}
	if t := r.RoundTrip; t != nil {
		fmt.Fprintf(&out, "a lock was acquired and released %d times: median %.1f ms, longest %.1f ms\n", t.Rounds, t.Median, t.Longest)
	}
	if f := r.Failover; f != nil && f.Kept {
		fmt.Fprintf(&out, "after the cut of the connection to %s, %s answered after %.0f ms; the lock was kept\n", f.From, f.To, f.Took)
	}
	fmt.Fprintf(&out, "%s, %d not seen\n", cli.Count(len(r.Findings), "finding"), len(r.NotSeen))
	return out.Bytes()
}

// writeItem writes a text beside its name, in lines of lineWidth.
func writeItem(out *bytes.Buffer, name, text string) {
	line := strings.Join(strings.Fields(text), " ") // errors may have several
	cli.HangText(out, lineWidth, indent, "    "+name+":", cli.Readable([]byte(line)))
}
