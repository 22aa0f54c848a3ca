import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** Workers that enter and leave, or count, until they are told to stop. */
final class Hammers {
    /** One round; its number starts at 0. */
    interface Round {
        void run(int number) throws Exception;
    }

    private static final class Worker {
        final CompletableFuture<Integer> enough = new CompletableFuture<>();
        final CompletableFuture<Integer> over = new CompletableFuture<>();
        volatile boolean stop;
    }

    private final Clients clients;
    private final Map<String, Worker> workers = new ConcurrentHashMap<>();

    Hammers(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Peer.Command> commands) {
        commands.put("hammer", this::hammer);
        commands.put("stop", this::stop);
    }

    /** Answers after so many rounds, and goes on. */
    private Object hammer(JsonNode with) throws Exception {
        Worker worker = new Worker();
        workers.put(with.get("who").asText(), worker);
        int rounds = with.get("rounds").asInt();
        Thread thread = new Thread(() -> {
            int done = 0;
            try (Witness witness = new Witness(with.get("witness").asText())) {
                for (Round round = round(with, witness); !worker.stop; ) {
                    round.run(done);
                    if (++done == rounds) {
                        worker.enough.complete(done);
                    }
                }
                worker.over.complete(done);
            } catch (Throwable e) {
                worker.over.completeExceptionally(e);
                worker.enough.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return worker.enough.get();
    }

    /** Ends all workers and says how many rounds each has done. */
    private Object stop(JsonNode with) throws Exception {
        workers.values().forEach(worker -> worker.stop = true);
        Map<String, Integer> done = new LinkedHashMap<>();
        for (Map.Entry<String, Worker> each : workers.entrySet()) {
            done.put(each.getKey(), each.getValue().over.get());
        }
        workers.clear();
        return done;
    }

    private Round round(JsonNode with, Witness witness) throws Exception {
        String recipe = with.get("recipe").asText();
        String who = with.get("who").asText();
        switch (recipe) {
            case "long":
            case "int":
            case "shared":
            case "sharedvalue":
            case "atomicvalue": {
                Counters.Adder adder = recipe.endsWith("value") ? Values.adder(clients, recipe, with) : Counters.adder(clients, recipe, with);
                return number -> {
                    witness.say("begin " + who);
                    witness.say("done " + who + " " + adder.increment());
                    Thread.sleep(with.path("pause").asInt(0));
                };
            }
            case "rw": {
                int writes = with.get("writes").asInt();
                Round write = turn(Turn.of(clients, "write", with), "x", with, witness);
                Round read = turn(Turn.of(clients, "read", with), "s", with, witness);
                return number -> (number % writes == 0 ? write : read).run(number);
            }
            default:
                return turn(Turn.of(clients, recipe, with), recipe.equals("lease") || recipe.equals("semaphoremutex") ? "s" : "x", with, witness);
        }
    }

    private static Round turn(Turn turn, String kind, JsonNode with, Witness witness) {
        String who = with.get("who").asText();
        return number -> {
            long token = turn.enter();
            witness.say("in " + who + " " + kind + " " + token);
            Thread.sleep(with.path("pause").asInt(1));
            witness.say("out " + who);
            turn.leave();
        };
    }
}
