import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;

/** Znodes: changed by Curator, and seen by CuratorCache. */
final class Views {
    private final Clients clients;
    private final Map<String, CuratorCache> caches = new ConcurrentHashMap<>();

    Views(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Peer.Command> commands) {
        commands.put("cache.open", this::open);
        commands.put("cache.dump", this::dump);
        commands.put("cache.close", with -> {
            caches.remove(with.get("as").asText()).close();
            return null;
        });
        commands.put("put", with ->
            clients.of(with).create().orSetData().creatingParentsIfNeeded().forPath(path(with), with.path("data").asText().getBytes(StandardCharsets.UTF_8)));
        commands.put("delete", with -> {
            clients.of(with).delete().deletingChildrenIfNeeded().forPath(path(with));
            return null;
        });
    }

    private static String path(JsonNode with) {
        return with.get("path").asText();
    }

    private Object open(JsonNode with) throws Exception {
        CuratorCache cache = CuratorCache.build(clients.of(with), path(with));
        CountDownLatch loaded = new CountDownLatch(1);
        cache.listenable().addListener(CuratorCacheListener.builder().forInitialized(loaded::countDown).build());
        cache.start();
        loaded.await();
        caches.put(with.get("as").asText(), cache);
        return null;
    }

    private Object dump(JsonNode with) {
        Map<String, String> all = new TreeMap<>();
        caches.get(with.get("as").asText()).stream()
            .forEach((ChildData node) -> all.put(node.getPath(), new String(node.getData(), StandardCharsets.UTF_8)));
        return all;
    }
}
