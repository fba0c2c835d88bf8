package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// block is one `run` line: how long it warms up and measures, and where it is in that.
type block struct {
	warmUp time.Duration
	// time is the length of a timed block; other blocks count messages or lives.
	time     time.Duration
	messages bool
	clients  bool
	// followed is true if a life that has begun is followed to its end.
	followed bool
	// left is the number of messages or clients that are left.
	left  atomic.Int64
	epoch time.Time
	// start is when the window begins, in time since the epoch; notYet before.
	start atomic.Int64
	// gate is closed when all may start together.
	gate chan struct{}
}

const notYet = math.MaxInt64

// readBlock returns an error whose words name what is not supported.
func readBlock(line string, shortLived bool) (*block, error) {
	b := &block{epoch: time.Now(), gate: make(chan struct{})}
	b.start.Store(notYet)
	lengths := 0
	for _, word := range strings.Fields(line) {
		if word == "run" {
			continue
		}
		key, text, _ := strings.Cut(word, "=")
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s", word)
		}
		switch {
		case key == "warm_up_ns":
			b.warmUp = time.Duration(value)
			continue
		case key == "time_ns":
			b.time = time.Duration(value)
		case key == "messages":
			b.messages = true
			b.left.Store(value)
		case key == "clients" && shortLived:
			b.clients = true
			b.left.Store(value)
		default:
			return nil, fmt.Errorf("%s", key)
		}
		lengths++
	}
	if lengths != 1 {
		return nil, fmt.Errorf("not exactly one of time_ns, messages and clients")
	}
	if b.clients {
		b.warmUp = 0
	}
	b.followed = shortLived && !b.messages
	return b, nil
}

// now is the time since the block was read.
func (b *block) now() int64 {
	return int64(time.Since(b.epoch))
}

// measure begins the window.
func (b *block) measure() int64 {
	now := b.now()
	b.start.Store(now)
	return now
}

// counts says whether what begins at this instant belongs to the window.
func (b *block) counts(now int64) bool {
	return now >= b.start.Load()
}

// maySend says whether one more message may be sent; it takes one of those that are left.
func (b *block) maySend(now int64) bool {
	return b.followed || b.goesOn(now, 1)
}

// mayLive says whether one more short-lived client may begin.
func (b *block) mayLive(now int64) bool {
	if b.messages {
		return b.goesOn(now, 0)
	}
	return b.goesOn(now, 1)
}

// spend counts a message that could not be sent, so that the block ends if the server is gone.
func (b *block) spend(now int64) {
	if !b.followed {
		b.goesOn(now, 1)
	}
}

func (b *block) goesOn(now, taken int64) bool {
	start := b.start.Load()
	switch {
	case now < start:
		return true
	case b.messages || b.clients:
		return b.left.Add(-taken)+taken > 0
	default:
		return now-start < int64(b.time)
	}
}
