import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.nodes.PersistentTtlNode;
import org.apache.zookeeper.CreateMode;

/** PersistentNode and PersistentTtlNode. */
final class Nodes {
    private final Clients clients;
    private final Map<String, PersistentNode> nodes = new ConcurrentHashMap<>();
    private final Map<String, PersistentTtlNode> ttls = new ConcurrentHashMap<>();

    Nodes(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Peer.Command> commands) {
        commands.put("node.keep", this::keep);
        commands.put("node.path", with -> nodes.get(as(with)).getActualPath());
        commands.put("node.set", with -> {
            nodes.get(as(with)).setData(data(with));
            return null;
        });
        commands.put("node.close", with -> {
            nodes.remove(as(with)).close();
            return null;
        });
        commands.put("ttl.keep", this::keepTtl);
        commands.put("ttl.close", with -> {
            ttls.remove(as(with)).close();
            return null;
        });
    }

    private Object keep(JsonNode with) throws Exception {
        CreateMode mode = CreateMode.valueOf(with.get("mode").asText());
        boolean protection = with.path("protection").asBoolean();
        PersistentNode node = new PersistentNode(clients.of(with), mode, protection, with.get("path").asText(), data(with));
        node.start();
        nodes.put(as(with), node);
        return node.waitForInitialCreate(60, TimeUnit.SECONDS);
    }

    private Object keepTtl(JsonNode with) throws Exception {
        PersistentTtlNode node = new PersistentTtlNode(clients.of(with), with.get("path").asText(), with.get("ttl").asLong(), data(with));
        node.start();
        ttls.put(as(with), node);
        return node.waitForInitialCreate(60, TimeUnit.SECONDS);
    }

    private static String as(JsonNode with) {
        return with.get("as").asText();
    }

    private static byte[] data(JsonNode with) {
        return with.path("data").asText("").getBytes(StandardCharsets.UTF_8);
    }
}
