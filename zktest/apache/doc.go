// Package apache starts Apache ZooKeeper for tests: one server, or an ensemble
// of three or five, from jars on this machine or in Docker containers. The
// package can also use a running ensemble, named in the environment.
//
// # What it is
//
// The package is the counterpart of the in-process server of package zktest:
// the same suites run against both. [Start] returns a [Cluster] whose servers
// can be killed, started again, paused, and cut off from each other and from
// clients, one link and one direction at a time. [Require] does the same for a
// test, and is the only place of the project where a test may be skipped.
//
// # Ways to run a server
//
//   - [Jars]: a Java runtime and ZooKeeper's jars, from $ZOOKEEPER_HOME (an
//     unpacked release) or /usr/share/java (Debian's package zookeeper).
//   - [Docker]: a local daemon and an image compatible with the official image.
//     $ZKTEST_IMAGE names another image than zookeeper:3.9;
//     scripts/build-image.sh builds an image without a registry. The command
//     zktest-docker, a module of its own, runs the containers, so that this
//     package needs the standard library only. Inside a checkout of zkrecipes
//     the command is built when needed; elsewhere install it with go install
//     github.com/zkrecipes/zkrecipes/zktest/zktest-docker@latest.
//   - [Given]: $ZKTEST_SERVERS has the connect string of a running ensemble.
//     The ensemble is shared with others: its servers cannot be killed or cut.
//
// $ZKTEST_MODE (jars, docker, servers) selects a way. By default the package
// uses the first of ZKTEST_SERVERS, jars and Docker that exists.
//
// # Cut links
//
// With [Options.Cuts], every server has a network namespace of its own, and so
// an address of its own in both directions. Peers of one machine otherwise
// reach each other from 127.0.0.1, and a packet does not tell its sender. A cut
// is an iptables rule in the namespace of one server that drops packets
// silently, as a broken network does: no reset, no error. The firewall of the
// machine is not changed. Cuts need root.
//
// # Cleaning up
//
// [Cluster.Close] ends and removes everything. A small helper process, the
// guard, does the same if the test process dies before, by a panic, a test
// timeout or SIGKILL; for containers, zktest-docker does.
//
// One thing stays: the folder zktest in the user's cache folder
// ([os.UserCacheDir]) keeps the classes of a server in the form in which Java
// maps them into memory, so that the next servers start in about half of the
// time. The folder may be removed at any time.
//
// # Concurrency
//
// All methods of a Cluster may be called from several goroutines. Two calls on
// the same server run one after the other.
package apache
