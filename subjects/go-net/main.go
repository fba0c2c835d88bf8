// A TCP echo on Go's own net. Replace it with the library to measure.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

var (
	reply = []byte(os.Getenv("WIREBENCH_REPLY"))
	// How long the processor is kept busy for each message.
	work, _ = strconv.ParseInt(os.Getenv("WIREBENCH_WORK_NS"), 10, 64)
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println(runtime.Version())
		return
	}
	// Go takes the longest backlog that the system allows, whatever WIREBENCH_BACKLOG says.
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("WIREBENCH_HOST"), os.Getenv("WIREBENCH_PORT")))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		os.Exit(0)
	}()
	fmt.Printf("ready tcp://%s\n", listener.Addr())
	for {
		connection, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		go echo(connection)
	}
}

func echo(connection net.Conn) {
	defer connection.Close()
	buffer := make([]byte, 65536)
	owed := 0
	for {
		count, err := connection.Read(buffer)
		if err != nil {
			return
		}
		for start := time.Now(); time.Since(start) < time.Duration(work); {
		}
		answer := buffer[:count]
		if len(reply) > 0 {
			// A message has as many bytes as the reply.
			owed += count
			answer = bytes.Repeat(reply, owed/len(reply))
			owed %= len(reply)
		}
		if _, err := connection.Write(answer); err != nil {
			return
		}
	}
}
