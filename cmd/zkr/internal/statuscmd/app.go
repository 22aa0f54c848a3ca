// Package statuscmd has the command "zkr status".
package statuscmd

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// Command makes "zkr status".
func Command(a *cli.App) *cobra.Command { return (&app{a}).status() }
