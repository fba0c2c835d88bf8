import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The client's side of docs/SUBJECTS.md: reads `run` lines, has them run, reports. Shared by the clients on the
 * JVM. A round trip belongs to the window if it was sent in it; the window ends with its last reply.
 * Nothing is written while it is open. The JDK reports process CPU time in hundredths of a second.
 */
final class ClientRun {
    private static final OperatingSystemMXBean PROCESS =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final PrintStream out =
        new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false);
    private final ClientSettings settings;

    ClientRun(ClientSettings settings) {
        this.settings = settings;
    }

    /** Serves commands until there are no more. */
    void serve(String library, Function<Block, Lane> lane) throws IOException, InterruptedException {
        say("ready " + library);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            if (!line.isBlank()) {
                run(new Block(line, settings.life > 0), lane);
            }
        }
    }

    private void run(Block block, Function<Block, Lane> make) throws InterruptedException {
        if (block.unsupported != null) {
            say("unsupported " + block.unsupported);
            return;
        }
        List<Lane> lanes = new ArrayList<>();
        for (int i = 0; i < settings.connections; i++) {
            lanes.add(make.apply(block));
        }
        List<Lane> open = settings.life == 0 ? opened(lanes) : lanes;
        open.forEach(Lane::begin);
        if (block.warmUpNs > 0) {
            block.gate.complete(null);
            Thread.sleep(block.warmUpNs / 1_000_000, (int) (block.warmUpNs % 1_000_000));
        }
        say("measuring");
        long cpu = PROCESS.getProcessCpuTime();
        long start = block.measure();
        block.gate.complete(null);
        for (Lane lane : open) {
            lane.await();
        }
        cpu = PROCESS.getProcessCpuTime() - cpu;
        say("measured");
        if (settings.life == 0) {
            open.forEach(Lane::close);
        }
        report(lanes, start, cpu);
    }

    /** Opens them one after the other, so that none of them delays another. */
    private static List<Lane> opened(List<Lane> lanes) {
        List<Lane> open = new ArrayList<>();
        for (Lane lane : lanes) {
            try {
                lane.open();
                open.add(lane);
            } catch (Exception error) {
                lane.error(error);
            }
        }
        return open;
    }

    private void report(List<Lane> lanes, long start, long cpu) {
        long wall = 0, ok = 0;
        Map<String, Long> errors = new TreeMap<>();
        for (Lane lane : lanes) {
            wall = lane.roundTrips.count() == 0 ? wall : Math.max(wall, lane.last - start);
            ok += lane.roundTrips.count();
            lane.errors.forEach((words, count) -> errors.merge(words, count, Long::sum));
        }
        out.println("wall_ns " + wall);
        out.println("cpu_ns " + cpu);
        out.println("ok " + ok);
        errors.forEach((words, count) -> out.println("error " + count + " " + words));
        for (Lane lane : lanes) {
            lane.roundTrips.print("round_trip_ns", out);
            lane.lives.print("life_ns", out);
            lane.resolves.print("resolve_ns", out);
            lane.connects.print("connect_ns", out);
            lane.tls.print("tls_ns", out);
            lane.handshakes.print("handshake_ns", out);
            lane.closes.print("close_ns", out);
        }
        say("done");
    }

    private void say(String line) {
        out.println(line);
        out.flush();
    }
}
