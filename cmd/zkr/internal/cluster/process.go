package cluster

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"time"
)

// Spawn prepares a node's process. The first line of its output must be its
// address: [Ready] as JSON.
type Spawn func(name, listen, servers string) *exec.Cmd

// Ready is the first output of a node.
type Ready struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	PID     int    `json:"pid"`
}

// The states of a process.
const (
	starting = "starting"
	running  = "running"
	frozen   = "frozen"
	exited   = "exited"
)

// Process is a node's process on this machine.
type Process struct {
	Name    string    `json:"name"`
	PID     int       `json:"pid"`
	State   string    `json:"state"` // starting, running, frozen, exited
	Cut     bool      `json:"cut"`   // off from ZooKeeper
	Address string    `json:"address"`
	Since   time.Time `json:"since"`
	Exit    string    `json:"exit,omitempty"`
}

var (
	errUnknownNode = errors.New("no such node on this machine")
	errNotNow      = errors.New("the state of the node does not allow this order")
	errNoFreeze    = errors.New("processes cannot be frozen on this system, which has no SIGSTOP")
	errOrder       = errors.New("no such order")
	errCrewOver    = errors.New("the demonstration is over")
)

// MaxNodes is how many processes a crew may have.
const MaxNodes = 16

var errTooMany = fmt.Errorf("there are %d nodes already", MaxNodes)

// listenAddress is the address for a node: with its port, if free.
func listenAddress(port int) string {
	wanted := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l, err := net.Listen("tcp", wanted)
	if err != nil {
		return "127.0.0.1:0"
	}
	_ = l.Close()
	return wanted
}
