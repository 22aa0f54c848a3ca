// Command bench runs the workloads of docs/performance.md with this project's
// recipes and with other libraries, in turns, against the same Apache ZooKeeper,
// and compares.
//
//	cd bench && go run . [-profile loopback,lan] [-only REGEX] [-time 4s] [-rounds 3] [-peers ours,go-zookeeper,curator,kazoo] [-out file.json]
//
// The command starts a standalone server from Debian's packages, with its data
// in memory, or uses -servers. Each figure is a line of JSON on standard
// output: workload, peer, round, value, unit, and for the peers written in Go the cost of an
// operation for the peer's process. Two tables follow: the medians, and the ratio of our
// median to the best other peer's, with its target; and the costs, ours beside
// go-zookeeper's. Progress
// and errors go to standard error; after an error the exit code is 1.
//
// # Many sessions
//
//	cd bench && go run . crowd [-n 1000,2000,4000] [-what lock,semaphore,election,workers] [-shared] [-warm]
//
// measures clients that all want the same at once, each with a session of its own: requests,
// bytes and time, and the exponents of their growth.
//
//	cd bench && go run . idle [-n 1000,10000] [-peers ours,go-zookeeper] [-time 30s]
//
// measures sessions that do nothing, in one process: their memory, and how often the process
// wakes up.
//
//	cd bench && go run . holders [-n 500,1000,2000,4000,8000] [-rules own,shared,none] [-time 30s]
//
// measures sessions that each hold a lock, on three servers: the heartbeats that they
// send, the locks that they lose, and how long the writes of another client take
// meanwhile. The holders have heartbeats of their own, or share them
// (session.Options.SharedHeartbeats), or trust every reply (session.TrustAnswered).
//
// # Profiles
//
// Every workload runs in two networks, with all peers. In the profile loopback the
// peers connect to the server directly: the server's processor is the limit, and a
// round trip costs next to nothing. In the profile lan all peers connect through one
// relay, which delays every byte by 0.5 ms each way: round trips are the limit, as in
// a data center. Each profile has a table of its own, with the round trip as measured.
//
// # Floors
//
// Some workloads of go-zookeeper are floors: raw requests with as little as any
// recipe needs. A ring is a queue without a recipe, in which each client deletes its
// znode when it is told that its predecessor's znode has gone. The table gives our
// figure in relation to its floor.
//
// # Peers
//
// Every peer is a process for one task at a time, see package task: this
// program itself for ours and for go-zookeeper (internal/ours and
// internal/gozookeeper), peers/java for Curator, compiled when the program
// starts, and peers/kazoo_bench.py for Kazoo. The Debian packages zookeeper,
// libslf4j-java, libcurator-recipes-java, default-jre-headless and
// python3-kazoo have everything required.
//
// # Fairness
//
// All peers have the same session timeout and the same number of clients, each
// with its own connection. They warm up before measuring, in the same process
// for the whole run, so just-in-time compilers finish early. While one peer
// works, the others have no session. A round runs all peers of a workload once;
// each run has its own path. This program writes the data for views, for all
// peers alike, and the data has the time of its writing. Optimistic loops of
// other libraries retry at once, or after 2 to 20 ms for Kazoo, which is faster
// than by default.
//
// Compare ratios: absolute figures depend on the machine. Run the command on an
// idle machine.
package main
