// Package history tells who held, awaited or belonged to what, and when, from the
// transaction logs and snapshots of ZooKeeper's servers.
//
// # How it works
//
// A Reader has the znodes at and below one path, as they were after each transaction, and
// recognizes in them what package recognize knows. A Stay is the time that a client is in a
// thing: in the queue of a lock, in a group, in a job. A change of the things begins, grants
// or ends stays, at the time and zxid of the transaction that made the change.
//
// # What a log tells, and what it does not tell
//
// The order of transactions and their zxids are exact. Times are those of the leader's clock
// of the moment, in milliseconds; two leaders may disagree.
//
// A session that ended is either closed by its client, or expired by the leader: only the
// client's request has a number (cxid).
//
// The moments in which clients read, watched, connected again, or believed something are in no
// log. A znode that was created and removed between two states of a snapshot that was being
// written is not seen.
//
// # The beginning
//
// The first state comes from a snapshot, unless the logs begin with the first transaction of
// the ensemble. A snapshot contains later transactions, so the first state is that of
// Snapshot.End. A hold of that state was granted before; Stay.Granted is nil, and Stay.Before
// true.
//
// # Any moment
//
// An Archive finds the state of any moment again. Its first reading keeps checkpoints: what has
// changed in the znodes, and in the stays that last, since the checkpoint before. A checkpoint
// has the whole state when those since the last whole one would have as much, so that a look
// unpacks two states at most. The checkpoints are compressed. Beside the first one they take
// 256 MiB at most; when they take more, every second one is left to its neighbors. A look
// restores the checkpoint before the moment, and reads the transactions behind it.
//
// Of a log of 10 million transactions of 2,000 locks, with 6,000 contenders, a Reader tells all
// stays in 41 s and 61 MiB, and the first reading of an Archive takes 59 s and 650 MiB, on two
// cores. A look then takes 0.2 to 0.5 s. Of 200,000 transactions, a look takes some 0.2 s, and
// 1 s with 20,000 locks; most of it is the recognition of all znodes (BenchmarkArchive).
//
// Nearly all transactions of such a log are contenders that come and go. A queue without
// oddities is therefore followed contender by contender (recognize.Line), and recognized again
// when something else changes that may matter for it. Other recipes are recognized for each
// change, which takes 20 to 50 microseconds.
//
// A Mark names a state: by a zxid, because several transactions share a millisecond, and clocks
// may go back; in a recording, which has no order of zxids, by a time and the number of changes
// of that time.
//
// Where transactions are missing in the logs, all later states are doubtful, because what the
// transactions changed is unknown. A recording goes on with a whole state.
//
// # Recordings
//
// A recording (package recording) has what a client saw. The entry of a client has the time
// and zxid of the creation of its znode, as in a log. Ends and later grants have the time at
// which the recorder saw them, by its own clock, and no zxid. A recording does not tell by
// which session a znode was removed: a stay has the end Gone, or GoneWithSession if the session
// has probably ended. A stay that came and went between two reads is missing.
//
// A hold that an operator broke has the end Broken if its record is in the recording. The
// record and the end of the hold are seen apart, in any order, so the reader looks for a record
// of the same token and session that was seen at about the same time.
//
// After servers were restored from a backup, or recreated, a znode counts as the same only if
// both its czxid and its time of creation are the same: a hold never goes on with another token.
package history
