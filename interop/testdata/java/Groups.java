import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.recipes.nodes.GroupMember;

/** GroupMember. */
final class Groups {
    private final Clients clients;
    private final Map<String, GroupMember> members = new ConcurrentHashMap<>();

    Groups(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Peer.Command> commands) {
        commands.put("group.join", this::join);
        commands.put("group.members", this::list);
        commands.put("group.leave", with -> {
            members.remove(with.get("as").asText()).close();
            return null;
        });
    }

    private Object join(JsonNode with) {
        byte[] data = with.path("data").asText("").getBytes(StandardCharsets.UTF_8);
        GroupMember member = new GroupMember(clients.of(with), with.get("path").asText(), with.get("as").asText(), data);
        member.start();
        members.put(with.get("as").asText(), member);
        return null;
    }

    private Object list(JsonNode with) {
        Map<String, String> all = new TreeMap<>();
        members.get(with.get("as").asText()).getCurrentMembers()
            .forEach((id, data) -> all.put(id, new String(data, StandardCharsets.UTF_8)));
        return all;
    }
}
