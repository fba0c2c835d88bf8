import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * A WebSocket echo server on java.net sockets: the thin WebSocket of `jvm/WebSocket.java` (our own), blocking, a thread
 * for each connection. It shows what WebSocket costs on the JVM without a framework: compare with `java-net` below
 * and Netty above. Chosen: TCP_NODELAY, the backlog that is asked for. All else is the JDK's default.
 */
public final class Echo {
    public static void main(String[] arguments) throws IOException {
        if (arguments.length > 0) {
            System.out.println(System.getProperty("java.version"));
            return;
        }
        ServerSettings settings = new ServerSettings();
        ServerSocket listener = new ServerSocket(settings.port, settings.backlog, settings.host);
        settings.ready("ws", listener.getLocalPort(), "/");
        while (true) {
            try {
                Socket socket = listener.accept();
                new Thread(() -> connection(socket, settings)).start();
            } catch (IOException error) {
                System.err.println("accept: " + error.getMessage());
            }
        }
    }

    private static void connection(Socket socket, ServerSettings settings) {
        try (socket) {
            socket.setTcpNoDelay(true);
            WebSocket peer = new WebSocket(socket.getInputStream(), socket.getOutputStream(), settings.messageMax);
            if (!peer.accept()) {
                return;
            }
            while (peer.receive()) {
                settings.work();
                byte[] answer = settings.reply == null ? peer.message : settings.reply;
                peer.send(peer.text, answer, settings.reply == null ? peer.length : answer.length);
            }
        } catch (IOException gone) {
            // The other end closed in the middle of something, which is no fault here.
        }
    }
}
