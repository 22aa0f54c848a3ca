package apache

import "errors"

var (
	// ErrUnavailable says that no Apache ZooKeeper can be run here with the
	// given options. The error that wraps it says what is missing.
	ErrUnavailable = errors.New("no Apache ZooKeeper available")

	// ErrNotOurs is the answer of Kill, Pause and the like on a running
	// ensemble that was given, not started.
	ErrNotOurs = errors.New("the server was not started by this package")

	// ErrNoCuts is the answer of the methods that cut links when the cluster
	// was started without Options.Cuts.
	ErrNoCuts = errors.New("started without Options.Cuts")

	// ErrNoServer says that an index names no server of the cluster.
	ErrNoServer = errors.New("no such server")

	// ErrNotServing says that a server does not answer, or answers that it
	// serves nobody, as one without a quorum does.
	ErrNotServing = errors.New("not serving")
)
