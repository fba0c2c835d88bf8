module wirebench.subjects/echo

go 1.25

require github.com/coder/websocket v1.8.15
