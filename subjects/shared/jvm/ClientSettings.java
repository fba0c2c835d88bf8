import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;

/** The settings of a client, from its environment (docs/SUBJECTS.md). Shared by the clients on the JVM. */
final class ClientSettings {
    final URI url = URI.create(System.getenv("WIREBENCH_URL"));
    /** Path of a PEM file, or null. */
    final String authority = System.getenv("WIREBENCH_CA");
    final int connections = Integer.parseInt(System.getenv("WIREBENCH_CONNECTIONS"));
    final byte[] payload = read("WIREBENCH_PAYLOAD");
    final byte[] expect = read("WIREBENCH_EXPECT");
    final boolean text = "text".equals(System.getenv("WIREBENCH_KIND"));
    /** Round trips of a connection; 0: it stays. */
    final long life;

    ClientSettings() throws IOException {
        String words = System.getenv("WIREBENCH_LIFE");
        life = words == null || words.equals("long") ? 0 : Long.parseLong(words);
    }

    String path() {
        String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
        return url.getRawQuery() == null ? path : path + "?" + url.getRawQuery();
    }

    private static byte[] read(String name) throws IOException {
        return Files.readAllBytes(Path.of(System.getenv(name)));
    }
}
