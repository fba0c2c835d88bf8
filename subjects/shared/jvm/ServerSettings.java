import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;

/** The settings of a server, from its environment (docs/SUBJECTS.md). Shared by the servers on the JVM. */
final class ServerSettings {
    final InetAddress host;
    /** The port of the first service; 0, and that of every further service: any that is free. */
    final int port;
    /** The text that every message is answered with, or null: then it is echoed. */
    final byte[] reply;
    /** How long the processor is kept busy for each message, in nanoseconds. */
    private final long work;
    final int messageMax;
    final int backlog;
    /** Paths of PEM files, or null. */
    final String certificate;
    final String key;

    ServerSettings() throws UnknownHostException {
        host = InetAddress.getByName(variable("WIREBENCH_HOST", "127.0.0.1"));
        port = Integer.parseInt(variable("WIREBENCH_PORT", "0"));
        String text = System.getenv("WIREBENCH_REPLY");
        reply = text == null ? null : text.getBytes(StandardCharsets.UTF_8);
        work = Long.parseLong(variable("WIREBENCH_WORK_NS", "0"));
        messageMax = Integer.parseInt(variable("WIREBENCH_MESSAGE_MAX", "16777216"));
        backlog = Integer.parseInt(variable("WIREBENCH_BACKLOG", "4096"));
        certificate = System.getenv("WIREBENCH_TLS_CERT");
        key = System.getenv("WIREBENCH_TLS_KEY");
    }

    boolean secure() {
        return certificate != null && key != null;
    }

    /** Keeps the processor busy for the time that a message is to cost, before it is answered. */
    void work() {
        if (work > 0) {
            long start = System.nanoTime();
            while (System.nanoTime() - start < work) {
                Thread.onSpinWait();
            }
        }
    }

    /** Reports that a service is ready. */
    void ready(String scheme, int port, String path) {
        System.out.println("ready " + scheme + "://" + host.getHostAddress() + ":" + port + path);
        System.out.flush();
    }

    private static String variable(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }
}
