package cli

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/session"
)

// CompleteLimit is how long a completion, after Tab, waits for servers.
const CompleteLimit = time.Second

// completer finds out what an argument may be.
type completer = cobra.CompletionFunc

// ArgumentNames are the names of a command's arguments, as its usage has them, without those
// of the command that it runs. An argument that may be repeated ends with "...".
func ArgumentNames(cmd *cobra.Command) (out []string) {
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if word = strings.Trim(word, "[]"); word == "flags" || strings.HasPrefix(word, "-") {
			break
		}
		out = append(out, word)
	}
	return out
}

// completes lets shells complete the arguments and flags of cmd and of all below it:
// paths of znodes, if servers answer soon enough, and names of files only for arguments
// that are files.
func (a *App) completes(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			names := ArgumentNames(cmd)
			switch {
			case len(args) < len(names) && isPath(names[len(args)]):
				return a.completePath(cmd, args, begun)
			case len(args) >= len(names) && RunsCommand(cmd):
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch value, _ := pflag.UnquoteUsage(f); {
		case value == "file" || value == "[NAME=]DIR" || f.Name == "help":
		case value == "folder":
			_ = cmd.MarkFlagDirname(f.Name) // the flag exists
		case f.Name == "base" || f.Name == "root":
			_ = cmd.RegisterFlagCompletionFunc(f.Name, a.completePath) // the flag exists
		default:
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions) // an error: it has one already
		}
	})
	for _, sub := range cmd.Commands() {
		a.completes(sub)
	}
}

// isPath reports whether an argument of that name is a path.
func isPath(noun string) bool { return noun == "PATH" || noun == "QUEUE" || noun == "GROUP" }

// completePath completes the path of a znode by one name.
func (a *App) completePath(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	parent, last := "/", begun
	if slash := strings.LastIndexByte(begun, '/'); slash >= 0 {
		parent, last = begun[:slash+1], begun[slash+1:]
	}
	if !strings.HasPrefix(begun, "/") && begun != "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	a.runForCompletion(cmd, func(ctx context.Context, client *session.Client) error {
		s, err := client.Session(ctx)
		if err != nil {
			return err
		}
		seen, err := s.StartChildren(OrElse(strings.TrimSuffix(parent, "/"), "/"), false).Wait(ctx)
		for _, name := range seen.Children {
			if strings.HasPrefix(name, last) && isWord(name) {
				out = append(out, parent+name)
			}
		}
		return err
	})
	slices.Sort(out)
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteNames completes an argument that is one of some names; find finds them.
func (a *App) CompleteNames(find func(context.Context, *session.Client) ([]string, error)) completer {
	return func(cmd *cobra.Command, args []string, begun string) (out []string, _ cobra.ShellCompDirective) {
		if len(args) >= len(ArgumentNames(cmd)) {
			if RunsCommand(cmd) {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.runForCompletion(cmd, func(ctx context.Context, client *session.Client) error {
			names, err := find(ctx, client)
			for _, name := range names {
				if strings.HasPrefix(name, begun) && isWord(name) {
					out = append(out, name)
				}
			}
			return err
		})
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// runForCompletion runs a short request for a completion. Errors are dropped: a completion has no
// place to show them.
func (a *App) runForCompletion(cmd *cobra.Command, do Action) {
	if a.fromEnvironment(cmd) != nil {
		return
	}
	o, err := a.Options()
	if err != nil {
		return
	}
	o.Logger = nil // --verbose would write between the lines
	ctx, cancel := context.WithTimeout(cmd.Context(), a.CompletionLimit)
	defer cancel()
	client, err := a.Connect(ctx, o)
	if err != nil {
		return
	}
	defer func() { _ = CloseClient(ctx, client) }()
	_ = do(ctx, client) // some of the answers are better than none
}

// isWord reports whether a shell takes name as one word, and shows it as it is.
func isWord(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || unicode.IsSpace(r) || strings.ContainsRune("`$\\'\"|&;<>()*?[]{}!~#", r)
	})
}

// completionExamples says how each shell reads what "zkr completion" prints.
func completionExamples(completion *cobra.Command) {
	completion.Example = "  source <(zkr completion bash)"
	lines := map[string]string{
		"bash": "source <(zkr completion bash)", "zsh": "source <(zkr completion zsh)",
		"fish": "zkr completion fish | source", "powershell": "zkr completion powershell | Out-String | Invoke-Expression",
	}
	for _, shell := range completion.Commands() {
		shell.Example = "  " + lines[shell.Name()]
	}
}
