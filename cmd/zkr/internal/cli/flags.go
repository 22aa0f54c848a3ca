package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// flagKinds are what the values of flags must be.
//
// read only
var flagKinds = map[string]string{
	"bool":     "true or false",
	"duration": "a time such as 500ms, 10s, 5m or 2h",
	"int":      "a whole number",
	"intSlice": "whole numbers with commas between them",
}

// flagError says what is wrong with a command line's flags, and what to do.
func flagError(cmd *cobra.Command, err error) error {
	words := cmd.Flags().Args() // the words before the flag
	if cmd.HasAvailableSubCommands() && len(ArgumentNames(cmd)) == 0 && len(words) > 0 {
		return unknownCommand(cmd, words[0]) // the flag may be one of that command
	}
	f := &exit.Failure{Code: exit.CodeUsage, Err: err, Hint: fmt.Sprintf("%q lists the flags", cmd.CommandPath()+" --help")}
	var bad *pflag.InvalidValueError
	var none *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var odd *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &empty):
		value, _ := pflag.UnquoteUsage(empty.GetFlag())
		f.Err = fmt.Errorf("%s needs a value: %s", dashed(empty.GetSpecifiedName()), OrElse(flagKinds[empty.GetFlag().Value.Type()], value))
	case errors.As(err, &odd):
		f.Err = fmt.Errorf("%s is not a flag", odd.GetSpecifiedFlag())
	case errors.As(err, &bad):
		f.Err = badValue(flagName(bad.GetFlag()), bad)
	case errors.As(err, &none):
		f.Err = fmt.Errorf("there is no flag %s", dashed(none.GetSpecifiedName()))
		like := flagsLike(cmd, none.GetSpecifiedName())
		switch {
		case len(like) > 0:
			f.Hint = didYouMean(like)
		case RunsCommand(cmd) && len(words) >= len(ArgumentNames(cmd)):
			f.Hint = "flags of the command belong after --: " + cmd.UseLine()
		}
	}
	return f
}

// badValue says what a flag, or the variable that stands for it, must be.
func badValue(name string, bad *pflag.InvalidValueError) error {
	if kind, ok := flagKinds[bad.GetFlag().Value.Type()]; ok {
		return exit.Usage("%s is %q; it must be %s", name, bad.GetValue(), kind)
	}
	return exit.Usage("%s is %q: %w", name, bad.GetValue(), bad.Unwrap())
}

func flagName(f *pflag.Flag) string { return dashed(f.Name) }

// dashed is a flag as it is written.
func dashed(name string) string {
	if len([]rune(name)) == 1 {
		return "-" + name
	}
	return "--" + name
}

// flagsLike are the flags similar to name: flags that begin with name, or differ in one
// letter of three, and in two letters at most. Cobra finds similar commands itself.
func flagsLike(cmd *cobra.Command, name string) []string {
	if len(name) < 2 {
		return nil
	}
	names := &cobra.Command{SuggestionsMinimumDistance: min((len(name)+1)/3, 2)}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	like := names.SuggestionsFor(name)
	for i := range like {
		like[i] = dashed(like[i])
	}
	return like
}

// wantsJSON reports whether a command line asks for JSON, also one that cannot be
// read.
func (a *App) wantsJSON(args []string) bool {
	format := a.Getenv("ZKR_OUTPUT")
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return format == "json"
		case name != "-o" && name != "--output":
			if short, ok := strings.CutPrefix(arg, "-o"); ok {
				format = short
			}
		case given:
			format = value
		case i+1 < len(args):
			format = args[i+1]
		}
	}
	return format == "json"
}
