package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Help is wrapped to the width of the terminal, within these bounds, and where
// there is none to the width that terminals have always had.
const (
	narrowest  = 40
	usualWidth = 80
	widest     = 100
)

// page is what there is to say of a command, whether as help, in the manual or
// as a manual page.
type page struct {
	cmd      *cobra.Command
	usage    []string
	about    string // prose, see fill
	commands []*cobra.Command
	examples string
	flags    *pflag.FlagSet // its own, and those that it shares with its siblings
	global   *pflag.FlagSet // those of all commands that it heeds; nil for zkr itself, whose own they are
	codes    []exitCode
}

func pageOf(cmd *cobra.Command) page {
	p := page{
		cmd: cmd, about: strings.Trim(cmd.Long, "\n"), examples: strings.Trim(cmd.Example, "\n"),
		flags: pflag.NewFlagSet("", pflag.ContinueOnError), codes: codesOf(cmd),
	}
	cmd.InitDefaultHelpFlag()
	p.flags.AddFlagSet(cmd.LocalFlags())
	if cmd.HasParent() {
		all := cmd.Root().PersistentFlags()
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
			if all.Lookup(f.Name) == nil {
				p.flags.AddFlag(f)
			}
		})
		p.global = heeded(cmd, all)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			p.commands = append(p.commands, sub)
		}
	}
	if !isFamily(cmd) {
		p.usage = append(p.usage, cmd.UseLine())
	}
	if len(p.commands) > 0 {
		p.usage = append(p.usage, cmd.CommandPath()+" COMMAND")
	}
	return p
}

// heeded are the global flags that mean something to cmd: most are about servers.
func heeded(cmd *cobra.Command, all *pflag.FlagSet) *pflag.FlagSet {
	if anyBelow(cmd, connects) {
		return all
	}
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	some.AddFlag(all.Lookup("output"))
	return some
}

// sentence is the command in one.
func (p page) sentence() string { return strings.TrimSuffix(p.cmd.Short, ".") + "." }

// part is a part of a page that stands under a title.
type part struct{ title, text string }

// parts are all but what the command does, in columns that fit into width.
func (p page) parts(width int) (out []part) {
	var commands strings.Builder
	for _, sub := range p.commands {
		hang(&commands, width, 13, sub.Name(), sub.Short)
	}
	out = []part{{"Commands", commands.String()}, {"Examples", p.examples}, {"Flags", p.flags.FlagUsagesWrapped(width)}}
	if p.global != nil {
		out = append(out, part{"Global flags", p.global.FlagUsagesWrapped(width)})
	}
	return append(out, part{"Exit codes", p.exits(width)})
}

// exits are the exit codes as a list.
func (p page) exits(width int) string {
	var out strings.Builder
	for _, e := range p.codes {
		hang(&out, width, 8, e.String(), e.means)
	}
	if anyBelow(p.cmd, runsCommand) {
		out.WriteString(fill(exitOfCommand, width))
	}
	return out.String()
}

// exitOfCommand is what the exit codes say of commands that run others.
const exitOfCommand = "Where zkr runs a command it otherwise exits as that does."

// help is the page for a terminal.
func (p page) help(width int) string {
	var out strings.Builder
	out.WriteString(fill(p.sentence(), width) + "\nUsage:\n  " + strings.Join(p.usage, "\n  ") + "\n")
	if p.about != "" {
		out.WriteString("\n" + fill(p.about, width))
	}
	for _, part := range p.parts(width) {
		if text := strings.Trim(part.text, "\n"); text != "" {
			out.WriteString("\n" + part.title + ":\n" + text + "\n")
		}
	}
	if len(p.commands) > 0 {
		fmt.Fprintf(&out, "\n%q says more of a command.\n", p.cmd.CommandPath()+" COMMAND --help")
	}
	return out.String()
}

// hang writes a word and what it means, which is wrapped to the right of it.
func hang(out *strings.Builder, width, indent int, word, means string) {
	lines := strings.Split(strings.TrimSuffix(fill(means, max(width, narrowest)-indent-2), "\n"), "\n")
	fmt.Fprintf(out, "  %-*s%s\n", indent, word, lines[0])
	for _, line := range lines[1:] {
		fmt.Fprintf(out, "  %*s%s\n", indent, "", line)
	}
}

// fill wraps prose to width. An empty line begins another paragraph; what is
// indented stays as it is.
func fill(text string, width int) string {
	var out strings.Builder
	column := 0 // of the paragraph's last line; 0: none has begun
	end := func() {
		if column > 0 {
			out.WriteByte('\n')
		}
		column = 0
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if line == "" || line[0] == ' ' || line[0] == '\t' {
			end()
			out.WriteString(line + "\n")
			continue
		}
		for _, word := range strings.Fields(line) {
			switch n := len([]rune(word)); {
			case column == 0:
				column = n
			case column+1+n > width:
				out.WriteByte('\n')
				column = n
			default:
				out.WriteByte(' ')
				column += 1 + n
			}
			out.WriteString(word)
		}
	}
	end()
	return out.String()
}

// showHelp is what --help does.
func (a *app) showHelp(cmd *cobra.Command, _ []string) {
	width := usualWidth
	if columns := terminalWidth(a.stdout); columns > 0 {
		width = min(max(columns, narrowest), widest)
	}
	fmt.Fprint(a.stdout, pageOf(cmd).help(width))
}

// help is "zkr help".
func (a *app) help() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND...]",
		Short:   "Say how a command is used",
		Long:    "Says what --help says as well.",
		Example: "  zkr help\n  zkr help barrier gate wait",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (out []string, _ cobra.ShellCompDirective) {
			if found, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, sub := range found.Commands() {
					if sub.IsAvailableCommand() {
						out = append(out, sub.Name()+"\t"+sub.Short)
					}
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: does(func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(found, rest[0])
			}
			return found.Help()
		}),
	}
}
