import java.util.Map;
import java.util.TreeMap;

/**
 * One of the places for a connection: there are as many as connections at a time. The one thread that drives it
 * records here what happens, to be read when the block is over.
 */
abstract class Lane {
    final Times roundTrips = new Times(), lives = new Times(), resolves = new Times(),
        connects = new Times(), tls = new Times(), handshakes = new Times(), closes = new Times();
    final Map<String, Long> errors = new TreeMap<>();
    /** When its last counted round trip was over. */
    long last = Long.MIN_VALUE;

    /** Opens the connection that stays; of long-lived ones only, one lane after the other. */
    abstract void open() throws Exception;

    /** Prepares everything, and starts when the block's gate opens. */
    abstract void begin();

    /** Waits until it has stopped. */
    abstract void await() throws InterruptedException;

    /** Closes the connection that stayed. */
    abstract void close();

    final void error(Throwable error) {
        String words = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
        errors.merge(words.replaceAll("\\s+", " "), 1L, Long::sum);
    }
}
