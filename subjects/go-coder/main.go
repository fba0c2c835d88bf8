// A WebSocket echo server on coder/websocket, plain and inside TLS (crypto/tls), on net/http.
//
// A goroutine for each connection reads a message and sends it back. No compression, which is the library's
// default. Chosen: the longest message that is asked for (its own limit is 32 KiB), HTTP/1.1 alone inside TLS.
// TCP_NODELAY and a backlog of the system's limit are Go's default.
package main

import (
	"context"
	"net/http"

	"github.com/coder/websocket"
	server "wirebench.subjects/echo/go"
)

func main() {
	server.Run("github.com/coder/websocket", echo)
}

func echo(settings server.Settings, response http.ResponseWriter, request *http.Request) {
	peer, err := websocket.Accept(response, request, nil)
	if err != nil {
		return
	}
	defer peer.CloseNow()
	peer.SetReadLimit(settings.MessageMax)
	ctx := context.Background()
	for {
		kind, message, err := peer.Read(ctx)
		if err != nil || peer.Write(ctx, kind, settings.Answer(message)) != nil {
			return
		}
	}
}
