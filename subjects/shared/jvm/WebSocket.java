import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.SplittableRandom;

/**
 * A thin WebSocket (RFC 6455) on the streams of a socket, with nothing but the JDK: both handshakes, frames,
 * fragments, masks, ping, close, and the check of text. No extensions. Not thread-safe; a message goes out in one
 * write.
 */
final class WebSocket {
    private static final int TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10;

    private final InputStream in;
    private final OutputStream out;
    private final int messageMax;
    private final CharsetDecoder utf8 = StandardCharsets.UTF_8.newDecoder();
    private final CharBuffer characters = CharBuffer.allocate(4096);
    private final byte[] mask = new byte[4];
    private boolean client;
    private SplittableRandom random;
    private byte[] outgoing = new byte[1024];
    private boolean closeSent;

    /** The last message: its first `length` bytes, and its kind. */
    byte[] message = new byte[1024];
    int length;
    boolean text;

    WebSocket(InputStream in, OutputStream out, int messageMax) {
        this.in = new BufferedInputStream(in, 8192);
        this.out = out;
        this.messageMax = messageMax;
    }

    /** The handshake of a server; false: the request is not one, and was refused. */
    boolean accept() throws IOException {
        String request = head();
        String key = field(request, "sec-websocket-key");
        boolean good = request.startsWith("GET ") && key != null && "13".equals(field(request, "sec-websocket-version"))
            && field(request, "upgrade") != null && field(request, "upgrade").equalsIgnoreCase("websocket");
        String answer = good
            ? "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                + digest(key) + "\r\n\r\n"
            : "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        out.write(answer.getBytes(StandardCharsets.ISO_8859_1));
        return good;
    }

    /** The handshake of a client. */
    void connect(String authority, String path) throws IOException {
        client = true;
        random = new SplittableRandom();
        byte[] nonce = new byte[16];
        random.nextBytes(nonce);
        String key = Base64.getEncoder().encodeToString(nonce);
        String request = "GET " + path + " HTTP/1.1\r\nHost: " + authority + "\r\n"
            + "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: " + key + "\r\nSec-WebSocket-Version: 13\r\n\r\n";
        out.write(request.getBytes(StandardCharsets.ISO_8859_1));
        String answer = head();
        if (!answer.startsWith("HTTP/1.1 101 ") || !digest(key).equals(field(answer, "sec-websocket-accept"))) {
            throw new IOException("the server refused the handshake");
        }
    }

    /** Waits for a message; false: the other end has closed. */
    boolean receive() throws IOException {
        length = 0;
        boolean begun = false;
        while (true) {
            int first = octet(), second = octet(), opcode = first & 15;
            boolean last = (first & 128) != 0;
            if ((first & 112) != 0 || ((second & 128) != 0) == client) {
                return fail(1002);
            }
            long size = second & 127;
            size = size == 126 ? number(2) : size == 127 ? number(8) : size;
            if (opcode >= CLOSE) {
                if (!last || size > 125 || opcode > PONG) {
                    return fail(1002);
                }
                byte[] payload = new byte[(int) size];
                read(payload, 0, payload.length);
                if (opcode == CLOSE) {
                    return fail(closeCode(payload));
                }
                if (opcode == PING) {
                    send(PONG, payload, payload.length);
                }
                continue;
            }
            if (begun ? opcode != 0 : opcode != TEXT && opcode != BINARY) {
                return fail(1002);
            }
            if (size < 0 || size > messageMax - length) {
                return fail(1009);
            }
            text = begun ? text : opcode == TEXT;
            begun = true;
            if (message.length < length + size) {
                message = Arrays.copyOf(message, (int) Math.max(length + size, 2L * message.length));
            }
            read(message, length, (int) size);
            length += (int) size;
            if (last) {
                return text && !isUtf8() ? fail(1007) : true;
            }
        }
    }

    void send(boolean text, byte[] payload, int length) throws IOException {
        send(text ? TEXT : BINARY, payload, length);
    }

    /** Closes as the RFC requires, and waits for the answer. */
    void close() throws IOException {
        if (!fail(1000)) {
            boolean open = true;
            while (open) {
                open = receive();
            }
        }
    }

    private void send(int opcode, byte[] payload, int length) throws IOException {
        if (outgoing.length < length + 14) {
            outgoing = new byte[length + 14];
        }
        ByteBuffer frame = ByteBuffer.wrap(outgoing).put((byte) (128 | opcode));
        int masked = client ? 128 : 0;
        if (length < 126) {
            frame.put((byte) (masked | length));
        } else if (length < 65536) {
            frame.put((byte) (masked | 126)).putShort((short) length);
        } else {
            frame.put((byte) (masked | 127)).putLong(length);
        }
        if (client) {
            int key = random.nextInt();
            frame.putInt(key);
            int at = frame.position();
            for (int i = 0; i < length; i++) {
                outgoing[at + i] = (byte) (payload[i] ^ (key >>> (24 - 8 * (i & 3))));
            }
        } else {
            System.arraycopy(payload, 0, outgoing, frame.position(), length);
        }
        out.write(outgoing, 0, frame.position() + length);
    }

    /** Sends close once, with a code if there is one. */
    private boolean fail(int code) throws IOException {
        if (!closeSent) {
            closeSent = true;
            send(CLOSE, new byte[] {(byte) (code >> 8), (byte) code}, code == 0 ? 0 : 2);
        }
        return false;
    }

    /** The code to answer a close with. */
    private static int closeCode(byte[] payload) {
        if (payload.length < 2) {
            return payload.length == 0 ? 0 : 1002;
        }
        int code = (payload[0] & 255) << 8 | payload[1] & 255;
        boolean known = code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
        return known || code >= 3000 && code < 5000 ? code : 1002;
    }

    private boolean isUtf8() {
        ByteBuffer bytes = ByteBuffer.wrap(message, 0, length);
        utf8.reset();
        CoderResult result;
        do {
            characters.clear();
            result = utf8.decode(bytes, characters, true);
        } while (result.isOverflow());
        return !result.isError();
    }

    private void read(byte[] into, int from, int size) throws IOException {
        if (!client) {
            exactly(mask, 0, 4);
        }
        exactly(into, from, size);
        if (!client) {
            for (int i = 0; i < size; i++) {
                into[from + i] ^= mask[i & 3];
            }
        }
    }

    private long number(int size) throws IOException {
        long number = 0;
        for (int i = 0; i < size; i++) {
            number = number << 8 | octet();
        }
        return number;
    }

    private int octet() throws IOException {
        int octet = in.read();
        if (octet < 0) {
            throw new EOFException("the connection was closed");
        }
        return octet;
    }

    private void exactly(byte[] into, int from, int size) throws IOException {
        if (in.readNBytes(into, from, size) < size) {
            throw new EOFException("the connection was closed");
        }
    }

    private String head() throws IOException {
        StringBuilder head = new StringBuilder();
        for (int matched = 0; matched < 4;) {
            char next = (char) octet();
            head.append(next);
            matched = next == "\r\n\r\n".charAt(matched) ? matched + 1 : next == '\r' ? 1 : 0;
            if (head.length() > 16384) {
                throw new IOException("the head of the handshake is longer than 16384 bytes");
            }
        }
        return head.toString();
    }

    private static String field(String head, String name) {
        return head.lines().filter(line -> line.toLowerCase().startsWith(name + ":"))
            .map(line -> line.substring(name.length() + 1).trim()).findFirst().orElse(null);
    }

    private static String digest(String key) {
        try {
            byte[] joined = (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(StandardCharsets.ISO_8859_1);
            return Base64.getEncoder().encodeToString(MessageDigest.getInstance("SHA-1").digest(joined));
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException(missing);
        }
    }
}
