// Package recorder follows the znodes of an ensemble, and records them.
//
// # How it works
//
// A Recorder follows a view of package cache, and writes what the view reports to a
// recording.Writer. Each time that a connection begins, the recorder compares all znodes with
// those recorded before: the differences happened in the gap between the two connections. The
// changes of one connection are written in batches, several a second. A change has the time at
// which its event came, however long it then waits for the disk.
//
// # Gaps
//
// A gap of the recording has two moments and a reason. These are gaps:
//
//   - The connection was lost. The reason also tells that the servers went back to an older
//     state (restored from a backup, or recreated), if a znode is older than before or the
//     servers refused the session for good.
//   - The process was stopped for five seconds or more, as by SIGSTOP, or with its machine. After
//     a pause of one second or more, changes have the two moments of a gap, without its record.
//   - The disk was full: the recorder tries every ten seconds to begin a file. Any other error of
//     the disk ends the recorder.
//   - The file was deleted, replaced or shortened, or its folder was deleted: what was in the
//     file is lost, so the gap begins with the file.
//   - Changes came faster than they could be written, for long.
//   - The recorder did not run.
//
// # The clock
//
// Times are those of the machine's clock, but they never go back: if the machine's clock is set
// back, or is behind the end of an earlier recording, the recorder's clock runs at half speed
// until the machine's has caught up, and the recording has a record of that.
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
// The znodes are in memory: their paths and data, and some 600 bytes for each (BenchmarkMemory
// measures 570 with 100,000 znodes, and 590 to 630 with 20,000), and a second recording.Znode, of
// 112 bytes, once a znode has changed. Changes that wait for a slow disk take Options.MaxWaiting
// at most, 64 MiB by default: each is counted with its path, its data and 700 bytes, which is
// more than it takes (TestEntriesAreCountedInFull). If more wait, they are dropped, and the
// recording has a gap. The differences after a gap are in memory, too, while they are written.
package recorder
