// Package discoverycmd has the commands of "zkr members" and "zkr service".
package discoverycmd

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// MembersCommand makes "zkr members".
func MembersCommand(a *cli.App) *cobra.Command { return (&app{a}).members() }

// ServiceCommand makes "zkr service".
func ServiceCommand(a *cli.App) *cobra.Command { return (&app{a}).service() }
