"""Does with Kazoo what the lines of its input say, each in a thread of its
own; interop/peer_test.go has the protocol. It ends with its input.

Arguments: servers, session timeout in milliseconds.
"""
import json
import os
import sys
import threading
import time

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.retry import KazooRetry

SERVERS, TIMEOUT = sys.argv[1], int(sys.argv[2]) / 1000


class Clients:
    """The sessions of this process, made when a command first names them."""

    def __init__(self):
        self.mutex = threading.Lock()
        self.clients = {}

    def of(self, ask):
        with self.mutex:
            name = ask.get("client", "")
            if name not in self.clients:
                client = KazooClient(
                    hosts=SERVERS,
                    timeout=TIMEOUT,
                    command_retry=KazooRetry(max_tries=-1, delay=0.002, max_delay=0.02),
                )
                client.start(timeout=60)
                self.clients[name] = client
            return self.clients[name]

    def close(self):
        for client in self.clients.values():
            client.stop()
            client.close()


CLIENTS = Clients()


def token(client, path):
    """What a holder's token is: the czxid of its node."""
    return client.retry(client.exists, path).czxid


class Locking:
    """A turn of Kazoo's Lock, WriteLock or ReadLock."""

    def __init__(self, ask, recipe):
        self.client = CLIENTS.of(ask)
        self.path, self.who = ask["path"], ask.get("who", "python")
        self.recipe = recipe
        # With "curator" Lock honors contenders of Curator's names as well.
        self.patterns = ["-lock-"] if ask.get("layout") == "curator" else []
        # Seconds to wait before giving up and queueing again.
        self.patience = ask.get("patience")
        self.lock = None

    def make(self):
        if self.recipe == "mutex":
            return self.client.Lock(self.path, self.who, extra_lock_patterns=self.patterns)
        if self.recipe == "write":
            return self.client.WriteLock(self.path, self.who)
        if self.recipe == "read":
            return self.client.ReadLock(self.path, self.who)
        raise ValueError("no such recipe: " + self.recipe)

    def enter(self):
        while True:
            self.lock = self.make()
            try:
                if self.lock.acquire(timeout=self.patience):
                    break
            except LockTimeout:
                pass
        return token(self.client, self.path + "/" + self.lock.node)

    def leave(self):
        self.lock.release()


class Leading:
    """A turn of Kazoo's Election, which calls its function while it leads; enter waits for that call."""

    def __init__(self, ask):
        self.client, self.path, self.who = CLIENTS.of(ask), ask["path"], ask.get("who", "python")

    def enter(self):
        self.leads, self.done = threading.Event(), threading.Event()
        election = self.client.Election(self.path, self.who)
        self.thread = threading.Thread(target=election.run, args=(self.lead,), daemon=True)
        self.thread.start()
        self.leads.wait()
        return token(self.client, self.path + "/" + election.lock.node)

    def lead(self):
        self.leads.set()
        self.done.wait()

    def leave(self):
        self.done.set()
        self.thread.join()


def turn_of(ask):
    return Leading(ask) if ask["recipe"] == "leader" else Locking(ask, ask["recipe"])


HOLDS = {}


def hold(ask):
    turn = turn_of(ask)
    token = turn.enter()
    HOLDS[ask["as"]] = turn
    return token


def release(ask):
    HOLDS.pop(ask["as"]).leave()


def contenders(ask):
    return Locking(ask, ask["recipe"]).make().contenders()


def candidates(ask):
    return CLIENTS.of(ask).Election(ask["path"]).contenders()


class Witness:
    """A file to which all processes append lines, each in one write."""

    def __init__(self, path):
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def say(self, *words):
        os.write(self.file, (" ".join(map(str, words)) + "\n").encode())

    def close(self):
        os.close(self.file)


class Worker(threading.Thread):
    """Enters and leaves, or counts, until it is told to stop."""

    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask, self.who, self.rounds = ask, ask["who"], ask["rounds"]
        self.stopping, self.enough = threading.Event(), threading.Event()
        self.done, self.error = 0, None

    def run(self):
        witness = Witness(self.ask["witness"])
        try:
            a_round = self.make(witness)
            while not self.stopping.is_set():
                a_round()
                self.done += 1
                if self.done == self.rounds:
                    self.enough.set()
        except Exception as error:
            self.error = error
        finally:
            witness.close()
            self.enough.set()

    def make(self, witness):
        recipe = self.ask["recipe"]
        if recipe in ("text", "int"):
            counter = kazoo_counter(self.ask, recipe)

            def count():
                witness.say("begin", self.who)
                counter.__add__(1)
                witness.say("done", self.who, counter.post_value)

            return count
        if recipe == "rw":
            kinds = {"x": Locking(self.ask, "write"), "s": Locking(self.ask, "read")}

            def either():
                kind = "s" if self.done % self.ask["writes"] else "x"
                self.turn(kinds[kind], kind, witness)

            return either
        turn = turn_of(self.ask)
        return lambda: self.turn(turn, "x", witness)

    def turn(self, turn, kind, witness):
        witness.say("in", self.who, kind, turn.enter())
        time.sleep(self.ask.get("pause", 1) / 1000)
        witness.say("out", self.who)
        turn.leave()


WORKERS = []


def hammer(ask):
    """Answers after so many rounds, and goes on."""
    worker = Worker(ask)
    WORKERS.append(worker)
    worker.start()
    worker.enough.wait()
    if worker.error:
        raise worker.error
    return worker.done


def stop(ask):
    """Ends all workers and says how many rounds each has done."""
    for worker in WORKERS:
        worker.stopping.set()
    for worker in WORKERS:
        worker.join()
        if worker.error:
            raise worker.error
    done = {worker.who: worker.done for worker in WORKERS}
    WORKERS.clear()
    return done


def kazoo_counter(ask, recipe):
    return CLIENTS.of(ask).Counter(ask["path"], support_curator=recipe == "int")


def add(ask):
    counter = kazoo_counter(ask, ask["recipe"])
    counter.__add__(ask["value"])
    return counter.post_value


PARTIES = {}


def join(ask):
    client = CLIENTS.of(ask)
    make = client.ShallowParty if ask.get("layout") == "shallow" else client.Party
    PARTIES[ask["as"]] = party = make(ask["path"], ask["as"])
    party.join()


def gate(ask):
    return CLIENTS.of(ask).Barrier(ask["path"])


def hello(ask):
    CLIENTS.of(ask)
    return "kazoo " + kazoo.__version__


COMMANDS = {
    "hello": hello,
    "bye": lambda ask: CLIENTS.close(),
    "hold": hold,
    "release": release,
    "contenders": contenders,
    "candidates": candidates,
    "hammer": hammer,
    "stop": stop,
    "counter.get": lambda ask: kazoo_counter(ask, ask["recipe"]).value,
    "counter.add": add,
    "group.join": join,
    "group.leave": lambda ask: PARTIES.pop(ask["as"]).leave(),
    "group.members": lambda ask: sorted(PARTIES[ask["as"]]),
    "gate.set": lambda ask: gate(ask).create(),
    "gate.remove": lambda ask: gate(ask).remove(),
    "gate.wait": lambda ask: gate(ask).wait(),
}

OUTPUT = threading.Lock()


def answer(ask):
    reply = {"id": ask["id"]}
    try:
        reply["ok"] = COMMANDS[ask["do"]](ask)
    except Exception as error:
        reply["error"] = repr(error)
    with OUTPUT:
        print(json.dumps(reply), flush=True)


for line in sys.stdin:
    threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()
os._exit(0)
