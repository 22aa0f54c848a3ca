// Package exportercmd has the command "zkr exporter".
package exportercmd

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// Command makes "zkr exporter".
func Command(a *cli.App) *cobra.Command { return (&app{a}).exporter() }
