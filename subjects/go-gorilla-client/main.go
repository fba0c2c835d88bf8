// A WebSocket client on gorilla/websocket, a goroutine for each connection; `wss` by crypto/tls.
//
// The client's side of docs/SUBJECTS.md: a block for each `run` line. A round trip belongs to the window if it was
// sent in it; the window ends with its last reply. Nothing is written while it is open. All options are
// the library's defaults; TCP_NODELAY is Go's.
package main

import (
	"bufio"
	"crypto/x509"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// settings are those that wirebench gives a client in its environment.
type settings struct {
	url         string
	authority   *x509.CertPool
	connections int
	payload     []byte
	expect      []byte
	kind        int
	// life is the round trips of a connection; 0: it stays.
	life int64
}

func main() {
	library := version("github.com/gorilla/websocket")
	if len(os.Args) > 1 {
		fmt.Println(library)
		return
	}
	settings := readSettings()
	say("ready gorilla " + library)
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		block, err := readBlock(commands.Text(), settings.life > 0)
		if err != nil {
			say("unsupported " + err.Error())
			continue
		}
		run(settings, block)
	}
}

// run is one block: opens, warms up, measures, closes, reports.
func run(settings *settings, block *block) {
	var lanes []*lane
	for range settings.connections {
		lanes = append(lanes, newLane(settings, block))
	}
	if settings.life == 0 {
		// One after the other, so that none of them delays another.
		for _, lane := range lanes {
			lane.open()
		}
	}
	var running sync.WaitGroup
	for _, lane := range lanes {
		running.Go(lane.drive)
	}
	if block.warmUp > 0 {
		close(block.gate)
		time.Sleep(block.warmUp)
	}
	say("measuring")
	cpu := processCPU()
	start := block.measure()
	if block.warmUp == 0 {
		close(block.gate)
	}
	running.Wait()
	cpu = processCPU() - cpu
	say("measured")
	for _, lane := range lanes {
		lane.close()
	}
	report(lanes, start, cpu)
}

func report(lanes []*lane, start, cpu int64) {
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	wall, ok, errors := int64(0), 0, map[string]int{}
	for _, lane := range lanes {
		wall = max(wall, lane.last-start)
		roundTrips := lane.seen["round_trip_ns"]
		ok += len(roundTrips.piece)
		for _, piece := range roundTrips.full {
			ok += len(piece)
		}
		for _, words := range lane.errors {
			errors[words]++
		}
	}
	fmt.Fprintf(out, "wall_ns %d\ncpu_ns %d\nok %d\n", wall, cpu, ok)
	for words, count := range errors {
		fmt.Fprintf(out, "error %d %s\n", count, words)
	}
	for _, lane := range lanes {
		for _, kind := range kinds {
			for _, piece := range append(lane.seen[kind].full, lane.seen[kind].piece) {
				if len(piece) > 0 {
					printTimes(out, kind, piece)
				}
			}
		}
	}
	fmt.Fprintln(out, "done")
}

func printTimes(out *bufio.Writer, kind string, piece []int64) {
	line := []byte(kind)
	for _, time := range piece {
		line = strconv.AppendInt(append(line, ' '), time, 10)
	}
	out.Write(append(line, '\n'))
}

func readSettings() *settings {
	s := &settings{
		url:     os.Getenv("WIREBENCH_URL"),
		payload: read(os.Getenv("WIREBENCH_PAYLOAD")),
		expect:  read(os.Getenv("WIREBENCH_EXPECT")),
		kind:    websocket.BinaryMessage,
	}
	if os.Getenv("WIREBENCH_KIND") == "text" {
		s.kind = websocket.TextMessage
	}
	s.connections = int(number("WIREBENCH_CONNECTIONS"))
	if life := os.Getenv("WIREBENCH_LIFE"); life != "" && life != "long" {
		s.life = number("WIREBENCH_LIFE")
	}
	if path := os.Getenv("WIREBENCH_CA"); path != "" {
		s.authority = x509.NewCertPool()
		s.authority.AppendCertsFromPEM(read(path))
	}
	return s
}

func number(name string) int64 {
	value, err := strconv.ParseInt(os.Getenv(name), 10, 64)
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return value
}

func read(path string) []byte {
	bytes, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	return bytes
}

// processCPU is the CPU time of this process, user and system.
func processCPU() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func say(line string) {
	fmt.Println(line)
}

// version is that of a module that was built in.
func version(module string) string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range build.Deps {
			if dependency.Path == module {
				return strings.TrimPrefix(dependency.Version, "v")
			}
		}
	}
	return "?"
}
