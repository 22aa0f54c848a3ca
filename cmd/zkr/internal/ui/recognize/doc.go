// Package recognize recognizes what znodes are: locks, elections, barriers,
// counters, services and jobs, with their holders, waiters and members. The
// package is pure: [Look] makes a [World] from nodes, earlier observations and
// the time.
//
// A thing is recognized by its layout (docs/layout.md, docs/workerctl.md): the
// layouts of this module, of Curator, Kazoo, go-zookeeper and ZooKeeper's own
// recipes. [Thing.How] names the layout and the sign. ZooKeeper does not store
// the purpose of a znode. If two recipes share a layout, or only a name or a
// number is available, [Thing.Guess] says so. Without any of these, a znode is
// plain: a number is a counter only with another hint, and an empty leaf is a
// gate only by its name. Otherwise they may be a port, a flag or a password.
//
// # What looks wrong
//
// A [Problem] is a state that does not end by itself, or will soon cause
// damage:
//
//   - a contender whose znode is not ephemeral: the end of a session does not
//     remove the znode;
//   - two contenders of one session and one protection id, both there for a
//     while: a creation was repeated after its answer was lost, and one of the
//     znodes is unknown to its client;
//   - a contender that has held for long while others wait, and whose session
//     has nothing else: its client may not know of the znode (a hint only: some
//     locks are held for long on purpose);
//   - numbers that do not show the order of arrival any more, or soon will not;
//   - unreadable records, sizes that fit no format, layouts that must not be
//     mixed, failed workers, remains of dead clients.
//
// Nodes are read one after the other, so a world is not a snapshot of one
// moment. A missing node is reported as a problem when the other nodes have
// existed for a while, and never if nodes are unreadable.
//
// Foreign data is never passed on unchanged: see [Text].
package recognize
