import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** Something that is had for a while; both methods on the same thread. */
interface Turn {
    /** Waits for it and returns the fencing token. */
    long enter() throws Exception;

    void leave() throws Exception;

    static Turn of(Clients clients, String recipe, JsonNode with) {
        CuratorFramework client = clients.of(with);
        String path = with.get("path").asText();
        String id = with.path("who").asText("java");
        switch (recipe) {
            case "mutex": return new Mutex(client, path);
            case "revocable": return Revocable.of(new Mutex(client, path));
            case "revocable read": return new ReadWrite(client, path).revocableReading();
            case "revocable write": return new ReadWrite(client, path).revocableWriting();
            case "read": return new ReadWrite(client, path).new Reading();
            case "write": return new ReadWrite(client, path).new Writing();
            case "downgrade": return new ReadWrite(client, path).new Downgrading();
            case "lease": return new Permit(client, path, with.get("permits").asInt());
            case "semaphoremutex": return new SemaphoreMutex(client, path);
            case "latch": return new Latch(client, path, id);
            case "selector": return new Selector(client, path, id);
            default: throw new IllegalArgumentException("no such recipe: " + recipe);
        }
    }

    final class Mutex extends InterProcessMutex implements Turn {
        private final CuratorFramework client;

        Mutex(CuratorFramework client, String path) {
            super(client, path);
            this.client = client;
        }

        public long enter() throws Exception {
            acquire();
            return Clients.token(client, getLockPath());
        }

        public void leave() throws Exception {
            release();
        }
    }

    /** A lock whose holder is told when it is asked to release. */
    final class Revocable implements Turn {
        private final Turn turn;
        private volatile boolean asked;

        Revocable(Turn turn, InterProcessMutex lock) {
            this.turn = turn;
            lock.makeRevocable(each -> asked = true);
        }

        static Revocable of(Mutex mutex) {
            return new Revocable(mutex, mutex);
        }

        boolean isAsked() {
            return asked;
        }

        public long enter() throws Exception {
            return turn.enter();
        }

        public void leave() throws Exception {
            turn.leave();
        }
    }

    final class ReadWrite {
        private final CuratorFramework client;
        private final Write write;
        private final Read read;

        ReadWrite(CuratorFramework client, String path) {
            this.client = client;
            write = new Write(client, path);
            read = new Read(client, path, write);
        }

        Turn revocableReading() {
            return new Revocable(new Reading(), read);
        }

        Turn revocableWriting() {
            return new Revocable(new Writing(), write);
        }

        /** Curator shows the path of a node to those that extend its lock. */
        static final class Write extends InterProcessReadWriteLock.WriteLock {
            Write(CuratorFramework client, String path) {
                super(client, path, null);
            }

            String node() {
                return getLockPath();
            }
        }

        static final class Read extends InterProcessReadWriteLock.ReadLock {
            Read(CuratorFramework client, String path, Write write) {
                super(client, path, null, write);
            }

            String node() {
                return getLockPath();
            }
        }

        final class Writing implements Turn {
            public long enter() throws Exception {
                write.acquire();
                return Clients.token(client, write.node());
            }

            public void leave() throws Exception {
                write.release();
            }
        }

        final class Reading implements Turn {
            public long enter() throws Exception {
                read.acquire();
                return Clients.token(client, read.node());
            }

            public void leave() throws Exception {
                read.release();
            }
        }

        /** Enters as a writer, and goes on as a reader when it is told to. */
        final class Downgrading implements Turn {
            public long enter() throws Exception {
                write.acquire();
                return Clients.token(client, write.node());
            }

            long downgrade() throws Exception {
                read.acquire();
                write.release();
                return Clients.token(client, read.node());
            }

            public void leave() throws Exception {
                read.release();
            }
        }
    }

    final class Permit implements Turn {
        private final CuratorFramework client;
        private final String path;
        private final InterProcessSemaphoreV2 semaphore;
        private Lease lease;

        Permit(CuratorFramework client, String path, int permits) {
            this.client = client;
            this.path = path;
            semaphore = new InterProcessSemaphoreV2(client, path, permits);
        }

        public long enter() throws Exception {
            lease = semaphore.acquire();
            return Clients.token(client, path + "/leases/" + lease.getNodeName());
        }

        public void leave() {
            semaphore.returnLease(lease);
        }
    }

    /** A semaphore with one permit, which does not expose its node. */
    final class SemaphoreMutex implements Turn {
        private final CuratorFramework client;
        private final String path;
        private final InterProcessSemaphoreMutex mutex;

        SemaphoreMutex(CuratorFramework client, String path) {
            this.client = client;
            this.path = path;
            mutex = new InterProcessSemaphoreMutex(client, path);
        }

        public long enter() throws Exception {
            mutex.acquire();
            return Clients.token(client, first(client, path + "/leases"));
        }

        public void leave() throws Exception {
            mutex.release();
        }
    }

    /** The first in a queue: the node of the holder. */
    static String first(CuratorFramework client, String path) throws Exception {
        List<String> names = client.getChildren().forPath(path);
        names.sort((a, b) -> a.substring(a.length() - 10).compareTo(b.substring(b.length() - 10)));
        return path + "/" + names.get(0);
    }

    /** A latch serves once. */
    final class Latch implements Turn {
        private final CuratorFramework client;
        private final String path;
        private final String id;
        private LeaderLatch latch;

        Latch(CuratorFramework client, String path, String id) {
            this.client = client;
            this.path = path;
            this.id = id;
        }

        public long enter() throws Exception {
            latch = new LeaderLatch(client, path, id);
            latch.start();
            latch.await();
            return Clients.token(client, latch.getOurPath());
        }

        public void leave() throws Exception {
            latch.close();
        }
    }

    /** A selector calls; here it is asked. */
    final class Selector extends LeaderSelectorListenerAdapter implements Turn {
        private final CuratorFramework client;
        private final String path;
        private final String id;
        private CountDownLatch leads;
        private CountDownLatch done;
        private ExecutorService thread;
        private LeaderSelector selector;

        Selector(CuratorFramework client, String path, String id) {
            this.client = client;
            this.path = path;
            this.id = id;
        }

        public void takeLeadership(CuratorFramework client) throws Exception {
            leads.countDown();
            done.await();
        }

        public long enter() throws Exception {
            leads = new CountDownLatch(1);
            done = new CountDownLatch(1);
            thread = Executors.newSingleThreadExecutor();
            selector = new LeaderSelector(client, path, thread, this);
            selector.setId(id);
            selector.start();
            leads.await();
            return Clients.token(client, first(client, path)); // the selector does not show it
        }

        public void leave() throws Exception {
            done.countDown();
            thread.shutdown();
            if (!thread.awaitTermination(60, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the selector does not end");
            }
            selector.close();
        }
    }
}
