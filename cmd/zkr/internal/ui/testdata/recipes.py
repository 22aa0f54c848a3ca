"""Makes one of each of Kazoo's recipes below a path, says READY, and keeps them
until its input ends. Arguments: servers, path."""
import os
import sys
import threading
import time

from kazoo.client import KazooClient


def connect():
    client = KazooClient(hosts=sys.argv[1], timeout=10)
    client.start(timeout=60)
    return client


def behind(do):
    """Does what waits, or keeps what it has, in a thread."""
    threading.Thread(target=do, daemon=True).start()


def children(path, n):
    """Waits until a path has so many children."""
    while not ANN.exists(path) or len(ANN.get_children(path)) < n:
        time.sleep(0.01)


ANN, BOB = connect(), connect()
ROOT = sys.argv[2]

ANN.Lock(ROOT + "/locks/mutex", "ann").acquire()
behind(lambda: BOB.Lock(ROOT + "/locks/mutex", "bob").acquire())
children(ROOT + "/locks/mutex", 2)

ANN.ReadLock(ROOT + "/locks/rw", "ann").acquire()
behind(lambda: BOB.WriteLock(ROOT + "/locks/rw", "bob").acquire())
children(ROOT + "/locks/rw", 2)

ANN.Semaphore(ROOT + "/pool", "ann", max_leases=2).acquire()
BOB.Semaphore(ROOT + "/pool", "bob", max_leases=2).acquire()
behind(lambda: BOB.Semaphore(ROOT + "/pool", "bob again", max_leases=2).acquire())
children(ROOT + "/pool-__lock__", 1)

behind(lambda: ANN.Election(ROOT + "/election", "ann").run(lambda: time.sleep(3600)))
children(ROOT + "/election", 1)
behind(lambda: BOB.Election(ROOT + "/election", "bob").run(lambda: time.sleep(3600)))

ANN.Barrier(ROOT + "/barrier").create()
for client, who in (ANN, "ann"), (BOB, "bob"):
    behind(lambda client=client, who=who: client.DoubleBarrier(ROOT + "/double", 2, who).enter())
behind(lambda: ANN.DoubleBarrier(ROOT + "/barriers/early", 2, "ann").enter())

counter = ANN.Counter(ROOT + "/counters/text")
counter += 42
counter = ANN.Counter(ROOT + "/counters/curator", support_curator=True)
counter -= 7

ANN.Party(ROOT + "/party", "ann").join()
ANN.ShallowParty(ROOT + "/shallow", "ann").join()
ANN.Queue(ROOT + "/queue").put(b"x")
queue = ANN.LockingQueue(ROOT + "/lockingqueue")
queue.put(b"x")
queue.get()

# What is none of these.
ANN.create(ROOT + "/app/port", b"8080", makepath=True)
ANN.create(ROOT + "/app/ready", b"")

print("READY", flush=True)
sys.stdin.read()
for client in ANN, BOB:
    client.stop()
os._exit(0)
