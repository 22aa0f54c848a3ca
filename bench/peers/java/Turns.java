import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryNTimes;

/** What workers do, again and again. Those of one client share the recipe. */
final class Turns {
    private Turns() {}

    static List<Rates.Work> workers(JsonNode task, List<CuratorFramework> clients) {
        List<Rates.Work> shared = new ArrayList<>();
        for (CuratorFramework client : clients) {
            shared.add(of(task, client, task.get("path").asText()));
        }
        List<Rates.Work> all = new ArrayList<>();
        for (int i = 0; i < task.get("workers").asInt(); i++) {
            all.add(shared.get(i % shared.size()));
        }
        return all;
    }

    private static Rates.Work of(JsonNode task, CuratorFramework client, String path) {
        switch (task.get("kind").asText()) {
            case "lock": {
                InterProcessMutex mutex = new InterProcessMutex(client, path);
                return n -> turn(mutex);
            }
            case "semaphore": {
                InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, task.get("permits").asInt());
                return n -> {
                    Lease lease = semaphore.acquire();
                    semaphore.returnLease(lease);
                };
            }
            case "rwlock": {
                InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, path);
                int writes = task.get("writes").asInt();
                return n -> turn(n * writes % 100 < writes ? lock.writeLock() : lock.readLock());
            }
            case "counter": {
                // Tries again at once, as often as it takes.
                DistributedAtomicLong number = new DistributedAtomicLong(client, path, new RetryNTimes(1_000_000, 0));
                return n -> {
                    if (!number.increment().succeeded()) {
                        throw new IllegalStateException("not incremented");
                    }
                };
            }
            default: throw new IllegalArgumentException("cannot measure this");
        }
    }

    private static void turn(InterProcessLock lock) throws Exception {
        lock.acquire();
        lock.release();
    }
}
