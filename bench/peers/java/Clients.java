import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** The sessions of one task. */
final class Clients implements AutoCloseable {
    final List<CuratorFramework> all = new ArrayList<>();

    Clients(String servers, int timeout, int n) throws Exception {
        try {
            for (int i = 0; i < n; i++) {
                CuratorFramework client = CuratorFrameworkFactory.newClient(servers, timeout, timeout, new ExponentialBackoffRetry(100, 3));
                all.add(client);
                client.start();
                if (!client.blockUntilConnected(60, TimeUnit.SECONDS)) {
                    throw new IllegalStateException("no connection to " + servers);
                }
            }
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    public void close() {
        all.forEach(CuratorFramework::close);
    }
}
