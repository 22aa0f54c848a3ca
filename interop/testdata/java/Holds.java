import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.Revoker;

/** What is held, by the names that commands give. */
final class Holds {
    /** Curator's locks belong to a thread, so each hold has one. */
    private static final class Hold {
        final Turn turn;
        final ExecutorService thread = Executors.newSingleThreadExecutor(run -> {
            Thread t = new Thread(run);
            t.setDaemon(true);
            return t;
        });

        Hold(Turn turn) {
            this.turn = turn;
        }
    }

    private final Clients clients;
    private final Map<String, Hold> holds = new ConcurrentHashMap<>();

    Holds(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Peer.Command> commands) {
        commands.put("hold", this::hold);
        commands.put("release", this::release);
        commands.put("believes", this::believes);
        commands.put("downgrade", this::downgrade);
        commands.put("participants", with ->
            new InterProcessMutex(clients.of(with), with.get("path").asText()).getParticipantNodes());
        commands.put("candidates", this::candidates);
        commands.put("revoke", with -> {
            Revoker.attemptRevoke(clients.of(with), with.get("path").asText());
            return null;
        });
        commands.put("asked", with -> ((Turn.Revocable) holds.get(with.get("as").asText()).turn).isAsked());
    }

    private Object hold(JsonNode with) throws Exception {
        Hold hold = new Hold(Turn.of(clients, with.get("recipe").asText(), with));
        long token = hold.thread.submit(hold.turn::enter).get();
        holds.put(with.get("as").asText(), hold);
        return token;
    }

    private Object release(JsonNode with) throws Exception {
        Hold hold = holds.remove(with.get("as").asText());
        hold.thread.submit(() -> {
            hold.turn.leave();
            return null;
        }).get();
        hold.thread.shutdown();
        return null;
    }

    /** The ids of an election's candidates, in Curator's order. */
    private Object candidates(JsonNode with) throws Exception {
        CuratorFramework client = clients.of(with);
        String path = with.get("path").asText();
        List<String> ids = new ArrayList<>();
        if (with.get("recipe").asText().equals("latch")) {
            new LeaderLatch(client, path).getParticipants().forEach(each -> ids.add(each.getId()));
        } else {
            new LeaderSelector(client, path, new Turn.Selector(client, path, "")).getParticipants().forEach(each -> ids.add(each.getId()));
        }
        return ids;
    }

    private Object downgrade(JsonNode with) throws Exception {
        Hold hold = holds.get(with.get("as").asText());
        return hold.thread.submit(((Turn.ReadWrite.Downgrading) hold.turn)::downgrade).get();
    }

    /** Whether a mutex thinks that it is held. */
    private Object believes(JsonNode with) {
        return ((Turn.Mutex) holds.get(with.get("as").asText()).turn).isAcquiredInThisProcess();
    }
}
