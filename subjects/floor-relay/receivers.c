/* The floor of receivers: the minimum that correct receivers of a room do, in C on the system's sockets. One thread and
 * level-triggered epoll hold all receivers of a room over WebSocket (RFC 6455, no extensions) and its publisher, who
 * publishes at a fixed rate; they speak the plain text of `wirebench serve relay`. For each delivery the clock is read
 * once, the number and the due instant of the message are read from its header, and its receiver has to get messages in
 * their order. `cargo xtask bench push` builds it and compares the receivers of wirebench with it.
 *
 *   receivers ADDRESS PORT RECEIVERS RATE WARM_UP MESSAGES
 *
 * It publishes RATE messages a second: first WARM_UP of them, which are not counted, and then MESSAGES. Its one line of
 * output has the numbers of these that were published and delivered, and the CPU time of the process from when the
 * first of them was due until the last delivery. */
#define _GNU_SOURCE
#include "c/floor.h"
#include <sys/epoll.h>
#include <sys/timerfd.h>

enum { RECEIVERS_MAX = 100000, READ_MAX = 1 << 16, REST_MAX = 512, EVENTS = 512, PATIENCE_MS = 10000 };
enum { TEXT = 1 };
/* A header is 32 hexadecimal digits: publisher, number and due instant in 4, 4 and 8 bytes, the lowest byte first. A
 * space and padding make 64 bytes of it, as in conversations/room.toml. */
enum { DIGITS = 32, DATA = 64 };
#define ROOM "room-0"

/* The bytes of an incomplete frame stay with its connection. */
struct connection {
    int fd;
    uint32_t next; /* the number of the message that a receiver gets next */
    uint32_t rest_len;
    uint8_t rest[REST_MAX];
};

static struct connection *connections; /* the receivers, followed by the publisher */
static uint32_t receivers, warm_up, messages;
static uint64_t published, acknowledged, delivered, wrong, lateness;
static uint64_t start, interval;
static uint8_t in[READ_MAX + REST_MAX], out[1024];
static int8_t digit_of[256];

static void fail(const char *words) { fprintf(stderr, "receivers: %s\n", words); exit(1); }

/* Sends a text message in one masked frame. */
static void say(int fd, const char *text, size_t len) {
    uint32_t key = rng32();
    size_t head = ws_hdr(out, TEXT, len, 1, key);
    xor_mask(out + head, (const uint8_t *)text, len, key);
    if (send_all(fd, out, head + len)) die("send");
}

/* Connects, opens the WebSocket, and joins the room unless it is the publisher; blocks until all is answered. */
static void begin(struct connection *connection, const struct sockaddr_in *address, int joins) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    static const char accepted[] = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="; /* of this key, RFC 6455, section 1.3 */
    static const char join[] = "join " ROOM, joined[] = "joined " ROOM;
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) die("socket");
    if (connect(fd, (const void *)address, sizeof *address)) die("connect");
    nodelay(fd);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connection->fd = fd;
    if (send_all(fd, (const uint8_t *)request, sizeof request - 1)) die("send");
    size_t have = 0;
    while (have < 4 || memcmp(in + have - 4, "\r\n\r\n", 4)) {
        ssize_t got = recv(fd, in + have, READ_MAX - have, 0);
        if (got <= 0) die("no answer to the opening request");
        have += (size_t)got;
    }
    if (memcmp(in, "HTTP/1.1 101 ", 13) || !memmem(in, have, accepted, sizeof accepted - 1))
        fail("the server did not accept a WebSocket");
    if (joins) {
        say(fd, join, sizeof join - 1);
        size_t len = 0, head = 0;
        for (have = 0; !head || have < head + len;) {
            int code = 0, masked = 0;
            uint32_t key = 0;
            ssize_t got = recv(fd, in + have, READ_MAX - have, 0);
            if (got <= 0) die("no answer to join");
            have += (size_t)got;
            head = ws_parse(in, have, &code, &len, &masked, &key);
        }
        if (have != head + len || len != sizeof joined - 1 || memcmp(in + head, joined, len))
            fail("the answer to `join " ROOM "` was another than `joined " ROOM "`");
    }
    if (fcntl(fd, F_SETFL, O_NONBLOCK)) die("fcntl");
}

/* Writes `count` bytes of `value` as digits, the lowest byte first. */
static void write_digits(char *to, uint64_t value, int count) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < count; i++, value >>= 8) {
        to[2 * i] = digits[(value >> 4) & 15];
        to[2 * i + 1] = digits[value & 15];
    }
}

/* Reads `count` bytes of such digits; returns a value that nobody sends if some are not digits. */
static uint64_t read_digits(const uint8_t *from, int count) {
    uint64_t value = 0;
    int bad = 0;
    for (int i = 0; i < count; i++) {
        int high = digit_of[from[2 * i]], low = digit_of[from[2 * i + 1]];
        bad |= high | low;
        value |= (uint64_t)((high << 4 | low) & 255) << (8 * i);
    }
    return bad < 0 ? UINT64_MAX : value;
}

/* Publishes the next message, with its due instant by the schedule. */
static void publish(void) {
    static const char pad[] = " abcdefghijklmnopqrstuvwxyzabcde";
    char text[256];
    int head = snprintf(text, sizeof text, "publish " ROOM " id=%llu\n", (unsigned long long)published);
    write_digits(text + head, receivers, 4);
    write_digits(text + head + 8, published, 4);
    write_digits(text + head + 16, start + published * interval, 8);
    memcpy(text + head + DIGITS, pad, DATA - DIGITS);
    say(connections[receivers].fd, text, (size_t)head + DATA);
    published++;
}

/* Takes a message of a receiver. */
static void deliver(struct connection *connection, const uint8_t *text, size_t len) {
    static const char begins[] = "message " ROOM "\n";
    uint64_t now = now_ns();
    const uint8_t *header = text + sizeof begins - 1;
    if (len != sizeof begins - 1 + DATA || memcmp(text, begins, sizeof begins - 1)) { wrong++; return; }
    uint64_t number = read_digits(header + 8, 4), due = read_digits(header + 16, 8);
    if (number != connection->next || due > now) { wrong++; return; }
    connection->next++;
    if (number < warm_up) return;
    delivered++;
    lateness += now - due;
}

/* Takes the acknowledgement of a message. */
static void acknowledge(const uint8_t *text, size_t len) {
    char expected[64];
    unsigned long long id = acknowledged;
    int of = snprintf(expected, sizeof expected, "published id=%llu receivers=%u", id, receivers);
    if (len != (size_t)of || memcmp(text, expected, len)) wrong++;
    acknowledged++;
}

/* Reads once, and takes all complete frames. */
static void receive(uint32_t index) {
    struct connection *connection = &connections[index];
    size_t have = connection->rest_len, at = 0;
    if (have) memcpy(in, connection->rest, have);
    ssize_t got = recv(connection->fd, in + have, READ_MAX, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) fail("the relay ended a connection");
    have += (size_t)got;
    while (at < have) {
        int code = 0, masked = 0;
        size_t len = 0;
        uint32_t key = 0;
        size_t head = ws_parse(in + at, have - at, &code, &len, &masked, &key);
        if (!head || have - at < head + len) break;
        if (code != TEXT || masked || !(in[at] & 0x80)) fail("a frame is no whole text message of a server");
        if (index < receivers) deliver(connection, in + at + head, len);
        else acknowledge(in + at + head, len);
        at += head + len;
    }
    if (have - at > REST_MAX) fail("a frame is longer than all that a relay sends");
    connection->rest_len = (uint32_t)(have - at);
    if (have > at) memcpy(connection->rest, in + at, have - at);
}

int main(int count, char **arguments) {
    if (count != 7) fail("usage: receivers ADDRESS PORT RECEIVERS RATE WARM_UP MESSAGES");
    long asked = atol(arguments[3]), rate = atol(arguments[4]);
    if (asked < 1 || asked > RECEIVERS_MAX || rate < 1) fail("RECEIVERS is 1 to 100000, and RATE 1 or more");
    receivers = (uint32_t)asked;
    warm_up = (uint32_t)atol(arguments[5]);
    messages = (uint32_t)atol(arguments[6]);
    raise_nofile();
    memset(digit_of, -1, sizeof digit_of);
    for (int i = 0; i < 16; i++) digit_of[(uint8_t)"0123456789abcdef"[i]] = (int8_t)i;
    connections = calloc(receivers + 1, sizeof *connections);
    if (!connections) die("calloc");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[2]))};
    if (inet_pton(AF_INET, arguments[1], &address.sin_addr) != 1) fail("ADDRESS is one of IPv4");
    int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (epoll < 0 || timer < 0) die("epoll_create1 or timerfd_create");
    for (uint32_t i = 0; i <= receivers + 1; i++) {
        if (i <= receivers) begin(&connections[i], &address, i < receivers);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, i <= receivers ? connections[i].fd : timer, &event)) die("epoll_ctl");
    }
    interval = 1000000000ull / (uint64_t)rate;
    start = now_ns() + interval;
    struct itimerspec ticks = {
        .it_value = {.tv_sec = (time_t)(start / 1000000000), .tv_nsec = (long)(start % 1000000000)},
        .it_interval = {.tv_sec = (time_t)(interval / 1000000000), .tv_nsec = (long)(interval % 1000000000)},
    };
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &ticks, NULL)) die("timerfd_settime");
    uint64_t all = (uint64_t)warm_up + messages, owed = (uint64_t)messages * receivers, before = cpu_ns();
    struct epoll_event events[EVENTS];
    while (published < all || acknowledged < all || delivered + wrong < owed) {
        int ready = epoll_wait(epoll, events, EVENTS, PATIENCE_MS);
        if (ready < 0 && errno != EINTR) die("epoll_wait");
        if (!ready) break; /* whatever has not arrived by now never will */
        for (int i = 0; i < ready; i++) {
            uint64_t due = 0;
            if (events[i].data.u32 <= receivers) { receive(events[i].data.u32); continue; }
            if (read(timer, &due, sizeof due) != sizeof due) continue;
            for (; due && published < all; due--) {
                if (published == warm_up) before = cpu_ns();
                publish();
            }
            if (published == all && timerfd_settime(timer, 0, &(struct itimerspec){0}, NULL)) die("timerfd_settime");
        }
    }
    unsigned long long used = cpu_ns() - before, measured = published > warm_up ? published - warm_up : 0;
    unsigned long long came = delivered, others = wrong, mean = delivered ? lateness / delivered : 0;
    printf("{\"published\":%llu,\"deliveries\":%llu,\"wrong\":%llu,\"cpu_ns\":%llu,\"mean_ns\":%llu}\n", measured, came,
        others, used, mean);
    return 0;
}
