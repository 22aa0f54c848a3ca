import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Does with Curator what the lines of its input say, each in a thread of its
 * own; interop/peer_test.go has the protocol.
 *
 * With arguments, servers and session timeout in milliseconds, it is one peer, and
 * ends with its input. Without it is as many as there are connections to the port
 * that it prints; the first line of each has what would be the arguments.
 */
public final class Peer {
    interface Command {
        Object run(JsonNode with) throws Exception;
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private final BufferedReader in;
    private final PrintStream out;
    private final Map<String, Command> commands = new HashMap<>();

    public static void main(String[] argv) throws Exception {
        if (argv.length > 0) {
            new Peer(System.in, System.out).serve(argv);
            System.exit(0);
        }
        ServerSocket door = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
        System.out.println(door.getLocalPort());
        daemon(() -> {
            while (true) {
                Socket socket = door.accept();
                daemon(() -> {
                    try (socket) {
                        Peer peer = new Peer(socket.getInputStream(), socket.getOutputStream());
                        peer.serve(peer.in.readLine().split(" "));
                    }
                });
            }
        });
        while (System.in.read() >= 0) {
            // It ends with its input.
        }
        System.exit(0);
    }

    private interface Work {
        void run() throws Exception;
    }

    private static void daemon(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception e) {
                e.printStackTrace();
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private Peer(InputStream in, OutputStream out) {
        this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        this.out = new PrintStream(out, true, StandardCharsets.UTF_8);
    }

    private void serve(String[] arguments) throws Exception {
        Clients clients = new Clients(arguments[0], Integer.parseInt(arguments[1]));
        commands.put("hello", with -> {
            clients.of(with);
            return "curator " + clients.version();
        });
        commands.put("bye", with -> {
            clients.close();
            return null;
        });
        new Holds(clients).addTo(commands);
        new Hammers(clients).addTo(commands);
        new Counters(clients).addTo(commands);
        new Values(clients).addTo(commands);
        new Gates(clients).addTo(commands);
        new Groups(clients).addTo(commands);
        new Nodes(clients).addTo(commands);
        new Registry(clients).addTo(commands);
        new Views(clients).addTo(commands);
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode with = JSON.readTree(line);
            daemon(() -> answer(with));
        }
    }

    private void answer(JsonNode with) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", with.get("id").asInt());
        try {
            Command command = commands.get(with.get("do").asText());
            if (command == null) {
                throw new IllegalArgumentException("no such command");
            }
            answer.put("ok", command.run(with));
        } catch (Throwable e) {
            answer.remove("ok");
            answer.put("error", e.toString());
        }
        try {
            String line = JSON.writeValueAsString(answer);
            synchronized (out) {
                out.println(line);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
