package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// ManName is the name of the manual page.
func (p commandPage) ManName() string { return strings.ReplaceAll(p.cmd.CommandPath(), " ", "-") }

// man is the page in the language of man(7).
func (p commandPage) man(date string) string {
	var out strings.Builder
	section := func(name string) { fmt.Fprintf(&out, ".SH %s\n", name) }
	fmt.Fprintf(&out, ".TH %s 1 \"%s\" zkrecipes \"zkr manual\"\n.nh\n.ad l\n", roff(strings.ToUpper(p.ManName())), date)
	section("NAME")
	fmt.Fprintf(&out, "%s \\- %s\n", roff(p.ManName()), roff(strings.TrimSuffix(p.cmd.Short, ".")))
	section("SYNOPSIS")
	literal(&out, strings.Join(p.Usage, "\n"))
	section("DESCRIPTION")
	out.WriteString(roffProse(OrElse(p.about, p.sentence())))
	if len(p.Commands) > 0 {
		section("COMMANDS")
		for _, sub := range p.Commands {
			fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
		}
	}
	if p.Examples != "" {
		section("EXAMPLES")
		literal(&out, p.Examples)
	}
	section("OPTIONS")
	roffFlags(&out, p.flags)
	if p.global != nil {
		section("GLOBAL OPTIONS")
		roffFlags(&out, p.global)
	}
	section("EXIT STATUS")
	for _, e := range p.codes {
		fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(e.String()), roff(e.Means))
	}
	if AnyBelow(p.cmd, RunsCommand) {
		fmt.Fprintf(&out, ".PP\n%s\n", roff(ExitOfCommand))
	}
	p.seeAlso(&out)
	return out.String()
}

// seeAlso names the pages above and below.
func (p commandPage) seeAlso(out *strings.Builder) {
	var others []string
	if p.cmd.HasParent() {
		others = append(others, PageOf(p.cmd.Parent()).ManName())
	}
	for _, sub := range p.Commands {
		others = append(others, PageOf(sub).ManName())
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

// roffFlags lists flags with their descriptions.
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

// roffProse is prose, as fillText has it, in paragraphs.
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

// roff escapes characters that roff would misread: backslashes, hyphens that are to be
// copied, and dots and quotes at the beginning of a line.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
