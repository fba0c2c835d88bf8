import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/** Durations in nanoseconds, kept raw. It grows by pieces, so nothing is ever copied. Not thread-safe. */
final class Times {
    private static final int PIECE_MAX = 1024, LINE = 1000;

    private final List<long[]> pieces = new ArrayList<>();
    private long[] piece = new long[8];
    private int used;
    private long count;

    Times() {
        pieces.add(piece);
    }

    void add(long time) {
        if (used == piece.length) {
            piece = new long[Math.min(2 * piece.length, PIECE_MAX)];
            pieces.add(piece);
            used = 0;
        }
        piece[used++] = time;
        count++;
    }

    long count() {
        return count;
    }

    void print(String name, PrintStream out) {
        StringBuilder line = new StringBuilder();
        int onLine = 0;
        for (long[] some : pieces) {
            for (int at = 0; at < (some == piece ? used : some.length); at++) {
                line.append(onLine == 0 ? name : "").append(' ').append(some[at]);
                if (++onLine == LINE) {
                    out.println(line);
                    line.setLength(0);
                    onLine = 0;
                }
            }
        }
        if (onLine > 0) {
            out.println(line);
        }
    }
}
