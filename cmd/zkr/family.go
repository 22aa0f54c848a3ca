package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// family is a command that only has subcommands.
func family(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return nil
		case asksForHelp(args):
			return pflag.ErrHelp
		}
		return noCommand(cmd, args[0])
	}
	cmd.RunE = does(func(cmd *cobra.Command, _ []string) error {
		return whichCommand(cmd) // what was to be done was not, and "&&" must not go on
	})
	cmd.AddCommand(members...)
	return cmd
}

// isFamily reports whether cmd is one: it has subcommands, and no arguments of
// its own.
func isFamily(cmd *cobra.Command) bool {
	return cmd.HasAvailableSubCommands() && !strings.Contains(cmd.Use, " ") && cmd.Name() != "demo"
}

// asksForHelp reports whether somebody has called a command as "zkr lock help".
func asksForHelp(args []string) bool { return len(args) == 1 && args[0] == "help" }

// whichCommand is the error of somebody who has called a family by its own name.
func whichCommand(cmd *cobra.Command) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return &failure{
		code: exitUsage, err: fmt.Errorf("%s needs one of its commands: %s", cmd.CommandPath(), strings.Join(names, ", ")),
		hint: fmt.Sprintf("%q says what they do", cmd.CommandPath()+" --help"),
	}
}

// noCommand is the error of somebody who has called cmd with the name of a
// subcommand that there is not.
func noCommand(cmd *cobra.Command, name string) error {
	hint := fmt.Sprintf("%q lists what there is", cmd.CommandPath()+" --help")
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(name); len(like) > 0 {
		hint = didYouMean(like)
	}
	return &failure{code: exitUsage, err: fmt.Errorf("%s has no command %q", cmd.CommandPath(), name), hint: hint}
}

// looksLikeSub reports whether name is almost that of a subcommand.
func looksLikeSub(cmd *cobra.Command, name string) bool {
	cmd.SuggestionsMinimumDistance = 1
	return cmd.HasAvailableSubCommands() && len(cmd.SuggestionsFor(name)) > 0
}

func didYouMean(like []string) string {
	return fmt.Sprintf("did you mean %s?", strings.Join(like, " or "))
}

// noArguments is for commands that have none.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return noCommand(cmd, args[0])
	}
	return usage("%q is one word too many: %s", args[0], cmd.CommandPath())
}

// oneOf lets shells complete a flag that is one of some words.
func oneOf(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}
