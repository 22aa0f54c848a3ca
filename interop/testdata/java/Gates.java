import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;

/** DistributedBarrier. */
final class Gates {
    private final Clients clients;

    Gates(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Peer.Command> commands) {
        commands.put("gate.set", with -> {
            gate(with).setBarrier();
            return null;
        });
        commands.put("gate.remove", with -> {
            gate(with).removeBarrier();
            return null;
        });
        commands.put("gate.wait", with -> {
            gate(with).waitOnBarrier();
            return null;
        });
    }

    private DistributedBarrier gate(JsonNode with) {
        return new DistributedBarrier(clients.of(with), with.get("path").asText());
    }
}
