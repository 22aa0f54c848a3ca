import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.CuratorCacheListenerBuilder;

/** CuratorCache. */
final class Views {
    private Views() {}

    /** Loads again and again: once to warm up, then as often as there is time for, at least once. */
    static double load(JsonNode task, CuratorFramework client) throws Exception {
        loadOnce(task, client);
        List<Double> all = new ArrayList<>();
        long began = System.nanoTime();
        do {
            all.add(loadOnce(task, client));
        } while (System.nanoTime() - began < task.get("time_ms").asLong() * 1_000_000);
        return median(all);
    }

    private static double loadOnce(JsonNode task, CuratorFramework client) throws Exception {
        long began = System.nanoTime();
        try (CuratorCache cache = loaded(client, path(task), CuratorCacheListener.builder())) {
            double took = (System.nanoTime() - began) / 1e6;
            if (cache.size() != task.get("nodes").asInt() + 1) { // with the path itself
                throw new IllegalStateException(cache.size() + " are loaded");
            }
            return took;
        }
    }

    static double creates(JsonNode task, CuratorFramework client) throws Exception {
        String first = path(task) + "/child-000000";
        AtomicInteger missing = new AtomicInteger(task.get("nodes").asInt() + 1); // with the path itself
        AtomicReference<byte[]> stamp = new AtomicReference<>();
        CountDownLatch all = new CountDownLatch(1);
        try (CuratorCache cache = loaded(client, path(task), CuratorCacheListener.builder().forCreates(node -> {
            if (node.getPath().equals(first)) {
                stamp.set(node.getData());
            }
            if (missing.decrementAndGet() == 0) {
                all.countDown();
            }
        }))) {
            Bench.ready();
            all.await();
            return since(stamp.get()) / 1000;
        }
    }

    static double change(JsonNode task, CuratorFramework client) throws Exception {
        long warm = task.get("warm_ms").asLong();
        List<Double> ages = Collections.synchronizedList(new ArrayList<>());
        try (CuratorCache cache = loaded(client, path(task), CuratorCacheListener.builder().forChanges(
            (ChildData old, ChildData node) -> ages.add(since(node.getData()))))) {
            Bench.ready();
            Thread.sleep(warm);
            ages.clear();
            Thread.sleep(task.get("time_ms").asLong());
            return median(new ArrayList<>(List.of(ages.toArray(new Double[0]))));
        }
    }

    /** A cache that has all there is, and tells the listener that is being built. */
    private static CuratorCache loaded(CuratorFramework client, String path, CuratorCacheListenerBuilder listener) throws Exception {
        CuratorCache cache = CuratorCache.build(client, path);
        CountDownLatch loaded = new CountDownLatch(1);
        cache.listenable().addListener(listener.forInitialized(loaded::countDown).build());
        cache.start();
        loaded.await();
        return cache;
    }

    private static double since(byte[] stamp) {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()) - Long.parseLong(new String(stamp, StandardCharsets.UTF_8));
    }

    private static double median(List<Double> values) {
        return Bench.median(values.stream().mapToDouble(Double::doubleValue).toArray());
    }

    private static String path(JsonNode task) {
        return task.get("path").asText();
    }
}
