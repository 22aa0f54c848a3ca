package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// YesFlag gives cmd the flag --yes, which answers the question of [App.Confirm].
func YesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// CheckYes is an error if --yes is missing and no question can be asked.
func (a *App) CheckYes(yes bool) error {
	if !yes && (a.JSON() || !IsTerminal(a.Stdin)) {
		return exit.Usage("--yes is missing, which is required in a script: without a terminal there is no question to answer")
	}
	return nil
}

// Confirm asks a question on the terminal, and returns an error unless the answer is yes.
func (a *App) Confirm(ctx context.Context, question string) error {
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	// Nothing waits for it after a signal, which ends this program; it ends with a line.
	go func() {
		line, _ := bufio.NewReader(a.Stdin).ReadString('\n') // an end without an answer is no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		if line == "y" || line == "yes" {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(a.Stderr)
		return context.Cause(ctx)
	}
	return &exit.Failure{Code: exit.CodeFailed, Err: errors.New("not confirmed; nothing was changed")}
}

// Within bounds a call by --connect-timeout, in a command that may wait for an answer to
// its question as long as it likes.
func Within[T any](ctx context.Context, a *App, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Flags.ConnectTimeout)
	defer cancel()
	return call(ctx)
}
