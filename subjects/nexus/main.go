// A router of WAMP on nexus: clients subscribe and publish to any topic of the realm `realm1`. The procedure `echo`
// returns what it was given, and `tenth` refuses every tenth number. Both are called by a client inside the program.
//
// Chosen: HTTP/1.1 alone, clients without a login, no log. gorilla/websocket takes messages of any length. TCP_NODELAY and
// a backlog of the system's limit are Go's default.
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"sync"

	"github.com/gammazero/nexus/v3/client"
	"github.com/gammazero/nexus/v3/router"
	"github.com/gammazero/nexus/v3/wamp"
	server "wirebench.subjects/echo/go"
)

const realm = "realm1"

var (
	once    sync.Once
	handler http.Handler
)

func main() {
	server.Run("github.com/gammazero/nexus/v3", func(_ server.Settings, response http.ResponseWriter, request *http.Request) {
		once.Do(func() { handler = start() })
		handler.ServeHTTP(response, request)
	})
}

func start() http.Handler {
	quiet := log.New(io.Discard, "", 0)
	realms := []*router.RealmConfig{{URI: realm, AnonymousAuth: true}}
	wamps, err := router.NewRouter(&router.Config{RealmConfigs: realms}, quiet)
	if err != nil {
		log.Fatal(err)
	}
	callee, err := client.ConnectLocal(wamps, client.Config{Realm: realm, Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	for name, procedure := range map[string]client.InvocationHandler{"echo": echo, "tenth": tenth} {
		if err := callee.Register(name, procedure, nil); err != nil {
			log.Fatal(err)
		}
	}
	return router.NewWebsocketServer(wamps)
}

func echo(_ context.Context, call *wamp.Invocation) client.InvokeResult {
	return client.InvokeResult{Args: call.Arguments}
}

func tenth(_ context.Context, call *wamp.Invocation) client.InvokeResult {
	if len(call.Arguments) == 1 {
		if number, isNumber := wamp.AsInt64(call.Arguments[0]); isNumber && number%10 != 9 {
			return client.InvokeResult{Args: call.Arguments}
		}
	}
	return client.InvokeResult{Err: "wirebench.refused"}
}
