// Package apache starts Apache ZooKeeper for tests: one server or an ensemble
// of three or five, from jars on this machine or in Docker containers, or uses
// a running one that the environment names.
//
// # What it is
//
// The counterpart of the in-process server of package zktest: the same suites
// run against both. [Start] returns a [Cluster] whose servers can be killed,
// started again, paused, and cut off from each other and from clients, one
// link and one direction at a time. [Require] does the same for a test, and is
// the only place of the project where a test may be skipped.
//
// # Ways to run a server
//
//   - [Jars]: a Java runtime and ZooKeeper's jars, from $ZOOKEEPER_HOME (an
//     unpacked release) or /usr/share/java (Debian's package zookeeper).
//   - [Docker]: a local daemon and an image that is used like the official one.
//     $ZKTEST_IMAGE names another image than zookeeper:3.9;
//     scripts/build-image.sh builds one without a registry.
//   - [Given]: $ZKTEST_SERVERS holds the connect string of a running ensemble.
//     It is shared and not ours: it cannot be killed or cut.
//
// $ZKTEST_MODE (jars, docker, servers) chooses; otherwise the first of
// ZKTEST_SERVERS, jars, Docker that is there.
//
// # Cut links
//
// With [Options.Cuts] every server has a network namespace of its own, and so
// an address of its own in both directions: peers of one machine otherwise
// reach each other from 127.0.0.1, and no packet tells who sent it. A cut is
// an iptables rule in the namespace of one server that drops packets silently,
// as a broken network does: no reset, no error. Nothing is changed in the
// firewall of the machine. This needs root.
//
// # Cleaning up
//
// [Cluster.Close] ends and removes everything. A small helper process, the
// guard, does the same when the test process dies before that, by a panic, a
// test timeout or SIGKILL.
//
// One thing stays: the folder zktest in the user's cache folder ([os.UserCacheDir])
// keeps the classes of a server in the form in which Java maps them into memory,
// which makes the next servers start in about half of the time. It may be
// removed at any time.
//
// # Concurrency
//
// All methods of a Cluster may be called from several goroutines. Two calls on
// the same server run one after the other.
package apache
