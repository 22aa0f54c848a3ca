package ui

import "time"

// Health is how far a view can be relied on.
type Health struct {
	// Loaded: the whole tree was read at some time. Entries and Pending show the
	// progress before.
	Loaded           bool
	Entries, Pending int
	// Away: the rest of the tree cannot be read, because there is no connection.
	Away bool
	// Stale: the view may be old, because ZooKeeper is away or does not answer.
	// AsOf is the time of the view then.
	Stale  bool
	AsOf   time.Time
	Server string
	// ReadOnly is the server without a quorum whose state a stale view shows, if it does.
	// AsOf is when a server with a quorum was last heard, or the beginning of the view.
	ReadOnly string
}

// health tells how far the tree can be relied on. Times that grow all the time
// are left out where irrelevant.
func (m *Model) health() Health {
	st, state := m.tree.Status(), m.client.State()
	h := Health{Loaded: st.Loaded, Server: state.Server}
	if !st.Loaded {
		h.Entries, h.Pending, h.Away = st.Entries, st.Pending, !st.Connected && state.ReadOnly == ""
		return h
	}
	// A healthy connection proves itself with each ping.
	if h.Stale = !st.Connected || st.Stale > m.patience; h.Stale {
		h.AsOf = st.AsOf.Truncate(time.Millisecond)
		if st.ReadOnly {
			h.ReadOnly = state.ReadOnly
		}
		if h.AsOf.IsZero() {
			h.AsOf = state.Since.Truncate(time.Millisecond)
		}
	}
	return h
}
