// Package recordcmd has the command "zkr record".
package recordcmd

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// Command makes "zkr record".
func Command(a *cli.App) *cobra.Command { return (&app{a}).record() }
