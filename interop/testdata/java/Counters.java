import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicInteger;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicNumber;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.retry.RetryNTimes;

/** DistributedAtomicLong, DistributedAtomicInteger and SharedCount. */
final class Counters {
    /** Adds one, however often it must try, and returns the sum. */
    interface Adder {
        long increment() throws Exception;
    }

    private final Clients clients;
    private final Map<String, SharedCount> counts = new ConcurrentHashMap<>();

    Counters(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Peer.Command> commands) {
        commands.put("long.get", with -> atomicLong(clients.of(with), path(with)).get().postValue());
        commands.put("long.add", with -> succeeded(atomicLong(clients.of(with), path(with)).add(with.get("value").asLong())));
        commands.put("long.set", with -> {
            atomicLong(clients.of(with), path(with)).forceSet(with.get("value").asLong());
            return null;
        });
        commands.put("long.cas", with ->
            atomicLong(clients.of(with), path(with)).compareAndSet(with.get("old").asLong(), with.get("value").asLong()).succeeded());
        commands.put("int.get", with -> atomicInteger(clients.of(with), path(with)).get().postValue());
        commands.put("count.open", this::open);
        commands.put("count.get", with -> count(with).getCount());
        commands.put("count.set", with -> {
            count(with).setCount(with.get("value").asInt());
            return null;
        });
        commands.put("count.close", with -> {
            counts.remove(with.get("as").asText()).close();
            return null;
        });
    }

    static Adder adder(Clients clients, String recipe, JsonNode with) throws Exception {
        CuratorFramework client = clients.of(with);
        if (recipe.equals("shared")) {
            SharedCount count = new SharedCount(client, path(with), 0);
            count.start();
            return () -> {
                while (true) {
                    VersionedValue<Integer> seen = count.getVersionedValue();
                    if (count.trySetCount(seen, seen.getValue() + 1)) {
                        return seen.getValue() + 1;
                    }
                }
            };
        }
        DistributedAtomicNumber<?> number = recipe.equals("long") ? atomicLong(client, path(with)) : atomicInteger(client, path(with));
        return () -> {
            while (true) {
                AtomicValue<?> value = number.increment();
                if (value.succeeded()) {
                    return ((Number) value.postValue()).longValue();
                }
            }
        };
    }

    private static long succeeded(AtomicValue<Long> value) {
        if (!value.succeeded()) {
            throw new IllegalStateException("not succeeded");
        }
        return value.postValue();
    }

    private static DistributedAtomicLong atomicLong(CuratorFramework client, String path) {
        return new DistributedAtomicLong(client, path, new RetryNTimes(20, 2));
    }

    private static DistributedAtomicInteger atomicInteger(CuratorFramework client, String path) {
        return new DistributedAtomicInteger(client, path, new RetryNTimes(20, 2));
    }

    private static String path(JsonNode with) {
        return with.get("path").asText();
    }

    private Object open(JsonNode with) throws Exception {
        SharedCount count = new SharedCount(clients.of(with), path(with), with.path("value").asInt());
        count.start();
        counts.put(with.get("as").asText(), count);
        return count.getCount();
    }

    private SharedCount count(JsonNode with) {
        return counts.get(with.get("as").asText());
    }
}
