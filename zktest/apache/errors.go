package apache

import "errors"

var (
	// ErrUnavailable is returned if Apache ZooKeeper cannot be run here with the
	// given options. The wrapping error names the missing part.
	ErrUnavailable = errors.New("no Apache ZooKeeper available")

	// ErrNotOurs is the error of Kill, Pause and the like on a Given ensemble.
	ErrNotOurs = errors.New("the server was not started by this package")

	// ErrNoCuts is the error of the methods for cutting links on a cluster
	// without Options.Cuts.
	ErrNoCuts = errors.New("started without Options.Cuts")

	// ErrNoServer is returned if the cluster has no server with the given index.
	ErrNoServer = errors.New("no such server")

	// ErrNotServing is returned if a server does not answer, or does not serve
	// clients, for instance without a quorum.
	ErrNotServing = errors.New("not serving")
)

// mustBeStarted panics if no call of Start or Require has made the cluster.
func (c *Cluster) mustBeStarted() {
	if c == nil || c.rules == nil {
		panic("apache: the cluster was not started: make it with apache.Start or apache.Require")
	}
}

// mustBeMade panics if the client is nil.
func (cl *Client) mustBeMade() {
	if cl == nil {
		panic("apache: the client is nil: get one from Cluster.Client")
	}
}
