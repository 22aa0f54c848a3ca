// Command bench runs the workloads of docs/performance.md with this project's
// recipes and with other libraries, in turns, against the same Apache ZooKeeper,
// and compares.
//
//	cd bench && go run . [-only REGEX] [-time 4s] [-rounds 3] [-peers ours,go-zookeeper,curator,kazoo] [-out file.json]
//
// It starts a standalone server of Debian's packages that keeps its data in
// memory and does not wait for a disk, or uses -servers. Each figure is a line
// of JSON on standard output: workload, peer, round, value, unit. A table
// follows: medians, and what ours is of the best other peer's, beside what it is
// to reach. Progress, and what goes wrong, is on standard error; if anything went
// wrong the exit code is 1.
//
// # Peers
//
// Every peer is a process that does one task at a time, as package task says:
// this program itself for ours and for go-zookeeper (internal/ours and
// internal/gozookeeper), peers/java for Curator, compiled when the program
// starts, and peers/kazoo_bench.py for Kazoo. The Debian packages
// zookeeper, libslf4j-java, libcurator-recipes-java, default-jre-headless and
// python3-kazoo bring what is needed.
//
// # What makes it fair
//
// All have the same session timeout, the same number of clients, each with a connection
// of its own, and warm up before they measure, in the same process for the whole run,
// so that just-in-time compilers are done early. While one peer works the others have
// no session. A round runs all peers of a workload once; each run has a path of its
// own. This program writes the data that views see, no matter which peer is measured,
// and the data carries the time of its writing. Optimistic loops of others retry at
// once, or in Kazoo's case after 2 to 20 ms, which is faster than what they do by
// default.
//
// Ratios mean something, absolute figures say more about the machine; run it on
// one that has nothing else to do.
package main
