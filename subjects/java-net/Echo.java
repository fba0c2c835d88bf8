import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * An echo server on java.net sockets alone: blocking, a thread for each connection, as the published comparison of
 * layers on the JVM had it. `tcp` sends back what came; `tcp-framed` has a 32-bit big-endian length before each
 * message. Chosen: TCP_NODELAY, the backlog that is asked for, 8 KiB to read into. All else is the JDK's default.
 */
public final class Echo {
    private interface Service {
        void serve(Socket socket) throws IOException;
    }

    private final ServerSettings settings;

    private Echo(ServerSettings settings) {
        this.settings = settings;
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length > 0) {
            System.out.println(System.getProperty("java.version"));
            return;
        }
        ServerSettings settings = new ServerSettings();
        Echo echo = new Echo(settings);
        echo.listen("tcp", settings.port, echo::stream);
        echo.listen("tcp-framed", 0, echo::framed);
    }

    private void listen(String scheme, int port, Service service) throws IOException {
        ServerSocket listener = new ServerSocket(port, settings.backlog, settings.host);
        new Thread(() -> accept(listener, service), scheme).start();
        settings.ready(scheme, listener.getLocalPort(), "");
    }

    private static void accept(ServerSocket listener, Service service) {
        while (true) {
            try {
                Socket socket = listener.accept();
                new Thread(() -> connection(socket, service)).start();
            } catch (IOException error) {
                System.err.println("accept: " + error.getMessage());
            }
        }
    }

    private static void connection(Socket socket, Service service) {
        try (socket) {
            socket.setTcpNoDelay(true);
            service.serve(socket);
        } catch (IOException gone) {
            // The other end closed in the middle of something, which is no fault here.
        }
    }

    private void stream(Socket socket) throws IOException {
        InputStream in = socket.getInputStream();
        OutputStream out = socket.getOutputStream();
        byte[] buffer = new byte[8192];
        long owed = 0;
        for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
            settings.work();
            if (settings.reply == null) {
                out.write(buffer, 0, count);
                continue;
            }
            for (owed += count; owed >= settings.reply.length; owed -= settings.reply.length) {
                out.write(settings.reply);
            }
        }
    }

    private void framed(Socket socket) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 8192));
        OutputStream out = socket.getOutputStream();
        byte[] reply = settings.reply == null ? null : frame(settings.reply.length).put(settings.reply).array();
        byte[] frame = new byte[1024];
        // The end of the stream between two frames is also thrown, and ends the connection.
        while (true) {
            int length = in.readInt();
            if (length < 0 || length > settings.messageMax) {
                return;
            }
            frame = frame.length < 4 + length ? Arrays.copyOf(frame, 4 + length) : frame;
            in.readFully(frame, 4, length);
            settings.work();
            if (reply == null) {
                ByteBuffer.wrap(frame).putInt(length);
                out.write(frame, 0, 4 + length);
            } else {
                out.write(reply);
            }
        }
    }

    private static ByteBuffer frame(int length) {
        return ByteBuffer.allocate(4 + length).putInt(length);
    }
}
