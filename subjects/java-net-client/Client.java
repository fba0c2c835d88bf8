import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A client on java.net sockets: blocking, a thread for each connection. `tcp` and `tcp-framed` are the socket
 * alone; `ws` is the thin WebSocket of `jvm/WebSocket.java` (our own). Chosen: TCP_NODELAY. All else is the JDK's
 * default.
 */
public final class Client extends Lane {
    private static final int CLOSE_MS_MAX = 5000;

    private final ClientSettings settings;
    private final Block block;
    private final Thread thread = new Thread(this::drive);
    private Connection connection;

    private Client(ClientSettings settings, Block block) {
        this.settings = settings;
        this.block = block;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        if (arguments.length > 0) {
            System.out.println(System.getProperty("java.version"));
            return;
        }
        ClientSettings settings = new ClientSettings();
        new ClientRun(settings)
            .serve("java.net " + System.getProperty("java.version"), block -> new Client(settings, block));
    }

    @Override
    void open() throws IOException {
        connection = connect(true);
    }

    @Override
    void begin() {
        thread.start();
    }

    @Override
    void await() throws InterruptedException {
        thread.join();
    }

    @Override
    void close() {
        if (connection == null) {
            return;
        }
        long before = System.nanoTime();
        try {
            connection.close();
            closes.add(System.nanoTime() - before);
        } catch (IOException error) {
            abandon(error);
        }
    }

    private void drive() {
        block.gate.join();
        if (settings.life == 0) {
            try {
                exchange(Long.MAX_VALUE);
            } catch (IOException error) {
                abandon(error);
            }
            return;
        }
        for (long now = System.nanoTime(); block.mayLive(now); now = System.nanoTime()) {
            live(now);
        }
    }

    private void live(long began) {
        boolean counts = block.counts(began);
        try {
            connection = null;
            connection = connect(counts);
            boolean whole = exchange(settings.life);
            long life = System.nanoTime() - began;
            connection.close();
            if (counts) {
                closes.add(System.nanoTime() - began - life);
                if (whole) {
                    lives.add(life);
                }
            }
        } catch (IOException error) {
            abandon(error);
            block.spend(began);
        }
    }

    private void abandon(IOException error) {
        error(error);
        if (connection != null) {
            try {
                connection.socket.close();
            } catch (IOException again) {
                error(again);
            }
            connection = null;
        }
    }

    /** Makes {@code count} round trips, one after the other; false: the block was over before. */
    private boolean exchange(long count) throws IOException {
        for (long done = 0; done < count; done++) {
            long sent = System.nanoTime();
            if (!block.maySend(sent)) {
                return false;
            }
            boolean good = connection.roundTrip();
            long received = System.nanoTime();
            if (!good) {
                throw new IOException("another reply than was expected");
            }
            if (block.counts(sent)) {
                roundTrips.add(received - sent);
                last = received;
            }
        }
        return true;
    }

    private Connection connect(boolean counts) throws IOException {
        long before = System.nanoTime();
        InetAddress[] addresses = InetAddress.getAllByName(settings.url.getHost());
        long resolved = System.nanoTime();
        Socket socket = connect(addresses, settings.url.getPort());
        long connected = System.nanoTime();
        Connection made;
        try {
            made = switch (settings.url.getScheme()) {
                case "tcp" -> new Stream(socket, settings);
                case "tcp-framed" -> new Framed(socket, settings);
                case "ws" -> new Web(socket, settings);
                default -> throw new IOException("unknown scheme " + settings.url.getScheme());
            };
        } catch (IOException error) {
            socket.close();
            throw error;
        }
        if (counts) {
            resolves.add(resolved - before);
            connects.add(connected - resolved);
            if (made instanceof Web) {
                handshakes.add(System.nanoTime() - connected);
            }
        }
        return made;
    }

    /** The first address that accepts, in the order of the resolver. */
    private static Socket connect(InetAddress[] addresses, int port) throws IOException {
        IOException refused = new IOException("the name has no address");
        for (InetAddress address : addresses) {
            Socket socket = new Socket();
            try {
                socket.setTcpNoDelay(true);
                socket.connect(new InetSocketAddress(address, port));
                return socket;
            } catch (IOException error) {
                socket.close();
                refused = error;
            }
        }
        throw refused;
    }

    /** A connection that can make one round trip after the other. */
    private abstract static class Connection {
        final Socket socket;
        final ClientSettings settings;

        Connection(Socket socket, ClientSettings settings) {
            this.socket = socket;
            this.settings = settings;
        }

        /** Sends, and receives the whole reply; false: it is not the expected one. */
        abstract boolean roundTrip() throws IOException;

        /** Ends it properly, until the other end has closed too. */
        void close() throws IOException {
            try (socket) {
                socket.setSoTimeout(CLOSE_MS_MAX);
                socket.shutdownOutput();
                socket.getInputStream().transferTo(OutputStream.nullOutputStream());
            }
        }
    }

    private static final class Stream extends Connection {
        private final InputStream in;
        private final OutputStream out;
        private final byte[] reply;

        Stream(Socket socket, ClientSettings settings) throws IOException {
            super(socket, settings);
            in = socket.getInputStream();
            out = socket.getOutputStream();
            reply = new byte[settings.expect.length];
        }

        @Override
        boolean roundTrip() throws IOException {
            out.write(settings.payload);
            if (in.readNBytes(reply, 0, reply.length) < reply.length) {
                throw new EOFException("the connection was closed");
            }
            return Arrays.equals(reply, settings.expect);
        }
    }

    private static final class Framed extends Connection {
        private final DataInputStream in;
        private final OutputStream out;
        private final byte[] frame;
        private final byte[] reply;

        Framed(Socket socket, ClientSettings settings) throws IOException {
            super(socket, settings);
            in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 8192));
            out = socket.getOutputStream();
            int length = settings.payload.length;
            frame = ByteBuffer.allocate(4 + length).putInt(length).put(settings.payload).array();
            reply = new byte[settings.expect.length];
        }

        @Override
        boolean roundTrip() throws IOException {
            out.write(frame);
            if (in.readInt() != reply.length) {
                return false;
            }
            in.readFully(reply);
            return Arrays.equals(reply, settings.expect);
        }
    }

    private static final class Web extends Connection {
        private final WebSocket peer;

        Web(Socket socket, ClientSettings settings) throws IOException {
            super(socket, settings);
            peer = new WebSocket(socket.getInputStream(), socket.getOutputStream(), Integer.MAX_VALUE - 16);
            peer.connect(settings.url.getRawAuthority(), settings.path());
        }

        @Override
        boolean roundTrip() throws IOException {
            peer.send(settings.text, settings.payload, settings.payload.length);
            if (!peer.receive()) {
                throw new EOFException("the connection was closed");
            }
            return peer.text == settings.text
                && Arrays.equals(peer.message, 0, peer.length, settings.expect, 0, settings.expect.length);
        }

        @Override
        void close() throws IOException {
            socket.setSoTimeout(CLOSE_MS_MAX);
            peer.close();
            super.close();
        }
    }
}
