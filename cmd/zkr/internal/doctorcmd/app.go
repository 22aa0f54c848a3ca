// Package doctorcmd has the command "zkr doctor".
package doctorcmd

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// Command makes "zkr doctor".
func Command(a *cli.App) *cobra.Command { return (&app{a}).doctor() }
