// A WebSocket echo server on gorilla/websocket, plain and inside TLS (crypto/tls), on net/http.
//
// A goroutine for each connection reads a message and sends it back, as the library's example does. Chosen: the
// longest message that is asked for, HTTP/1.1 alone inside TLS. TCP_NODELAY and a backlog of the system's limit are
// Go's default.
package main

import (
	"net/http"

	"github.com/gorilla/websocket"
	server "wirebench.subjects/echo/go"
)

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

func main() {
	server.Run("github.com/gorilla/websocket", echo)
}

func echo(settings server.Settings, response http.ResponseWriter, request *http.Request) {
	peer, err := upgrader.Upgrade(response, request, nil)
	if err != nil {
		return
	}
	defer peer.Close()
	peer.SetReadLimit(settings.MessageMax)
	for {
		kind, message, err := peer.ReadMessage()
		if err != nil || peer.WriteMessage(kind, settings.Answer(message)) != nil {
			return
		}
	}
}
