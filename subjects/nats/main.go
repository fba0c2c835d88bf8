// A NATS server on free ports, over TCP and over WebSocket, by the package that nats-server itself is built from.
//
// Chosen: no signal handler and no log of its own, and the longest message that is asked for. TCP_NODELAY and a backlog
// of the system's limit are Go's default.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println(server.VERSION)
		return
	}
	host := "127.0.0.1"
	if named := os.Getenv("WIREBENCH_HOST"); named != "" {
		host = named
	}
	options := &server.Options{
		Host:       host,
		Port:       number("WIREBENCH_PORT", 0),
		MaxPayload: int32(number("WIREBENCH_MESSAGE_MAX", 16<<20)),
		NoSigs:     true,
		NoLog:      true,
		Websocket:  server.WebsocketOpts{Host: host, Port: server.RANDOM_PORT, NoTLS: true},
	}
	if options.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	nats, err := server.NewServer(options)
	if err != nil {
		log.Fatal(err)
	}
	go nats.Start()
	if !nats.ReadyForConnections(30 * time.Second) {
		log.Fatal("it is not ready after 30 s")
	}
	fmt.Printf("ready tcp://%s\n", nats.Addr().(*net.TCPAddr))
	ports := nats.PortsInfo(30 * time.Second)
	if ports == nil || len(ports.WebSocket) == 0 {
		log.Fatal("it does not listen for WebSocket")
	}
	fmt.Printf("ready %s/\n", ports.WebSocket[0])
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
}

func number(name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return value
}
