import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/** One `run` line: how long it warms up and measures, and where it is in that. */
final class Block {
    private static final long NOT_YET = Long.MAX_VALUE;

    /** Why it cannot be done, or null. */
    final String unsupported;
    /** True if it counts lives: there is no warm-up, and connecting is included. */
    final boolean ofLives;
    final long warmUpNs;
    /** Complete when all may start together. */
    final CompletableFuture<Void> gate = new CompletableFuture<>();
    /** A life that has begun is followed to its end. */
    private final boolean followed;
    private final long timeNs;
    private final AtomicLong left;
    private volatile long start = NOT_YET;
    private volatile long end = NOT_YET;

    Block(String line, boolean shortLived) {
        long warmUp = 0, time = 0, messages = 0, clients = 0;
        String unknown = null;
        for (String word : line.trim().split("\\s+")) {
            String[] pair = word.split("=", 2);
            switch (pair[0]) {
                case "run" -> { }
                case "warm_up_ns" -> warmUp = Long.parseLong(pair[1]);
                case "time_ns" -> time = Long.parseLong(pair[1]);
                case "messages" -> messages = Long.parseLong(pair[1]);
                case "clients" -> clients = Long.parseLong(pair[1]);
                default -> unknown = pair[0];
            }
        }
        unknown = clients > 0 && !shortLived ? "clients without a life" : unknown;
        boolean one = (time > 0 ? 1 : 0) + (messages > 0 ? 1 : 0) + (clients > 0 ? 1 : 0) == 1;
        unsupported = unknown != null ? unknown : one ? null : "not exactly one of time_ns, messages and clients";
        ofLives = clients > 0;
        followed = shortLived && messages == 0;
        warmUpNs = ofLives ? 0 : warmUp;
        timeNs = time;
        left = new AtomicLong(ofLives ? clients : messages);
    }

    /** The window begins. */
    long measure() {
        long now = System.nanoTime();
        end = timeNs > 0 ? now + timeNs : NOT_YET;
        start = now;
        return now;
    }

    /** Whether what begins at this instant belongs to the window. */
    boolean counts(long now) {
        return start != NOT_YET && now - start >= 0;
    }

    /** Whether one more message may be sent; takes one of those that are left. */
    boolean maySend(long now) {
        return followed || goesOn(now);
    }

    /** Whether one more short-lived client may begin. */
    boolean mayLive(long now) {
        return ofLives ? left.getAndDecrement() > 0 : isOpen(now);
    }

    /** Counts a message that could not be sent, so that the block ends if the server is gone. */
    void spend(long now) {
        if (!followed) {
            goesOn(now);
        }
    }

    private boolean goesOn(long now) {
        return !counts(now) || (timeNs > 0 ? now - end < 0 : left.getAndDecrement() > 0);
    }

    private boolean isOpen(long now) {
        return !counts(now) || (timeNs > 0 ? now - end < 0 : left.get() > 0);
    }
}
