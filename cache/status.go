package cache

import "time"

// Status says how reliable a view is at the moment.
type Status struct {
	// Running: Run is running.
	Running bool
	// Connected: the client is connected to ZooKeeper. Since is the beginning of
	// the connection; without a connection, the time at which the last
	// connection, or later the session, was lost.
	Connected bool
	Since     time.Time
	// Synced: the view equals the tree of the connected server. The initial load, the
	// comparison after a lost connection, and the reads after changes are done.
	Synced bool
	// ReadOnly: the view is synced with a server without a quorum
	// (session.Options.ReadOnly), which may itself be behind by any time. AsOf then stays
	// where it was.
	ReadOnly bool
	// Loaded: the view has been synced at some time.
	Loaded bool
	// Exists: the view's own path exists.
	Exists bool
	// AsOf: the view shows everything that the server knew at that moment, and
	// possibly more; zero if the view was never synced with a server that has a quorum.
	// AsOf advances while the view is synced, at least with every ping, a third of the
	// session timeout. A server that is cut off from the others may itself be behind.
	AsOf time.Time
	// Stale is the age of AsOf; the longest Duration while AsOf is zero.
	Stale time.Duration
	// Entries is the number of entries. Pending is the number of reads in flight
	// or still to be sent: the progress of the initial load.
	Entries, Pending int
	// Err is the error that ended Run, if the view cannot continue: the client
	// was closed, or the view's own path may not be read.
	Err error
}
