// Package containers is the protocol between zktest/apache and the command
// zktest-docker: JSON-RPC over the command's stdin and stdout. The command is a
// module of its own, so users of the library do not get Docker's modules into
// their module graphs.
package containers

// Service is the name under which the command registers its methods. The number
// changes with the protocol, so an installed command of another version is
// refused by name.
const Service = "Containers2"

// Command is the name of the command, and Package its import path, for the go
// command.
const (
	Command = "zktest-docker"
	Package = "github.com/zkrecipes/zkrecipes/zktest/" + Command
)

// The methods of the service.
const (
	// Find takes the wanted images in the order of preference and replies with
	// the first that is present; if none is present, Find pulls the first.
	Find = Service + ".Find"
	// Prepare takes a Spec and creates the network and the containers; none runs
	// yet.
	Prepare = Service + ".Prepare"
	// Start, Kill, Running, PID and Log take the index of a server.
	Start   = Service + ".Start"
	Kill    = Service + ".Kill"
	Running = Service + ".Running"
	PID     = Service + ".PID"
	Log     = Service + ".Log"
	// Pause takes a Freeze.
	Pause = Service + ".Pause"
	// Remove removes everything created by Prepare. The command does the same
	// when its stdin ends.
	Remove = Service + ".Remove"
)

// Spec describes the containers of a cluster.
type Spec struct {
	// ID marks the containers and the network: label zktest=ID.
	ID    string
	Image string
	// Device, Subnet and Gateway are those of the network's bridge.
	Device, Subnet, Gateway string
	Servers                 []Server
}

// Server describes one container.
type Server struct {
	Host string   // its address in the subnet
	Env  []string // NAME=value
	// Files are put into the container's folder /data before the start.
	Files []File
}

// File is a file's name, which is relative and may have a folder, and its content.
type File struct {
	Name    string
	Content []byte
}

// Freeze says whether a server is to be paused, or to go on.
type Freeze struct {
	Server int
	On     bool
}

// None is the argument or the reply of a method without an argument or a reply.
type None struct{}
