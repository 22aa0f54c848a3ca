package recognize

import (
	"fmt"
	"strings"
	"testing"
)

// TestEveryFormatIsToldOrLeftAlone: for each format of other clients the
// expected thing, and beside it similar znodes that must not be recognized.
func TestEveryFormatIsToldOrLeftAlone(t *testing.T) {
	t.Run("names on a lock-like path", func(t *testing.T) { check(t, lockNames()) })
	t.Run("barriers", func(t *testing.T) { check(t, barrierForms()) })
	t.Run("counters and shared values", func(t *testing.T) { check(t, counterForms()) })
	t.Run("nodes and groups", func(t *testing.T) { check(t, groupForms()) })
	t.Run("queues", func(t *testing.T) { check(t, queueForms()) })
	t.Run("services", func(t *testing.T) { check(t, serviceForms()) })
}

func lockNames() []recognized {
	cur := func(mark string) string { return fmt.Sprintf("/x/_c_%s-%s0000000007", uuid(1), mark) }
	kaz := func(mark string) string { return fmt.Sprintf("/x/%s%s0000000007", hexID(1), mark) }
	return []recognized{
		{"InterProcessMutex, LeaderSelector", []string{cur("lock-") + " e1 =10.0.0.1"}, "mutex? /x: held by 10.0.0.1\n"},
		{"InterProcessMutex, by its name", []string{strings.Replace(cur("lock-"), "/x", "/app/mutex", 1) + " e1 =10.0.0.1"}, "mutex /app/mutex: held by 10.0.0.1\n"},
		{"LeaderSelector, by its name", []string{strings.Replace(cur("lock-"), "/x", "/leaders/app", 1) + " e1"}, "election? /leaders/app: led by 0x1\n"},
		{"either, by both names", []string{strings.Replace(cur("lock-"), "/x", "/locks/leader", 1) + " e1"}, "mutex? /locks/leader: held by 0x1\n"},
		{"revoked InterProcessMutex", []string{cur("lock-") + " e1 =__REVOKE__"}, "mutex /x: held by 0x1\n  hint: another client has asked the contender with number 7 to release (Curator's revocation)\n"},
		{"ours with a lock delay", []string{strings.Replace(cur("lock-"), "/x", "/leader", 1) + " e1 =ann", "/leader.delay =held 100"}, "mutex /leader: held by ann\n"},
		{"LeaderLatch", []string{cur("latch-") + " e1"}, "election /x: led by 0x1\n"},
		{"InterProcessReadWriteLock", []string{cur("__READ__") + " e1", "/x/_c_" + uuid(2) + "-__WRIT__0000000008 e2"}, "read/write lock /x: read by 0x1, 1 waits\n"},
		{"a reader that was a writer", []string{cur("__READ__") + " e1", "/x/_c_" + uuid(2) + "-__WRIT__0000000009 e2"}, "read/write lock /x: read by 0x1, 1 waits\n"},
		{"InterProcessSemaphoreV2", []string{strings.Replace(cur("lease-"), "/x/", "/x/leases/", 1) + " e1", "/x/locks"}, "semaphore /x: 1 permit is held\n"},
		{"InterProcessSemaphoreV2, at first", []string{strings.Replace(cur("lock-"), "/x/", "/x/locks/", 1) + " e1", "/x/leases"}, "semaphore? /x: 0 permits are held, 1 waits\n"},
		{"InterProcessSemaphoreV2, about to get it", []string{"/x/leases/_c_" + uuid(1) + "-lease-0000000001 e1 z101", "/x/leases/_c_" + uuid(2) + "-lease-0000000002 e2 z103", "/x/locks/_c_" + uuid(3) + "-lock-0000000002 e2 z102"},
			"semaphore /x: 1 permit is held, 1 waits\n"},
		{"InterProcessSemaphoreV2, a holder of a lease wants another lease", []string{"/x/leases/_c_" + uuid(1) + "-lease-0000000001 e1 z100", "/x/leases/_c_" + uuid(2) + "-lease-0000000002 e2 z101", "/x/locks/_c_" + uuid(3) + "-lock-0000000002 e2 z102"},
			"semaphore /x: 2 permits are held, 1 waits\n"},
		{"InterProcessSemaphoreV2, another client has come since", []string{"/x/leases/_c_" + uuid(1) + "-lease-0000000001 e1 z101", "/x/leases/_c_" + uuid(2) + "-lease-0000000002 e3 z103", "/x/locks/_c_" + uuid(3) + "-lock-0000000002 e2 z102"},
			"semaphore /x: 2 permits are held, 1 waits\n"},
		{"InterProcessSemaphoreV2, the only lease always counts", []string{"/x/leases/_c_" + uuid(2) + "-lease-0000000002 e2 z103", "/x/locks/_c_" + uuid(3) + "-lock-0000000002 e2 z102"},
			"semaphore /x: 1 permit is held, 1 waits\n"},
		{"a lock that is part of ours", []string{`/g ={"format":1,"mode":"resource"}`, "/g/resources", "/g/assignments", "/g/instances/leader/_c_" + uuid(1) + "-lock-0000000007 e1 =ann"},
			"rebalancer /g: 0 resources shared by 0 members\nmutex /g/instances/leader: held by ann [of /g]\n"},
		{"zk.Lock", []string{"/leader/_c_" + hexID(1) + "-lock-0000000007 e1"}, "mutex /leader: held by 0x1\n"},
		{"Kazoo's Lock, WriteLock, Election", []string{kaz("__lock__") + " e1 =py"}, "mutex? /x: held by py\n"},
		{"Kazoo's Election, by its name", []string{strings.Replace(kaz("__lock__"), "/x", "/election", 1) + " e1 =py"}, "election? /election: led by py\n"},
		{"Kazoo's ReadLock", []string{kaz("__rlock__") + " e1 =py"}, "read/write lock /x: read by py\n"},
		{"Kazoo's Semaphore", []string{"/x =2", "/x/" + hexID(1) + " e1 =py", "/x-__lock__"}, "semaphore /x: 1 of 2 permits free\n"},
		{"Kazoo's Semaphore, whose lock is not seen", []string{"/x =2", "/x/" + hexID(1) + " e1 =py"}, "semaphore? /x: 1 of 2 permits free\n"},
		{"Kazoo's Semaphore on a path that was there", []string{"/x", "/x/" + hexID(1) + " e1 =py", "/x-__lock__"},
			"semaphore /x: 1 permit is held\n  hint: the path does not have the number of permits\n"},
		{"Kazoo's Semaphore with a stranger", []string{"/x =2", "/x/" + hexID(1) + " e1 =py", "/x/odd", "/x-__lock__"},
			"semaphore /x: 1 of 2 permits free\n  warn: 1 child is not a lease: Kazoo counts a permit for each\n"},
		{"ZooKeeper's own WriteLock", []string{"/x/x-17-0000000007 e17 =hex:1234"}, "mutex /x: held by 0x11\n"},
		{"ZooKeeper's own LeaderElectionSupport", []string{"/x/n_0000000007 e1 =host"}, "group? /x: 1 member\n"},
		{"by the book", []string{"/x/c_0000000007 e1 =host"}, "election? /x: led by host\n"},

		{"near: words before the marker, and persistent", []string{"/x/deadlock-0000000007", "/y/non-latch-0000000001 =x", "/z/car-1-permit-0000000001", "/c/c_0000000001"}, ""},
		{"near: no number", []string{"/x/_c_" + uuid(1) + "-lock-", "/y/_c_" + uuid(1) + "-latch-12345", "/z/" + hexID(1) + "__lock__x"}, ""},
		{"near: leases of another kind", []string{"/dhcp/leases/10.0.0.1 =x", "/dhcp/leases/my-lease-0000000001", "/dhcp/locks"}, ""},
		{"near: a folder and a lock beside it", []string{"/x =2", "/x/a =b", "/x-__lock__"}, ""},
		{"near: a number, and children of UUIDs that last", []string{"/x =2", "/x/" + uuid(1)}, ""},
		{"near: x- and another session", []string{"/x/x-17-0000000007 =y", "/y/x-1-0000000001 e2"}, "group? /y: 1 member\n"},
	}
}

func barrierForms() []recognized {
	return []recognized{
		{"DistributedBarrier", []string{"/app/barrier =10.0.0.1"}, "gate? /app/barrier: closed\n"},
		{"Kazoo's Barrier", []string{"/app/upgrade_barrier"}, "gate? /app/upgrade_barrier: closed\n"},
		{"our Gate", []string{"/app/maintenanceGate =web-1:4711"}, "gate? /app/maintenanceGate: closed\n"},
		{"Curator's double barrier", []string{"/b/" + uuid(1) + " e1 =10.0.0.1", "/b/ready =10.0.0.1"}, "double barrier /b: 1 is inside\n"},
		{"Curator's double barrier, not ready", []string{"/barrier/" + uuid(1) + " e1 =10.0.0.1"}, "double barrier? /barrier: 1 comes or leaves\n"},
		{"Kazoo's double barrier", []string{"/b/" + hexID(1) + " e1 =py", "/b/ready"}, "double barrier /b: 1 is inside\n"},
		{"Kazoo's double barrier, not ready", []string{"/barriers/x/" + hexID(1) + " e1 =py"}, "double barrier? /barriers/x: 1 comes or leaves\n"},
		{"either, not ready, of any name", []string{"/x/" + hexID(1) + " e1 =py"}, "group? /x: 1 member\n"},

		{"near: a party of any program", []string{"/x/tea-party-0000000001"}, ""},
		{"near: below a barrier", []string{"/barriers/x =y", "/barriers/z", "/gates/a/b"}, ""},
		{"near: data", []string{"/a/barrier =on", `/b/gate ={"open":true}`, "/c/gate =10.0.0.1:80"}, ""},
		{"near: children", []string{"/gate/x =y"}, ""},
		{"near: another word", []string{"/gateway", "/barrier-size", "/delegate", "/gates", "/barriers"}, ""},
		{"near: ready", []string{"/app/ready", "/app/x/ready", "/app/x/" + uuid(1) + " =y"}, ""},
		{"near: ready, among others", []string{"/b/ready", "/b/" + uuid(1) + " e1", "/b/config =x"}, ""},
	}
}

func counterForms() []recognized {
	mark := "/_c_" + uuid(1) + "-writer e1"
	return []recognized{
		{"DistributedAtomicLong", []string{"/counters/x =hex:fffffffffffffd1b"}, "counter? /counters/x: -741\n"},
		{"DistributedAtomicInteger, SharedCount, Kazoo's with support_curator", []string{"/app/x-counter =hex:00000007"}, "counter? /app/x-counter: 7\n"},
		{"Kazoo's Counter", []string{"/app/counter =42"}, "counter? /app/counter: 42\n"},
		{"ours", []string{"/x =hex:000000000000002a", "/x" + mark}, "counter /x: 42\n"},
		{"a sequence of ours", []string{"/sequences/x =hex:000000000000002a"}, "counter? /sequences/x: 42\n"},
		{"beside one of ours", []string{"/a/x =hex:000000000000002a", "/a/x" + mark, "/a/y =hex:000000000000002b"}, "counter /a/x: 42\ncounter? /a/y: 43\n"},
		{"set many times", []string{"/x v1000 =hex:000000000000002a"}, "counter? /x: 42\n"},

		{"near: a port", []string{"/app/port =8080", "/app/config/timeout v3 =30"}, ""},
		{"near: four and eight bytes of anything", []string{"/app/key =hex:0102030405060708", "/app/ip =hex:0a000001"}, ""},
		{"near: a name, and no number", []string{"/app/counter =on", "/counters/x =hex:01", "/counters/y"}, ""},
		{"near: a setting of a counter", []string{"/app/counter-limit =8", "/counter/limit/x =8"}, ""},
		{"near: a port beside one of ours", []string{"/a/x =hex:000000000000002a", "/a/x" + mark, "/a/port =8080"}, "counter /a/x: 42\n"},
		{"near: a fraction", []string{"/app/counter =2.5"}, ""},
	}
}

func groupForms() []recognized {
	return []recognized{
		{"GroupMember", []string{"/x/ann e1 =10.0.0.1"}, "group? /x: 1 member\n"},
		{"Kazoo's Party", []string{"/x/" + hexID(1) + "__party__ e1 =ann"}, "group /x: 1 member\n"},
		{"Kazoo's ShallowParty", []string{"/x/" + hexID(1) + "-ann e1 =ann"}, "group /x: 1 member\n"},
		{"our shallow one", []string{"/x/" + hexID(1) + "-ann e1"}, "group /x: 1 member\n"},
		{"PersistentTtlNode", []string{"/x =y", "/x/touch =10.0.0.1"}, ""},

		{"near: an ephemeral node among others", []string{"/x/ann e1 =10.0.0.1", "/x/config =y"}, ""},
		{"near: parties that last", []string{"/x/" + hexID(1) + "__party__ =ann"}, ""},
		{"near: 32 digits and data", []string{"/x/" + hexID(1) + "-ann e1 =bob"}, "group? /x: 1 member\n"},
	}
}

func queueForms() []recognized {
	return []recognized{
		{"SimpleDistributedQueue", []string{"/x/qn-0000000001 =y"}, "queue /x: 1 entry\n"},
		{"Kazoo's Queue", []string{"/x/entry-100-0000000001 =y"}, "queue /x: 1 entry\n"},
		{"Kazoo's LockingQueue", []string{"/x/entries/entry-100-0000000001 =y", "/x/taken/entry-100-0000000001 e1"}, "queue /x: 1 entry, 1 of them taken\n"},
		{"DistributedQueue", []string{"/x/queue-0000000001 =hex:000100010100000003"}, "queue /x: 1 entry\n"},
		{"DistributedPriorityQueue", []string{"/x/queue-1000000070000000000 =hex:0001000101"}, "queue /x: 1 entry\n"},
		{"DistributedDelayQueue", []string{"/x/queue-|1A200FC5044|0000000000 =hex:0001000101"}, "queue /x: 1 entry\n"},
		{"DistributedIdQueue", []string{"/x/queue-|my-id|0000000000 =hex:0001000101"}, "queue /x: 1 entry\n"},

		{"near: data of another kind", []string{"/x/queue-0000000001 =y"}, ""},
		{"near: ephemeral", []string{"/x/qn-0000000001 e1", "/y/queue-0000000001 e1 =hex:0001000101"}, "group? /x: 1 member\ngroup? /y: 1 member\n"},
		{"near: no priority", []string{"/x/entry-0000000001 =y", "/y/entries/a", "/y/taken/b"}, ""},
	}
}

func serviceForms() []recognized {
	in := func(name string) string {
		return ` e1 ={"name":"` + name + `","id":"i","address":"h","port":80,"sslPort":null,"payload":null,"registrationTimeUTC":1,"serviceType":"DYNAMIC","uriSpec":null}`
	}
	return []recognized{
		{"DYNAMIC", []string{"/s/web/i" + in("web")}, "service /s/web: 1 instance\n"},
		{"DYNAMIC, with a UUID as Java gives", []string{"/barriers/web/" + uuid(1) + in("web")}, "service /barriers/web: 1 instance\n"},
		{"DYNAMIC_SEQUENTIAL", []string{"/s/web/i0000000001" + in("web")}, "service /s/web: 1 instance\n"},
		{"near: of another name", []string{"/s/shop/i" + in("web")}, "group? /s/shop: 1 member\n"},
		{"near: no type", []string{`/s/web/i ={"name":"web","id":"i","registrationTimeUTC":1}`}, ""},
	}
}
