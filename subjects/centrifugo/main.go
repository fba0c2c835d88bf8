// A server of Centrifugo's client protocol (JSON) on the library that Centrifugo is built on: clients subscribe and
// publish to any channel. The call `echo` returns what it was given, and `tenth` refuses every tenth number.
//
// Chosen: the longest message that is asked for, and HTTP/1.1 alone. TCP_NODELAY and a backlog of the system's limit are
// Go's default.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"sync"

	"github.com/centrifugal/centrifuge"
	server "wirebench.subjects/echo/go"
)

var (
	once    sync.Once
	handler http.Handler
)

func main() {
	server.Run("github.com/centrifugal/centrifuge", func(settings server.Settings, response http.ResponseWriter, request *http.Request) {
		once.Do(func() { handler = start(settings) })
		handler.ServeHTTP(response, request)
	})
}

func start(settings server.Settings) http.Handler {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		log.Fatal(err)
	}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{UserID: "bench"}}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(func(_ centrifuge.SubscribeEvent, done centrifuge.SubscribeCallback) {
			done(centrifuge.SubscribeReply{}, nil)
		})
		client.OnPublish(func(_ centrifuge.PublishEvent, done centrifuge.PublishCallback) {
			done(centrifuge.PublishReply{}, nil)
		})
		client.OnRPC(func(event centrifuge.RPCEvent, done centrifuge.RPCCallback) {
			done(call(event))
		})
	})
	if err := node.Run(); err != nil {
		log.Fatal(err)
	}
	return centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{MessageSizeLimit: int(settings.MessageMax)})
}

func call(event centrifuge.RPCEvent) (centrifuge.RPCReply, error) {
	switch event.Method {
	case "echo":
	case "tenth":
		var number int
		if json.Unmarshal(event.Data, &number) != nil {
			return centrifuge.RPCReply{}, centrifuge.ErrorBadRequest
		}
		if number%10 == 9 {
			return centrifuge.RPCReply{}, centrifuge.ErrorPermissionDenied
		}
	default:
		return centrifuge.RPCReply{}, centrifuge.ErrorMethodNotFound
	}
	return centrifuge.RPCReply{Data: event.Data}, nil
}
