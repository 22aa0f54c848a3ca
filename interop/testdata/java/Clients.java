import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;

/** The sessions of this process, made when a command first names them. */
final class Clients {
    private final String servers;
    private final int timeout;
    private final Map<String, CuratorFramework> clients = new ConcurrentHashMap<>();

    Clients(String servers, int timeout) {
        this.servers = servers;
        this.timeout = timeout;
    }

    /** The client that "client" names; all commands that name none share one. */
    CuratorFramework of(JsonNode with) {
        return clients.computeIfAbsent(with.path("client").asText(""), name -> {
            CuratorFramework client = CuratorFrameworkFactory.newClient(servers, timeout, 10_000, new RetryNTimes(600, 100));
            CompletableFuture<Thread> events = new CompletableFuture<>();
            client.getConnectionStateListenable().addListener((c, state) -> {
                if (state == ConnectionState.CONNECTED) {
                    events.complete(Thread.currentThread());
                }
            });
            client.start();
            try {
                awaitAnnouncement(events.get(60, TimeUnit.SECONDS));
            } catch (Exception e) {
                throw new IllegalStateException("no connection to " + servers, e);
            }
            return client;
        });
    }

    /**
     * Waits until the thread that announces CONNECTED to listeners has nothing left to do.
     * blockUntilConnected returns before that: service discovery, for instance, would take
     * the announcement for a new connection, and delete and create again what it has just
     * registered.
     */
    private static void awaitAnnouncement(Thread events) throws InterruptedException {
        while (events.getState() != Thread.State.WAITING && events.getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(1);
        }
    }

    /** What a holder's token is: the czxid of its node. */
    static long token(CuratorFramework client, String path) throws Exception {
        return client.checkExists().forPath(path).getCzxid();
    }

    /** The release of Curator, which its jars say in their manifests' stead by their names. */
    String version() throws Exception {
        File jar = new File(CuratorFramework.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        for (File other : jar.getParentFile().listFiles()) {
            String name = other.getName();
            if (name.matches("curator-framework-\\d.*\\.jar")) {
                return name.substring("curator-framework-".length(), name.length() - ".jar".length());
            }
        }
        return "unknown";
    }

    void close() {
        clients.values().forEach(CuratorFramework::close);
        clients.clear();
    }
}
