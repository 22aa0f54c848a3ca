package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Help is wrapped to the width of the terminal, within these bounds, and without a
// terminal to UsualWidth.
const (
	narrowest  = 40
	UsualWidth = 80
	widest     = 100
)

// commandPage is the description of a command, for its help, the manual and its manual
// page.
type commandPage struct {
	cmd      *cobra.Command
	Usage    []string
	about    string // prose, see fillText
	Commands []*cobra.Command
	Examples string
	flags    *pflag.FlagSet // its own flags, and the flags shared with its siblings
	global   *pflag.FlagSet // the relevant global flags; nil for zkr itself, whose own flags they are
	codes    []ExitCode
}

// PageOf returns the page of a command.
func PageOf(cmd *cobra.Command) commandPage {
	p := commandPage{
		cmd: cmd, about: strings.Trim(cmd.Long, "\n"), Examples: strings.Trim(cmd.Example, "\n"),
		flags: pflag.NewFlagSet("", pflag.ContinueOnError), codes: CodesOf(cmd),
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
		p.global = relevantFlags(cmd, all)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			p.Commands = append(p.Commands, sub)
		}
	}
	if !IsCommandGroup(cmd) {
		p.Usage = append(p.Usage, cmd.UseLine())
	}
	if len(p.Commands) > 0 {
		p.Usage = append(p.Usage, cmd.CommandPath()+" COMMAND")
	}
	return p
}

// relevantFlags are the global flags that mean something to cmd: most are about servers.
func relevantFlags(cmd *cobra.Command, all *pflag.FlagSet) *pflag.FlagSet {
	if AnyBelow(cmd, TalksToServers) {
		return all
	}
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	some.AddFlag(all.Lookup("output"))
	return some
}

// sentence describes the command in one sentence.
func (p commandPage) sentence() string { return strings.TrimSuffix(p.cmd.Short, ".") + "." }

// part is a part of a page that stands under a title.
type part struct{ title, text string }

// parts are all but what the command does, in columns that fit into width.
func (p commandPage) parts(width int) (out []part) {
	var commands strings.Builder
	for _, sub := range p.Commands {
		HangText(&commands, width, 13, sub.Name(), sub.Short)
	}
	out = []part{{"Commands", commands.String()}, {"Examples", p.Examples}, {"Flags", p.flags.FlagUsagesWrapped(width)}}
	if p.global != nil {
		out = append(out, part{"Global flags", p.global.FlagUsagesWrapped(width)})
	}
	return append(out, part{"Exit codes", p.exits(width)})
}

// exits are the exit codes as a list.
func (p commandPage) exits(width int) string {
	var out strings.Builder
	for _, e := range p.codes {
		HangText(&out, width, 8, e.String(), e.Means)
	}
	if AnyBelow(p.cmd, RunsCommand) {
		out.WriteString(FillText(ExitOfCommand, width))
	}
	return out.String()
}

// ExitOfCommand is the note about exit codes for commands that run other commands.
const ExitOfCommand = "If zkr runs a command, zkr otherwise exits with the exit code of the command."

// Help is the page for a terminal.
func (p commandPage) Help(width int) string {
	var out strings.Builder
	out.WriteString(FillText(p.sentence(), width) + "\nUsage:\n  " + strings.Join(p.Usage, "\n  ") + "\n")
	if p.about != "" {
		out.WriteString("\n" + FillText(p.about, width))
	}
	for _, part := range p.parts(width) {
		if text := strings.Trim(part.text, "\n"); text != "" {
			out.WriteString("\n" + part.title + ":\n" + text + "\n")
		}
	}
	if len(p.Commands) > 0 {
		fmt.Fprintf(&out, "\n%q describes a command.\n", p.cmd.CommandPath()+" COMMAND --help")
	}
	return out.String()
}

// HangText writes a word and its meaning, which is wrapped to the right of the word.
func HangText(out io.Writer, width, indent int, word, means string) {
	lines := strings.Split(strings.TrimSuffix(FillText(means, max(width, narrowest)-indent-2), "\n"), "\n")
	fmt.Fprintf(out, "  %-*s%s\n", indent, word, lines[0])
	for _, line := range lines[1:] {
		fmt.Fprintf(out, "  %*s%s\n", indent, "", line)
	}
}

// FillText wraps prose to width. An empty line begins another paragraph; what is
// indented stays as it is.
func FillText(text string, width int) string {
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

// showHelp prints the help for --help.
func (a *App) showHelp(cmd *cobra.Command, _ []string) {
	width := UsualWidth
	if columns := terminalWidth(a.Stdout); columns > 0 {
		width = min(max(columns, narrowest), widest)
	}
	fmt.Fprint(a.Stdout, PageOf(cmd).Help(width))
}

// help is "zkr help".
func (a *App) help() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND...]",
		Short:   "Show how to use a command",
		Long:    "Shows the same help as --help.",
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
		RunE: RunE(func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(found, rest[0])
			}
			return found.Help()
		}),
	}
}
