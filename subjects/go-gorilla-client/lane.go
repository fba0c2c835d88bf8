package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// lane is one of the places for a connection: there are as many as connections at a time, each with a goroutine.
type lane struct {
	settings *settings
	block    *block
	peer     *websocket.Conn
	seen     map[string]*times
	errors   []string
	// last is when the last counted round trip was over.
	last int64
}

// times are durations in nanoseconds, kept raw. They grow by pieces, so nothing is ever copied.
type times struct {
	full  [][]int64
	piece []int64
}

func (t *times) add(time int64) {
	if len(t.piece) == cap(t.piece) {
		if t.piece != nil {
			t.full = append(t.full, t.piece)
		}
		t.piece = make([]int64, 0, min(max(8, 2*cap(t.piece)), 1024))
	}
	t.piece = append(t.piece, time)
}

var kinds = []string{"round_trip_ns", "life_ns", "connect_ns", "tls_ns", "handshake_ns", "close_ns"}

func newLane(settings *settings, block *block) *lane {
	l := &lane{settings: settings, block: block, seen: map[string]*times{}}
	for _, kind := range kinds {
		l.seen[kind] = &times{}
	}
	return l
}

// drive waits at the gate, then runs until the block is over.
func (l *lane) drive() {
	<-l.block.gate
	if l.settings.life == 0 {
		if l.peer != nil {
			if _, err := l.exchange(notYet); err != nil {
				l.failed(err)
			}
		}
		return
	}
	for now := l.block.now(); l.block.mayLive(now); now = l.block.now() {
		if err := l.live(now); err != nil {
			l.failed(err)
			l.block.spend(now)
		}
	}
}

func (l *lane) live(began int64) error {
	counts := l.block.counts(began)
	if err := l.connect(counts); err != nil {
		return err
	}
	whole, err := l.exchange(l.settings.life)
	if err != nil {
		return err
	}
	over := l.block.now()
	if err := l.end(); err != nil {
		return err
	}
	if counts {
		l.seen["close_ns"].add(l.block.now() - over)
		if whole {
			l.seen["life_ns"].add(over - began)
		}
	}
	return nil
}

// exchange makes count round trips, one after the other; false: the block was over before.
func (l *lane) exchange(count int64) (bool, error) {
	roundTrips := l.seen["round_trip_ns"]
	for ; count > 0; count-- {
		sent := l.block.now()
		if !l.block.maySend(sent) {
			return false, nil
		}
		if err := l.peer.WriteMessage(l.settings.kind, l.settings.payload); err != nil {
			return false, err
		}
		kind, reply, err := l.peer.ReadMessage()
		if err != nil {
			return false, err
		}
		good := kind == l.settings.kind && bytes.Equal(reply, l.settings.expect)
		received := l.block.now()
		if !good {
			return false, errors.New("another reply than was expected")
		}
		if l.block.counts(sent) {
			roundTrips.add(received - sent)
			l.last = received
		}
	}
	return true, nil
}

// open opens the connection that stays.
func (l *lane) open() {
	if err := l.connect(true); err != nil {
		l.failed(err)
	}
}

// connect has the library's dialer dial, and takes the times of the phases in its hooks. Go looks a name up and
// connects in one go, so that connecting contains both.
func (l *lane) connect(counts bool) error {
	before := l.block.now()
	phase := func(kind string) {
		now := l.block.now()
		if counts {
			l.seen[kind].add(now - before)
		}
		before = now
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			phase("connect_ns")
		}
		return connection, err
	}
	dialer := websocket.Dialer{
		NetDialContext: dial,
		NetDialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			secure := tls.Client(connection, &tls.Config{RootCAs: l.settings.authority, ServerName: host})
			if err := secure.HandshakeContext(ctx); err != nil {
				return nil, errors.Join(err, connection.Close())
			}
			phase("tls_ns")
			return secure, nil
		},
	}
	peer, _, err := dialer.Dial(l.settings.url, nil)
	if err != nil {
		return err
	}
	phase("handshake_ns")
	l.peer = peer
	return nil
}

// close closes the connection that stayed, if it is still open.
func (l *lane) close() {
	if l.peer == nil {
		return
	}
	before := l.block.now()
	if err := l.end(); err != nil {
		l.failed(err)
		return
	}
	l.seen["close_ns"].add(l.block.now() - before)
}

// end closes properly: it waits for the close of the other end.
func (l *lane) end() error {
	deadline := time.Now().Add(5 * time.Second)
	frame := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	if err := l.peer.WriteControl(websocket.CloseMessage, frame, deadline); err != nil {
		return err
	}
	if err := l.peer.SetReadDeadline(deadline); err != nil {
		return err
	}
	for {
		_, reader, err := l.peer.NextReader()
		if err == nil {
			_, err = io.Copy(io.Discard, reader)
		}
		if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			err = l.peer.Close()
			l.peer = nil
			return err
		}
		if err != nil {
			return err
		}
	}
}

func (l *lane) failed(err error) {
	if l.peer != nil {
		_ = l.peer.Close()
		l.peer = nil
	}
	l.errors = append(l.errors, strings.Join(strings.Fields(err.Error()), " "))
}
