module wirebench.subjects/echo

go 1.25

require github.com/gammazero/nexus/v3 v3.2.2

require (
	github.com/gorilla/websocket v1.5.0 // indirect
	github.com/ugorji/go/codec v1.2.11 // indirect
	golang.org/x/crypto v0.17.0 // indirect
)
