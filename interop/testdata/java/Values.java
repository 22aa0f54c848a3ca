import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicValue;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.retry.RetryNTimes;

/** SharedValue and DistributedAtomicValue. Bytes travel in base64. */
final class Values {
    private final Clients clients;
    private final Map<String, SharedValue> values = new ConcurrentHashMap<>();
    private final Map<String, VersionedValue<byte[]>> seen = new ConcurrentHashMap<>();

    Values(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Peer.Command> commands) {
        commands.put("atomic.get", with -> atomic(clients.of(with), path(with)).get().postValue());
        commands.put("atomic.set", with -> {
            atomic(clients.of(with), path(with)).forceSet(bytes(with, "value"));
            return null;
        });
        commands.put("atomic.cas", with ->
            atomic(clients.of(with), path(with)).compareAndSet(bytes(with, "old"), bytes(with, "value")).succeeded());
        commands.put("atomic.initialize", with -> atomic(clients.of(with), path(with)).initialize(bytes(with, "value")));
        commands.put("value.open", with -> {
            SharedValue value = new SharedValue(clients.of(with), path(with), bytes(with, "value"));
            value.start();
            values.put(as(with), value);
            return value.getValue();
        });
        commands.put("value.get", with -> values.get(as(with)).getValue());
        commands.put("value.set", with -> {
            values.get(as(with)).setValue(bytes(with, "value"));
            return null;
        });
        commands.put("value.see", with -> {
            seen.put(as(with), values.get(as(with)).getVersionedValue());
            return null;
        });
        commands.put("value.try", with -> values.get(as(with)).trySetValue(seen.get(as(with)), bytes(with, "value")));
        commands.put("value.close", with -> {
            values.remove(as(with)).close();
            return null;
        });
    }

    /** Adds one to a decimal number in the bytes. */
    static Counters.Adder adder(Clients clients, String recipe, JsonNode with) throws Exception {
        CuratorFramework client = clients.of(with);
        if (recipe.equals("sharedvalue")) {
            SharedValue value = new SharedValue(client, path(with), text(0));
            value.start();
            return () -> {
                while (true) {
                    VersionedValue<byte[]> seen = value.getVersionedValue();
                    long next = number(seen.getValue()) + 1;
                    if (value.trySetValue(seen, text(next))) {
                        return next;
                    }
                }
            };
        }
        DistributedAtomicValue value = atomic(client, path(with));
        value.initialize(text(0));
        return () -> {
            while (true) {
                byte[] seen = value.get().postValue();
                long next = number(seen) + 1;
                if (value.compareAndSet(seen, text(next)).succeeded()) {
                    return next;
                }
            }
        };
    }

    private static DistributedAtomicValue atomic(CuratorFramework client, String path) {
        return new DistributedAtomicValue(client, path, new RetryNTimes(20, 2));
    }

    private static byte[] text(long number) {
        return Long.toString(number).getBytes(StandardCharsets.US_ASCII);
    }

    private static long number(byte[] text) {
        return Long.parseLong(new String(text, StandardCharsets.US_ASCII));
    }

    private static String path(JsonNode with) {
        return with.get("path").asText();
    }

    private static String as(JsonNode with) {
        return with.get("as").asText();
    }

    private static byte[] bytes(JsonNode with, String field) throws Exception {
        return with.get(field).binaryValue();
    }
}
