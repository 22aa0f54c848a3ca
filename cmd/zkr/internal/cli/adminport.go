package cli

import (
	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// mostPort is the last port.
const mostPort = 65535

// AdminPortFlag gives cmd the flag --admin-port, with a default.
func AdminPortFlag(cmd *cobra.Command, port *int, preset int) {
	cmd.Flags().IntVar(port, "admin-port", preset, "port of the servers' admin servers (HTTP), which tell settings that no four-letter word does; 0 asks none")
}

// CheckAdminPort is an error for a port that does not exist.
func CheckAdminPort(port int) error {
	if port < 0 || port > mostPort {
		return exit.Usage("--admin-port is %d; it must be from 0 to %d", port, mostPort)
	}
	return nil
}
