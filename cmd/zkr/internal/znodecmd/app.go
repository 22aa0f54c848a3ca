// Package znodecmd has the commands of "zkr tree", "zkr watch", "zkr rm" and "zkr keep".
package znodecmd

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// TreeCommand makes "zkr tree".
func TreeCommand(a *cli.App) *cobra.Command { return (&app{a}).tree() }

// WatchCommand makes "zkr watch".
func WatchCommand(a *cli.App) *cobra.Command { return (&app{a}).watch() }

// RemoveCommand makes "zkr rm".
func RemoveCommand(a *cli.App) *cobra.Command { return (&app{a}).rm() }

// KeepCommand makes "zkr keep".
func KeepCommand(a *cli.App) *cobra.Command { return (&app{a}).keep() }
