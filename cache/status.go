package cache

import "time"

// Status says how far a view can be relied on.
type Status struct {
	// Running: Run is under way.
	Running bool
	// Connected: there is a connection to ZooKeeper. Since is when that
	// began; without one, when the last was lost, or later the session.
	Connected bool
	Since     time.Time
	// Synced: the view shows what the server shows that the client is
	// connected to; the initial load, and what had to be compared after a
	// lost connection, is done, and so are the reads that changes call for.
	Synced bool
	// Loaded: the view was synced before, at some time.
	Loaded bool
	// Exists: the view's own path exists.
	Exists bool
	// AsOf: the view shows all that the server knew at that moment, if not
	// more; zero if it was never synced. It moves on while the view is
	// synced, at least with every ping, a third of the session timeout; a
	// server that is cut off from the others may itself be behind.
	AsOf time.Time
	// Stale is the age of AsOf; of a view that was never synced, it is the
	// longest Duration.
	Stale time.Duration
	// Entries is how many there are, Pending how many reads are under way
	// or have yet to be made: progress of the initial load.
	Entries, Pending int
	// Err is why Run ended, if the view cannot go on: the client was
	// closed, or the view's own path may not be read.
	Err error
}
