package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// SplitLines are the words of a text, one per line.
func SplitLines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// IsText checks a flag's value.
func IsText(flag, value string) error {
	if !utf8.ValidString(value) {
		return exit.Usage("--%s is %q; it must be text", flag, value)
	}
	return nil
}

// CheckTimeout checks the --timeout of commands that wait.
func CheckTimeout(d time.Duration) error {
	if d < 0 {
		return exit.Usage("--timeout is %v; it must be 0 (no limit) or more", d)
	}
	return nil
}

// Arguments requires exactly these arguments; noun says what the first argument names.
func Arguments(noun string, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		call := cmd.CommandPath()
		for _, name := range names {
			call += " " + name
		}
		switch {
		case len(args) == len(names):
			return nil
		case len(args) == 0:
			return exit.Usage("which %s? %s", noun, call)
		case len(args) < len(names):
			return exit.Usage("%s is missing: %s", names[len(args)], call)
		}
		return exit.Usage("which %s? %q is one word too many: %s", noun, args[len(names)], call)
	}
}

// OnPath is arguments for commands whose first argument is a path.
func OnPath(noun string, more ...string) cobra.PositionalArgs {
	count := Arguments(noun, append([]string{"PATH"}, more...)...)
	return func(cmd *cobra.Command, args []string) error {
		if err := count(cmd, args); err != nil {
			return err
		}
		return CheckPath(args[0])
	}
}

// OptionalPath accepts one path or none.
func OptionalPath(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return nil
	case 1:
		return CheckPath(args[0])
	}
	return exit.Usage("%q is one word too many: %s [PATH]", args[1], cmd.CommandPath())
}

// CheckPath checks a path of a znode.
func CheckPath(path string) error {
	if err := session.ValidatePath(path); err != nil {
		return exit.Usage("%w", err)
	}
	return nil
}

// IsNodeName reports whether a znode can have that name.
func IsNodeName(name string) bool {
	return name != "" && !strings.Contains(name, "/") && session.ValidatePath("/"+name) == nil
}

// InvalidName is the error of a name, given as what, that no znode can have.
func InvalidName(what, name string) error {
	return exit.Usage("%s is %.60q; it must be a name that a znode can have: not empty, not . or .., and without slashes", what, name)
}

// mostBytes is how long the name of a resource or an instance may be.
const mostBytes = 1024

// CheckName checks a name that also becomes part of other names.
func CheckName(what, name string) error {
	switch {
	case len(name) > mostBytes:
		return exit.Usage("%s is %.60q..., of %d bytes; it must have %d at most", what, name, len(name), mostBytes)
	case !IsNodeName(name):
		return InvalidName(what, name)
	}
	return nil
}

// BeforeCommand requires the arguments names, then --, then a command. noun says what
// the first argument names.
func BeforeCommand(noun string, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n, dash := len(names), cmd.ArgsLenAtDash()
		before := len(args)
		if dash >= 0 {
			before = dash
		}
		call := cmd.CommandPath() + " "
		switch {
		case dash == n && len(args) > n:
			return nil
		case dash < 0 && asksForHelp(args):
			return pflag.ErrHelp
		case dash < 0 && before > 0 && !strings.HasPrefix(args[0], "/") && looksLikeSub(cmd, args[0]):
			return unknownCommand(cmd, args[0]) // "zkr lock lss /a"
		case before == 0:
			return exit.Usage("which %s, and which command? %s%s -- CMD [ARGS...]", noun, call, strings.Join(names, " "))
		case before < n:
			return exit.Usage("%s is missing: %s%s -- CMD [ARGS...]", names[before], call, strings.Join(names, " "))
		case dash < 0 && before > n:
			return exit.Usage("put -- between %s and the command: %s%s -- %s ...", names[n-1], call, strings.Join(args[:n], " "), args[n])
		case before > n:
			return exit.Usage("%s, then --, then the command; there are %d words before the --", countWords(n), before)
		}
		return exit.Usage("which command? %s%s -- CMD [ARGS...]", call, strings.Join(args[:n], " "))
	}
}

func countWords(n int) string {
	if n == 1 {
		return "one path"
	}
	return fmt.Sprintf("%d words", n)
}
