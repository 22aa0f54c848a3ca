// Package democmd has the commands of "zkr demo".
package democmd

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// Command makes "zkr demo".
func Command(a *cli.App) *cobra.Command { return (&app{a}).demo() }

// WorkerCommand makes the hidden command of a worker of "zkr demo".
func WorkerCommand(a *cli.App) *cobra.Command { return (&app{a}).demoWorker() }
