import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A file to which all processes append lines, each in one write. */
final class Witness implements AutoCloseable {
    private final FileChannel file;

    Witness(String path) throws IOException {
        file = FileChannel.open(Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
    }

    void say(String line) throws IOException {
        file.write(ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.UTF_8)));
    }

    public void close() throws IOException {
        file.close();
    }
}
