// Package txnlog reads the transaction logs and the snapshots of ZooKeeper's
// servers: what was written, in which order, by which session, and when.
//
// # What it is
//
// A [Reader] reads one transaction log, and a [Snapshot] one snapshot. A [Folder]
// has the files of one server, and [Folder.Transactions] reads all of its logs as one
// sequence. A [Merge] reads the logs of several servers of an ensemble as one
// sequence, and reports where the servers disagree.
//
// The package only reads: the files may be those of a running server, or a copy. No
// server is asked.
//
// # Guarantees
//
//   - A transaction is returned only if its record is whole and its checksum is
//     right, and in the order of zxids, each once.
//   - Nothing is left out silently: damage, gaps and disagreements are findings, with
//     the file and the offset. A cut or changed byte is found, except in the database
//     id of a file's header, and except at the end of the last log: a log does not
//     tell how far it should reach, and a last record without its end passes for half
//     written.
//   - The memory in use does not grow with the number of transactions: a buffer for
//     the largest record, a few MiB for comparisons, and the transactions held back
//     behind a gap. Usually the paths of a transaction are the only allocations.
//
// The znodes of a snapshot are known to be right only when [Snapshot.Next] has
// returned io.EOF, because the checksum is at the end of the file.
//
// # Running servers
//
// A server preallocates a log with zeros and appends to it; the file may also grow
// without zeros. The zeros, the end of the file and a half-written record are the end
// so far: Next returns io.EOF, and returns more when it is called later. A
// half-written record in front of complete records is damage, and so are zeros in
// front of data. A half-written record at the end of a log with a successor is a
// finding of its own kind, and usual after a crash.
//
// A server begins a new log after a restart, for each snapshot, and at a size limit
// (txnLogSizeLimitInKb). The name has the zxid of the first transaction.
//
// Within one server's logs, zxids do not always grow. A follower that is being
// synchronized logs the transactions of its synchronization and those that arrive
// meanwhile in turn: in one file, or in two files whose ranges overlap (seen with
// 3.8.0), and possibly twice. Behind a gap, [Transactions] therefore holds
// transactions back, up to 65,536 or 64 MiB, until the missing ones are found, and
// returns all in order. At the end so far Next does not wait: the transactions behind
// the gap are returned, and a late one is a finding. A transaction that is read again
// with the same content is left out and counted. A different content is a conflict;
// the first one read is returned, and a server that restarts applies both.
//
// A log may end with transactions that no quorum has. A leader that does not know
// them lets the server truncate its log, and the server deletes the later logs. A
// reader that has read such transactions reports the log as rewritten.
//
// # Zxids
//
// The zxids of one epoch have no gaps: servers log also what fails. A change of the
// epoch is no gap, but what an epoch has at its end can be compared between servers
// only. A server that was away for long gets a snapshot instead of transactions, and
// writes the snapshot to a file: a finding names the file if the file still exists.
// Mixed versions or different settings of digests and of closeSessionTxn.enabled can
// make the records of one transaction differ between servers; digests are not
// compared for this reason.
//
// # Snapshots are fuzzy
//
// A server writes a snapshot while it applies transactions. The snapshot has all
// transactions up to the zxid in its name, and for each znode possibly later ones, up
// to [Snapshot.End]. Reading the transactions from that zxid on and applying them on
// top gives the exact state after each transaction from End on, because the
// operations are idempotent: a change has the resulting version, a znode that exists
// is not created, and a znode that does not exist is not deleted. States before End
// need an earlier snapshot.
//
// # Sources of the formats
//
// Facts about the formats come from Apache ZooKeeper 3.5 to 3.9: the classes
// FileTxnLog, FileSnap, SnapStream, FilePadding and Util of
// org.apache.zookeeper.server.persistence, SerializeUtils, DataTree, DataNode,
// ReferenceCountedACLCache and EphemeralType of org.apache.zookeeper.server, and
// zookeeper.jute. Versions differ in four places: since 3.6 a record may end with a
// TxnDigest, a closed session may list its paths (CloseSessionTxn), snapshots may be
// compressed, and a digest may follow a snapshot's tree; since 3.9 a last zxid may
// follow the digest. The framing of compressed snapshots is that of the class
// SnappyOutputStream of snappy-java 1.1, and not snappy's own.
//
// # Limits
//
// Permissions are skipped. Records above 256 MiB count as damage. A record whose
// length is damaged is skipped only if the next transaction follows within 4 MiB;
// otherwise the rest of the file is left out, and the finding says so. Contents are
// compared with those of the last 65,536 transactions.
package txnlog
