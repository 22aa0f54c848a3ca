package doctor

import (
	"maps"
	"slices"
)

// explanation is what a kind of finding means, and what to do.
type explanation struct{ meaning, remedy string }

// Names are the names of all findings, sorted.
func Names() []string { return slices.Sorted(maps.Keys(catalog)) }

func explain(name string) explanation { return catalog[name] }

// read only
var catalog = map[string]explanation{
	"server.unreachable": {"clients cannot use this server, and the ensemble survives fewer failures",
		"start the server, or correct its address in the connect string; check firewalls"},
	"server.not-serving": {"the server runs, and has no quorum: it refuses all clients",
		"start the other members; check the ports between the servers, and their logs"},
	"server.read-only": {"the server has no quorum: it answers reads with what it knows, and refuses writes",
		"start the other members, or repair the network between the servers"},
	"server.version": {"this version has published faults; the evidence says which",
		"upgrade the servers, one after the other"},
	"server.queue": {"the server receives requests faster than it answers them; clients wait, and heartbeats may come too late",
		"measure the disk of the transaction log and the pauses of the JVM; look for a client that sends too much"},
	"server.slow": {"requests wait in the server for long, on average since its start or since the last reset",
		"give the transaction log a disk of its own; check the pauses of the JVM"},
	"server.connections": {"the server soon refuses connections from this client address",
		"raise maxClientCnxns, or look for a program that opens a client for each request"},
	"server.files": {"without file descriptors, the server refuses connections and cannot write its log",
		"raise the limit of open files (ulimit -n, LimitNOFILE) of the server"},
	"server.watches": {"each watch takes memory of the server, and a change of a znode that many clients watch makes a burst of events",
		"look for a program that sets watches and does not remove them; use package cache"},
	"server.disk": {"logs and snapshots are far larger than the data: old files are probably not removed, and a full disk stops the server",
		"set autopurge.purgeInterval=24 and autopurge.snapRetainCount=3, or run zkCleanup.sh"},
	"server.words": {"every program that reaches the client port can list clients and watches; wchc and wchp can stall a server with many watches",
		"name the words that your monitoring needs in 4lw.commands.whitelist, for example srvr, mntr and conf, and not *"},
	"ensemble.no-leader": {"no server can commit a write: no lock is granted, and sessions do not end",
		"start servers until a majority runs and its members reach each other"},
	"ensemble.leaders": {"the servers do not form one ensemble: two clients may each get the same lock",
		"correct the connect string, or make the standalone servers members of one ensemble. Right after an election, run zkr doctor again: the former leader may not have noticed yet"},
	"ensemble.not-synced": {"a follower that is not synchronized does not count when the next server fails",
		"look at the log of the follower; raise initLimit if its snapshot is large"},
	"ensemble.single": {"when this server stops, every client waits, and a lost disk is the loss of all data",
		"run three servers where this matters"},
	"ensemble.even": {"an even number of servers survives as many failures as one server less",
		"add or remove a server"},
	"ensemble.versions": {"servers of several versions are meant for the time of an upgrade",
		"finish the upgrade"},
	"settings.differ": {"all servers must grant the same session timeouts: a session that moves to a server with lower limits is given up",
		"make tickTime, minSessionTimeout and maxSessionTimeout equal on all servers, and restart them one after the other"},
	"timeout.unsound": {"a hold on a session with such a timeout has no rule that is sure to end it before the servers do, unless the client knows the tick",
		"use a session timeout of three ticks or more, or set Options.TickTime (zkr: --tick-time); see docs/timeouts.md"},
	"timeout.sync-limit": {"a server that is cut off from the others answers clients for so long, though the others may have ended their sessions: clients that believe in answered pings may still believe in locks that others hold",
		"use session timeouts above syncLimit, or lower syncLimit; clients of this library are not affected, as their heartbeats need a majority (docs/guarantees.md)"},
	"holder.silent": {"the client of the holder has probably ended, is paused, or is cut off; the hold ends with the session, within the session timeout, unless the client comes back",
		"run zkr doctor again; if the session stays, look for the process at the address, or take the hold away (zkr lock break)"},
	"queue.still": {"the holder may hang, or the consumers may be gone",
		"look at the holder with zkr lock ls; see \"A lock is stuck\" in docs/runbook.md"},
	"parent.large": {"a client whose limit is below the length of the list cannot list the children any more",
		"split the folder, or delete children that no program needs; raise jute.maxbuffer on servers and clients only as a bridge"},
	"acl.open": {"every client that reaches the servers may change or delete these znodes",
		"create them with an ACL (Options.ACL), or keep the servers in a network of trusted clients"},
	"clock.differs": {"znodes show times by the clock of the leader; times in lists and histories, and TTLs by a client's clock, are wrong by the difference",
		"synchronize the clocks of this machine and of the servers (chrony, ntpd); holds do not depend on clocks"},
	"roundtrip.failed": {"a lock could not be acquired and released, though a session exists",
		"read the error; check the disk of the leader, and quotas and ACLs of ROOT"},
	"session.failed": {"zkr lost its session or its connection during the audit, or was refused one; other clients may fare likewise",
		"look at the findings about the servers; check maxClientCnxns, and the network between this machine and the servers; then run zkr doctor again"},
	"failover.lost": {"a cut connection has cost the session or the lock, though other servers should have taken the session over",
		"use a longer session timeout; check that this machine reaches all servers"},
	"app.mutex":           {"a lock may stay taken, or contenders do not exclude each other", "see \"A lock is stuck\" in docs/runbook.md"},
	"app.read-write-lock": {"a lock may stay taken, or contenders do not exclude each other", "see \"A lock is stuck\" in docs/runbook.md"},
	"app.semaphore":       {"permits may stay taken, or clients disagree about their number", "see \"A lock is stuck\" in docs/runbook.md"},
	"app.election":        {"there may be no leader, or one that no session removes", "see \"There is no leader\" in docs/runbook.md"},
	"app.gate":            {"the gate cannot be read as it should", "look at it with zkr barrier gate show"},
	"app.barrier":         {"parties may wait indefinitely", "look at the parties with zkr barrier ls"},
	"app.double-barrier":  {"parties may wait indefinitely", "look at the parties with zkr barrier ls"},
	"app.counter":         {"clients cannot read or change the number", "look at it with zkr counter get; zkr counter set replaces the data"},
	"app.value":           {"clients cannot read or change the value", "look at it with zkr value get"},
	"app.group":           {"the group has a member that no session removes", "look at it with zkr members ls"},
	"app.service":         {"clients of the service may find no usable instance", "look at the instances with zkr service ls"},
	"app.job":             {"the job waits for a worker, or a worker has failed", "see \"A job waits for worker 7\" in docs/runbook.md"},
	"app.rebalancer":      {"resources have no owner, or do not move", "look at the members with zkr rebalance status"},
	"app.task-queue":      {"tasks wait without a master or a worker, or have failed for good", "look at the queue with zkr task stats and zkr task ls"},
	"app.queue":           {"the elements of the queue may not be consumed", "look at the znodes with zkr tree"},
}
