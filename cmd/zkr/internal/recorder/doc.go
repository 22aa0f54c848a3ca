// Package recorder follows the znodes of an ensemble, and records them.
//
// # How it works
//
// A Recorder follows a view of package cache, and writes what the view reports to a
// recording.Writer. Each time that a connection begins, the recorder compares all znodes with
// those recorded before: the differences happened in the gap between the two connections. The
// changes of one connection are written in batches, several a second.
//
// # What a recording has, and what it does not have
//
// Of each change that was seen, the recording has the state afterwards, with the zxid and the
// time of the servers. A state that was replaced before the recorder could read it is missing,
// and so is a znode that was created and deleted in that time. A deletion has only the moment at
// which its event came, by the clock of the recorder; a connection that hangs delays the event by
// at most two thirds of the session timeout.
//
// The session that deleted a znode is unknown. If all ephemeral znodes of a session, two at
// least, go at the same moment, the session has probably ended.
//
// Znodes that the credentials may not read are left out. The time up to which everything is
// known to have been recorded is proven by the servers' replies and pings: an idle connection
// proves itself each third of the session timeout, so a gap may begin that much earlier than
// the loss.
//
// # Memory
//
// The znodes are in memory: their paths and data, and some 600 bytes for each.
package recorder
