// A TCP client on Go's own net. Replace the content of `connection` with the library to measure.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	server, _      = url.Parse(os.Getenv("WIREBENCH_URL"))
	connections, _ = strconv.Atoi(os.Getenv("WIREBENCH_CONNECTIONS"))
	// 0: for the whole block.
	roundTrips, _ = strconv.Atoi(os.Getenv("WIREBENCH_LIFE"))
	payload, _    = os.ReadFile(os.Getenv("WIREBENCH_PAYLOAD"))
	expected, _   = os.ReadFile(os.Getenv("WIREBENCH_EXPECT"))
)

// The part to measure: how the library connects, sends, receives and closes.
type connection struct {
	socket net.Conn
	reply  []byte
}

func open() (*connection, error) {
	socket, err := net.Dial("tcp", server.Host)
	return &connection{socket, make([]byte, len(expected))}, err
}

func (c *connection) roundTrip() error {
	if _, err := c.socket.Write(payload); err != nil {
		return err
	}
	if _, err := io.ReadFull(c.socket, c.reply); err != nil {
		return err
	}
	if !bytes.Equal(c.reply, expected) {
		return errors.New("a wrong reply")
	}
	return nil
}

func (c *connection) close() { c.socket.Close() }

// One `run`: a warm-up, a window, and its results.
type block struct {
	warmUp, time      time.Duration
	measures, isOver  atomic.Bool
	messages, clients atomic.Int64
	mutex             sync.Mutex
	times             map[string][]int64
	errors            map[string]int
}

func newBlock(command string) *block {
	b := &block{times: map[string][]int64{}, errors: map[string]int{}}
	b.messages.Store(1 << 62)
	b.clients.Store(1 << 62)
	for _, word := range strings.Fields(command)[1:] {
		name, text, _ := strings.Cut(word, "=")
		value, _ := strconv.ParseInt(text, 10, 64)
		switch name {
		case "warm_up_ns":
			b.warmUp = time.Duration(value)
		case "time_ns":
			b.time = time.Duration(value)
		case "messages":
			b.messages.Store(value)
		case "clients":
			b.clients.Store(value)
		}
	}
	return b
}

func (b *block) run(out *bufio.Writer) {
	say := func(line string) {
		fmt.Fprintln(out, line)
		out.Flush()
	}
	begin := func() (int64, time.Time) {
		say("measuring")
		b.measures.Store(true)
		return cpu(), time.Now()
	}
	var cpuBefore int64
	var start time.Time
	if b.warmUp == 0 {
		cpuBefore, start = begin()
	}
	done := make(chan struct{})
	var workers sync.WaitGroup
	workers.Add(connections)
	for i := 0; i < connections; i++ {
		go func() {
			defer workers.Done()
			b.work()
		}()
	}
	go func() {
		workers.Wait()
		close(done)
	}()
	if b.warmUp > 0 {
		select {
		case <-done:
		case <-time.After(b.warmUp):
		}
		cpuBefore, start = begin()
	}
	// The window ends after its time if it has one, else with the last message or client.
	var after <-chan time.Time
	if b.time > 0 {
		after = time.After(b.time)
	}
	select {
	case <-done:
	case <-after:
	}
	b.measures.Store(false)
	b.isOver.Store(true)
	wall, used := time.Since(start), cpu()-cpuBefore
	say("measured")
	<-done
	b.tell(out, wall, used)
}

func (b *block) work() {
	for !b.isOver.Load() && b.clients.Add(-1) >= 0 {
		times := map[string][]int64{}
		err := b.live(times)
		b.mutex.Lock()
		for name, all := range times {
			b.times[name] = append(b.times[name], all...)
		}
		if err != nil {
			b.errors[err.Error()]++
		}
		b.mutex.Unlock()
		if err != nil {
			time.Sleep(10 * time.Millisecond)
		}
		if roundTrips == 0 {
			return
		}
	}
}

func (b *block) live(times map[string][]int64) error {
	note := func(name string, since time.Time) {
		times[name] = append(times[name], time.Since(since).Nanoseconds())
	}
	isMeasured, start := b.measures.Load(), time.Now()
	c, err := open()
	if err != nil {
		return err
	}
	note("connect_ns", start)
	done := 0
	for !b.isOver.Load() && (roundTrips == 0 || done < roundTrips) {
		counts := b.measures.Load()
		if counts && b.messages.Add(-1) < 0 {
			break
		}
		sent := time.Now()
		if err := c.roundTrip(); err != nil {
			c.close()
			return err
		}
		done++
		if counts && b.measures.Load() {
			note("round_trip_ns", sent)
		}
	}
	if isMeasured && b.measures.Load() && roundTrips > 0 && done == roundTrips {
		note("life_ns", start)
	}
	closing := time.Now()
	c.close()
	note("close_ns", closing)
	return nil
}

func (b *block) tell(out *bufio.Writer, wall time.Duration, used int64) {
	fmt.Fprintf(out, "wall_ns %d\ncpu_ns %d\nok %d\n", wall.Nanoseconds(), used, len(b.times["round_trip_ns"]))
	for words, count := range b.errors {
		fmt.Fprintf(out, "error %d %s\n", count, words)
	}
	for name, times := range b.times {
		for i, value := range times {
			if i%1000 == 0 {
				if i > 0 {
					fmt.Fprintln(out)
				}
				fmt.Fprint(out, name)
			}
			fmt.Fprintf(out, " %d", value)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "done")
	out.Flush()
}

// User and system time of this process, in nanoseconds.
func cpu() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func main() {
	if len(os.Args) > 1 {
		fmt.Println(runtime.Version())
		return
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, "ready net", runtime.Version())
	out.Flush()
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		newBlock(commands.Text()).run(out)
	}
}
