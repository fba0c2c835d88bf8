// A WebSocket echo server on coder/websocket, plain and inside TLS (crypto/tls), on net/http.
//
// A goroutine for each connection reads a message and sends it back. No compression, which is the library's
// default. Chosen: the longest message that is asked for (its own limit is 32 KiB), HTTP/1.1 alone inside TLS.
// TCP_NODELAY and a backlog of the system's limit are Go's default.
package main

import (
	"context"
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

	"github.com/coder/websocket"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println(version("github.com/coder/websocket"))
		return
	}
	messageMax, err := strconv.ParseInt(variable("WIREBENCH_MESSAGE_MAX", "16777216"), 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	text, fixed := os.LookupEnv("WIREBENCH_REPLY")
	reply := []byte(text)
	handler := func(response http.ResponseWriter, request *http.Request) {
		peer, err := websocket.Accept(response, request, nil)
		if err != nil {
			return
		}
		defer peer.CloseNow()
		peer.SetReadLimit(messageMax)
		for {
			kind, message, err := peer.Read(context.Background())
			if err != nil {
				return
			}
			if fixed {
				message = reply
			}
			if peer.Write(context.Background(), kind, message) != nil {
				return
			}
		}
	}
	serve("ws", listen(variable("WIREBENCH_PORT", "0")), handler)
	if certificate, wanted := os.LookupEnv("WIREBENCH_TLS_CERT"); wanted {
		pair, err := tls.LoadX509KeyPair(certificate, os.Getenv("WIREBENCH_TLS_KEY"))
		if err != nil {
			log.Fatal(err)
		}
		config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
		serve("wss", tls.NewListener(listen("0"), config), handler)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
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
