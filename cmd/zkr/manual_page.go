package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// manName is the name of the manual page.
func (p page) manName() string { return strings.ReplaceAll(p.cmd.CommandPath(), " ", "-") }

// man is the page in the language of man(7).
func (p page) man(date string) string {
	var out strings.Builder
	section := func(name string) { fmt.Fprintf(&out, ".SH %s\n", name) }
	fmt.Fprintf(&out, ".TH %s 1 \"%s\" zkrecipes \"zkr manual\"\n.nh\n.ad l\n", roff(strings.ToUpper(p.manName())), date)
	section("NAME")
	fmt.Fprintf(&out, "%s \\- %s\n", roff(p.manName()), roff(strings.TrimSuffix(p.cmd.Short, ".")))
	section("SYNOPSIS")
	literal(&out, strings.Join(p.usage, "\n"))
	section("DESCRIPTION")
	out.WriteString(roffProse(or(p.about, p.sentence())))
	if len(p.commands) > 0 {
		section("COMMANDS")
		for _, sub := range p.commands {
			fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
		}
	}
	if p.examples != "" {
		section("EXAMPLES")
		literal(&out, p.examples)
	}
	section("OPTIONS")
	roffFlags(&out, p.flags)
	if p.global != nil {
		section("GLOBAL OPTIONS")
		roffFlags(&out, p.global)
	}
	section("EXIT STATUS")
	for _, e := range p.codes {
		fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(e.String()), roff(e.means))
	}
	if anyBelow(p.cmd, runsCommand) {
		fmt.Fprintf(&out, ".PP\n%s\n", roff(exitOfCommand))
	}
	p.seeAlso(&out)
	return out.String()
}

// seeAlso names the pages above and below.
func (p page) seeAlso(out *strings.Builder) {
	var others []string
	if p.cmd.HasParent() {
		others = append(others, pageOf(p.cmd.Parent()).manName())
	}
	for _, sub := range p.commands {
		others = append(others, pageOf(sub).manName())
	}
	out.WriteString(".SH SEE ALSO\n")
	for i, name := range others {
		comma := ","
		if i == len(others)-1 {
			comma = ""
		}
		fmt.Fprintf(out, ".BR %s (1)%s\n", roff(name), comma)
	}
}

// roffFlags lists flags with what they stand for.
func roffFlags(out *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		name := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
		}
		if value != "" {
			name += ` \fI` + roff(value) + `\fR`
		}
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "false" && f.DefValue != "[]" {
			text += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(out, ".TP\n%s\n%s\n", name, roff(text))
	})
}

// roffProse is prose, as fill has it, in paragraphs.
func roffProse(text string) string {
	var out strings.Builder
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			out.WriteString(".PP\n")
		}
		var columns []string // lines that stay as they are
		for line := range strings.SplitSeq(paragraph, "\n") {
			if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
				columns = append(columns, line)
				continue
			}
			literal(&out, strings.Join(columns, "\n"))
			columns = nil
			if strings.TrimSpace(line) != "" {
				out.WriteString(roff(line) + "\n")
			}
		}
		literal(&out, strings.Join(columns, "\n"))
	}
	return out.String()
}

// literal is text that stays as it is.
func literal(out *strings.Builder, text string) {
	if strings.TrimSpace(text) != "" {
		fmt.Fprintf(out, ".nf\n%s\n.fi\n", roff(text))
	}
}

// roff makes text of what roff would take for something else: backslashes, hyphens
// that are to be copied, and dots and quotes at the beginning of a line.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
