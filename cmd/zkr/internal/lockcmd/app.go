// Package lockcmd has the commands of "zkr lock".
package lockcmd

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// Command makes "zkr lock".
func Command(a *cli.App) *cobra.Command { return (&app{a}).lock() }
