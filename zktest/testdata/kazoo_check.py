"""Exercises a server with kazoo. Prints "ok" at the end, or dies.

usage: kazoo_check.py HOSTS
"""
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError, RolledBackError
from kazoo.recipe.lock import Lock
from kazoo.recipe.counter import Counter

hosts = sys.argv[1]


def client():
    zk = KazooClient(hosts=hosts, timeout=10.0)
    zk.start(timeout=10)
    return zk


a, b = client(), client()


def fresh(zk=None):
    """Brings the client's server up to date, b's by default: it may be another one."""
    zk = zk or b
    zk.sync("/")
    return zk


assert a.client_id[0] != b.client_id[0]
assert a.command(b"ruok") == "imok"
assert a.server_version()[:2] == (3, 8), a.server_version()

# nodes
assert a.create("/k", b"one") == "/k"
data, stat = fresh().get("/k")
assert data == b"one" and stat.version == 0 and stat.dataLength == 3
try:
    a.create("/k")
    raise SystemExit("created twice")
except NodeExistsError:
    pass
try:
    a.set("/k", b"x", version=7)
    raise SystemExit("wrong version accepted")
except BadVersionError:
    pass
assert [a.create("/k/s-", sequence=True) for _ in range(3)] == ["/k/s-%010d" % i for i in range(3)]
path, st = a.create("/k/stat", include_data=True)
assert path == "/k/stat" and st.czxid > 0
assert sorted(fresh().get_children("/k")) == ["s-%010d" % i for i in range(3)] + ["stat"]

# watches
seen, woke = [], threading.Event()


def watch(event):
    seen.append((event.type, event.path))
    woke.set()


assert b.exists("/w", watch=watch) is None
a.create("/w")
assert woke.wait(10) and seen == [("CREATED", "/w")], seen
woke.clear()
fresh().get_children("/w", watch=watch)
a.create("/w/c")
assert woke.wait(10) and seen[-1] == ("CHILD", "/w"), seen

# ephemerals end with their session
a.create("/e", ephemeral=True)
gone = threading.Event()
fresh().exists("/e", watch=lambda event: gone.set())
c = client()
c.create("/e2", ephemeral=True)
c.stop()
c.close()
assert fresh().exists("/e2") is None and b.exists("/e") is not None

# transactions
t = a.transaction()
t.create("/t", b"1")
t.set_data("/t", b"2")
t.check("/t", 1)
results = t.commit()
assert results[0] == "/t" and results[1].version == 1 and results[2] is True, results
t = a.transaction()
t.delete("/t")
t.check("/none", 1)
t.create("/u")
results = t.commit()
assert isinstance(results[0], RolledBackError) and isinstance(results[1], NoNodeError), results
assert fresh().exists("/t") is not None and b.exists("/u") is None

# recipes
order = []


def work(zk, name):
    for i in range(5):
        with Lock(zk, "/lock", name):
            order.append(name)
            n = len(order)
            zk.exists("/lock")
            assert len(order) == n, "two holders"


threads = [threading.Thread(target=work, args=(zk, str(i))) for i, zk in enumerate((a, b))]
[t.start() for t in threads]
[t.join(30) for t in threads]
assert len(order) == 10, order
assert fresh(a).get_children("/lock") == []
counter = Counter(a, "/counter")
counter += 5
counter -= 2
assert Counter(fresh(), "/counter").value == 3

a.stop()
assert gone.wait(10)
a.close()
b.stop()
b.close()
print("ok")
