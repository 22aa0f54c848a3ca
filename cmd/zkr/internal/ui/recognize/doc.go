// Package recognize tells what znodes are: locks, elections, barriers, counters,
// services, jobs, and who holds, waits and is there. It is pure: [Look] makes a
// [World] of nodes, what was seen before, and the time, and does nothing else.
//
// A thing is told by its layout (docs/layout.md, docs/workerctl.md), that of this
// module, of Curator, Kazoo, go-zookeeper or ZooKeeper's own recipes, and
// [Thing.How] says by what. Nothing in ZooKeeper says what a znode is for. Where
// two recipes have one layout, or a name or a number is all that there is,
// [Thing.Guess] says so; where not even these are there it is a plain znode: a
// number is a counter's if something else hints at one, an empty leaf a gate if it
// is called so, and any other a port, a flag, a password.
//
// # What looks wrong
//
// A [Problem] is something that does not go away by itself, or is about to hurt:
//
//   - a contender that is no ephemeral znode: no end of a session removes it;
//   - two contenders of one session and one protection id, both there for a while: a
//     creation was repeated after its answer was lost, and nobody knows of one of
//     them;
//   - a contender that has held for long while others wait, and whose session has
//     nothing else: perhaps nobody knows that it is there (a hint only: some locks
//     are held for long on purpose);
//   - numbers that do not tell any more who came first, or soon will not;
//   - records that cannot be read, sizes that fit no format, layouts that must not
//     be mixed, workers that have failed, what is left behind by somebody who died.
//
// Nodes are read one after the other, so a world is not a snapshot of one moment. A
// problem that consists in a missing node is reported when the other nodes have been
// there for a while, and never for nodes that may not be read.
//
// Foreign data is never passed on as it is: see [Text].
package recognize
