"""Takes a lock with Kazoo again and again, and checks that nobody else is in.

Arguments: servers, path of the lock, file that only the holder may make,
number of rounds, and "curator" to honour Curator's names as well.
"""
import os
import sys
import time

from kazoo.client import KazooClient

servers, path, alone, rounds, layout = sys.argv[1:6]
patterns = ["-lock-"] if layout == "curator" else []

client = KazooClient(hosts=servers, timeout=5)
client.start(timeout=20)
for _ in range(int(rounds)):
    lock = client.Lock(path, "kazoo", extra_lock_patterns=patterns)
    lock.acquire(timeout=60)
    handle = os.open(alone, os.O_CREAT | os.O_EXCL)
    os.close(handle)
    time.sleep(0.001)
    os.remove(alone)
    lock.release()
client.stop()
client.close()
print("ok")
