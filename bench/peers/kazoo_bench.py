"""Measures Kazoo, one task at a time; internal/task has the protocol. It ends
with its input.

Arguments: servers, session timeout in milliseconds.
"""
import json
import sys
import threading
import time

import kazoo
from kazoo.client import KazooClient
from kazoo.retry import KazooRetry

SERVERS, TIMEOUT = sys.argv[1], int(sys.argv[2]) / 1000


def connect():
    # Retries, such as a counter's, come soon: by default they take 100 ms and more.
    client = KazooClient(
        hosts=SERVERS,
        timeout=TIMEOUT,
        command_retry=KazooRetry(max_tries=-1, delay=0.002, max_delay=0.02),
    )
    client.start(timeout=60)
    return client


def locking(lock):
    lock.acquire()
    lock.release()


def work_of(task, client):
    """What a worker does again and again: a function of a number."""
    kind, path = task["kind"], task["path"]
    if kind == "lock":
        lock = client.Lock(path)
        return lambda n: locking(lock)
    if kind == "semaphore":
        semaphore = client.Semaphore(path, max_leases=task["permits"])
        return lambda n: locking(semaphore)
    if kind == "rwlock":
        read, write, writes = client.ReadLock(path), client.WriteLock(path), task["writes"]
        return lambda n: locking(write if n * writes % 100 < writes else read)
    if kind == "counter":
        counter = client.Counter(path)
        return lambda n: counter.__add__(1)
    raise ValueError("cannot measure " + kind)


class Worker(threading.Thread):
    """Works until it is told to stop."""

    def __init__(self, number, work):
        super().__init__(daemon=True)
        self.number, self.work = number, work
        self.done, self.stopping, self.error = 0, False, None

    def run(self):
        try:
            while not self.stopping:
                self.work(self.number + self.done)
                self.done += 1
        except Exception as error:
            self.error = error


def pause(seconds, workers):
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, 0.1))
        for worker in workers:
            if worker.error:
                raise worker.error


def rate(task, clients):
    """Operations per second of all workers; each has its own recipe, which
    Kazoo's are made for, and those of one client share that."""
    workers = [Worker(i, work_of(task, clients[i % len(clients)])) for i in range(task["workers"])]
    for worker in workers:
        worker.start()
    try:
        pause(task["warm_ms"] / 1000, workers)
        before, began = sum(worker.done for worker in workers), time.monotonic()
        pause(task["time_ms"] / 1000, workers)
        return (sum(worker.done for worker in workers) - before) / (time.monotonic() - began)
    finally:
        for worker in workers:
            worker.stopping = True
        for worker in workers:
            worker.join()


def measure(task):
    clients = []
    try:
        for _ in range(task["clients"]):
            clients.append(connect())
        return rate(task, clients)
    finally:
        for client in clients:
            client.stop()
            client.close()


def answer(task):
    if task["kind"] == "hello":
        return {"version": "kazoo " + kazoo.__version__}
    try:
        return {"value": measure(task)}
    except Exception as error:
        return {"error": task["kind"] + ": " + repr(error)}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
