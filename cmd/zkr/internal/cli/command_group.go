package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// CommandGroup is a command that only has subcommands.
func CommandGroup(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return nil
		case asksForHelp(args):
			return pflag.ErrHelp
		}
		return unknownCommand(cmd, args[0])
	}
	cmd.RunE = RunE(func(cmd *cobra.Command, _ []string) error {
		return missingCommand(cmd) // no command has run: "&&" must not continue
	})
	cmd.AddCommand(members...)
	return cmd
}

// IsCommandGroup reports whether cmd is a command group: cmd has subcommands, and no
// arguments of its own.
func IsCommandGroup(cmd *cobra.Command) bool {
	return cmd.HasAvailableSubCommands() && !strings.Contains(cmd.Use, " ") && cmd.Name() != "demo"
}

// asksForHelp reports whether a command was called in the form "zkr lock help".
func asksForHelp(args []string) bool { return len(args) == 1 && args[0] == "help" }

// missingCommand is the error for a command group that was called without a subcommand.
func missingCommand(cmd *cobra.Command) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return &exit.Failure{
		Code: exit.CodeUsage, Err: fmt.Errorf("%s needs one of its commands: %s", cmd.CommandPath(), strings.Join(names, ", ")),
		Hint: fmt.Sprintf("%q describes the commands", cmd.CommandPath()+" --help"),
	}
}

// unknownCommand is the error for a subcommand that cmd does not have.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := fmt.Sprintf("%q lists the commands", cmd.CommandPath()+" --help")
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(name); len(like) > 0 {
		hint = didYouMean(like)
	}
	return &exit.Failure{Code: exit.CodeUsage, Err: fmt.Errorf("%s has no command %q", cmd.CommandPath(), name), Hint: hint}
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
		return unknownCommand(cmd, args[0])
	}
	return exit.Usage("%q is one word too many: %s", args[0], cmd.CommandPath())
}

// OneOf lets shells complete a flag that is one of some words.
func OneOf(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}
