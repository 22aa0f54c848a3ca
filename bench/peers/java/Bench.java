import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;

/**
 * Measures Curator, one task at a time; internal/task has the protocol. It ends
 * with its input.
 *
 * Arguments: servers, session timeout in milliseconds.
 */
public final class Bench {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] argv) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode task = JSON.readTree(line);
            try {
                if (task.get("kind").asText().equals("hello")) {
                    say("version", "curator " + version());
                    continue;
                }
                double value;
                try (Clients clients = new Clients(argv[0], Integer.parseInt(argv[1]), task.get("clients").asInt())) {
                    value = measure(task, clients.all);
                }
                say("value", value); // when all sessions are closed
            } catch (Throwable e) {
                e.printStackTrace();
                say("error", task.get("kind").asText() + ": " + e);
            }
        }
        System.exit(0);
    }

    private static double measure(JsonNode task, List<CuratorFramework> clients) throws Exception {
        switch (task.get("kind").asText()) {
            case "load": return Views.load(task, clients.get(0));
            case "creates": return Views.creates(task, clients.get(0));
            case "change": return Views.change(task, clients.get(0));
            case "election": return Elections.handOvers(task, clients);
            default: return Rates.measure(task, Turns.workers(task, clients));
        }
    }

    /** What is to be written may be written from now on. */
    static void ready() throws Exception {
        say("ready", true);
    }

    private static void say(String key, Object value) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put(key, value);
        OUT.println(JSON.writeValueAsString(answer));
    }

    static double median(double[] values) {
        if (values.length == 0) {
            throw new IllegalStateException("nothing was measured in time");
        }
        Arrays.sort(values);
        int at = values.length / 2;
        return values.length % 2 == 1 ? values[at] : (values[at - 1] + values[at]) / 2;
    }

    /** The release of Curator, which the names of its jars tell. */
    private static String version() throws Exception {
        File jar = new File(CuratorFramework.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        for (File other : jar.getParentFile().listFiles()) {
            String name = other.getName();
            if (name.matches("curator-framework-\\d.*\\.jar")) {
                return name.substring("curator-framework-".length(), name.length() - ".jar".length());
            }
        }
        return "of unknown release";
    }
}
