// Package server has what echo servers in Go share: settings, ports, TLS (crypto/tls, HTTP/1.1 alone), the
// `ready` lines and the end. A library only takes the upgrade and sends back what it reads.
package server

import (
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Settings are those of a connection.
type Settings struct {
	// MessageMax is the longest message that is to be accepted, in bytes.
	MessageMax int64
	// Answer works for the time that a message is to cost, and returns the reply: the message itself, or the fixed one.
	Answer func(message []byte) []byte
}

// Run serves WebSocket by handler until SIGTERM. With any argument it prints the version of module instead.
func Run(module string, handler func(Settings, http.ResponseWriter, *http.Request)) {
	if len(os.Args) > 1 {
		fmt.Println(version(module))
		return
	}
	settings := settings()
	handle := func(response http.ResponseWriter, request *http.Request) { handler(settings, response, request) }
	serve("ws", listen(variable("WIREBENCH_PORT", "0")), handle)
	if certificate, wanted := os.LookupEnv("WIREBENCH_TLS_CERT"); wanted {
		pair, err := tls.LoadX509KeyPair(certificate, os.Getenv("WIREBENCH_TLS_KEY"))
		if err != nil {
			log.Fatal(err)
		}
		config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
		serve("wss", tls.NewListener(listen("0"), config), handle)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
}

func settings() Settings {
	messageMax, err := strconv.ParseInt(variable("WIREBENCH_MESSAGE_MAX", "16777216"), 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	answer := func(message []byte) []byte { return message }
	if text, fixed := os.LookupEnv("WIREBENCH_REPLY"); fixed {
		reply := []byte(text)
		answer = func([]byte) []byte { return reply }
	}
	nanoseconds, err := strconv.ParseInt(variable("WIREBENCH_WORK_NS", "0"), 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	if work := time.Duration(nanoseconds); work > 0 {
		idle := answer
		answer = func(message []byte) []byte {
			for start := time.Now(); time.Since(start) < work; {
			}
			return idle(message)
		}
	}
	return Settings{messageMax, answer}
}

func listen(port string) net.Listener {
	listener, err := net.Listen("tcp4", net.JoinHostPort(variable("WIREBENCH_HOST", "127.0.0.1"), port))
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func serve(scheme string, listener net.Listener, handler http.HandlerFunc) {
	go func() { log.Fatal(http.Serve(listener, handler)) }()
	fmt.Printf("ready %s://%s/\n", scheme, listener.Addr())
}

func variable(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
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
