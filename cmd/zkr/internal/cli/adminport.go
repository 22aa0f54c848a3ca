package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

// mostPort is the last port.
const mostPort = 65535

// port is the value of a flag.
type port int

func (p *port) String() string { return strconv.Itoa(int(*p)) }

// Set reads a port, or 0.
func (p *port) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > mostPort {
		return fmt.Errorf("it must be from 0 to %d", mostPort)
	}
	*p = port(n)
	return nil
}

// Type names the kind of value in help texts.
func (p *port) Type() string { return "port" }

// AdminPortFlag gives cmd the flag --admin-port, with a default.
func AdminPortFlag(cmd *cobra.Command, to *int, preset int) {
	*to = preset
	cmd.Flags().Var((*port)(to), "admin-port", "port of the servers' admin servers (HTTP), which tell settings that no four-letter word does; 0 asks none")
}
