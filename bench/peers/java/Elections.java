import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;

/** LeaderLatch. */
final class Elections {
    private static final class Victory {
        final Candidate candidate;
        final long at = System.nanoTime();

        Victory(Candidate candidate) {
            this.candidate = candidate;
        }
    }

    private static final class Candidate {
        private final CuratorFramework client;
        private final String path;
        private final BlockingQueue<Victory> led;
        private LeaderLatch latch;

        Candidate(CuratorFramework client, String path, BlockingQueue<Victory> led) {
            this.client = client;
            this.path = path;
            this.led = led;
        }

        void stand() throws Exception {
            latch = new LeaderLatch(client, path); // one that was closed cannot be started again
            latch.addListener(new LeaderLatchListener() {
                public void isLeader() {
                    led.add(new Victory(Candidate.this));
                }

                public void notLeader() {}
            });
            latch.start();
        }
    }

    private Elections() {}

    /** From each resignation until the next leader knows that it leads. A former leader stands again. */
    static double handOvers(JsonNode task, List<CuratorFramework> clients) throws Exception {
        BlockingQueue<Victory> led = new LinkedBlockingQueue<>();
        List<Candidate> all = new ArrayList<>();
        for (CuratorFramework client : clients) {
            Candidate candidate = new Candidate(client, task.get("path").asText(), led);
            candidate.stand();
            all.add(candidate);
        }
        long warm = task.get("warm_ms").asLong() * 1_000_000;
        long time = task.get("time_ms").asLong() * 1_000_000;
        List<Double> took = new ArrayList<>();
        Victory leader = next(led);
        for (long start = System.nanoTime(); System.nanoTime() - start < warm + time; ) {
            Thread.sleep(2); // all candidates wait by then
            Candidate old = leader.candidate;
            long began = System.nanoTime();
            old.latch.close();
            leader = next(led);
            if (began - start > warm) {
                took.add((leader.at - began) / 1e3);
            }
            old.stand();
        }
        for (Candidate candidate : all) {
            candidate.latch.close();
        }
        return Bench.median(took.stream().mapToDouble(Double::doubleValue).toArray());
    }

    private static Victory next(BlockingQueue<Victory> led) throws Exception {
        Victory leader = led.poll(30, TimeUnit.SECONDS);
        if (leader == null) {
            throw new IllegalStateException("there is no leader");
        }
        return leader;
    }
}
