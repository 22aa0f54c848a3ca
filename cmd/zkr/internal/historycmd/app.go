// Package historycmd has the command "zkr history".
package historycmd

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// Command makes "zkr history".
func Command(a *cli.App) *cobra.Command { return (&app{a}).history() }
