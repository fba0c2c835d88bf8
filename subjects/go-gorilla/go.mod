module wirebench.subjects/echo

go 1.25

require github.com/gorilla/websocket v1.5.3
