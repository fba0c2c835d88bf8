/* The floor of relays: rooms over WebSocket (RFC 6455, no extensions) on one thread, with level-triggered epoll, in the
 * plain text of `wirebench serve relay`. A message is encoded once and written to each receiver with one call. A receiver
 * whose socket is full is dropped, so that it delays nobody. A connection is in one room. */
#define _GNU_SOURCE
#include "c/floor.h"
#include <stdarg.h>
#include <sys/epoll.h>

enum { FDS_MAX = 1 << 20, BUFFER = 1 << 20, ROOMS_MAX = 4096, NAME_MAX_LEN = 256 };
enum { TEXT = 1, CLOSE = 8, PING = 9, PONG = 10 };
enum kind { NONE, LISTENS, OPENING, OPEN };

struct room {
    uint8_t name[NAME_MAX_LEN];
    size_t name_len;
    int *members;
    uint32_t count, capacity;
};

static struct room rooms[ROOMS_MAX];
static uint32_t room_count;
static uint8_t kinds[FDS_MAX];
/* The room of a connection, counted from 1, and its place among the members; 0 for none. */
static uint32_t room_of[FDS_MAX], place_of[FDS_MAX];
static uint8_t *unfinished[FDS_MAX];
static uint32_t unfinished_len[FDS_MAX];
static uint8_t in[BUFFER], out[2 * BUFFER], delivery[BUFFER + 4096];
static int epoll;

static void quit(int signal) { (void)signal; _exit(0); }

static void watch(int fd, enum kind kind) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    kinds[fd] = (uint8_t)kind;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) die("epoll_ctl");
}

static void leave(int fd) {
    if (!room_of[fd]) return;
    struct room *room = &rooms[room_of[fd] - 1];
    int last = room->members[--room->count];
    room->members[place_of[fd]] = last;
    place_of[last] = place_of[fd];
    room_of[fd] = 0;
}

static void drop(int fd) {
    leave(fd);
    free(unfinished[fd]);
    unfinished[fd] = NULL;
    unfinished_len[fd] = 0;
    kinds[fd] = NONE;
    close(fd);
}

/* The room of this name, counted from 1; 0 if it does not exist and is not to be created, or cannot be. */
static uint32_t room_named(const uint8_t *name, size_t len, int make) {
    for (uint32_t i = 0; i < room_count; i++)
        if (rooms[i].name_len == len && !memcmp(rooms[i].name, name, len)) return i + 1;
    if (!make || room_count == ROOMS_MAX) return 0;
    memcpy(rooms[room_count].name, name, len);
    rooms[room_count].name_len = len;
    return ++room_count;
}

static void join(int fd, uint32_t number) {
    struct room *room = &rooms[number - 1];
    if (room->count == room->capacity) {
        room->capacity = room->capacity ? 2 * room->capacity : 64;
        room->members = realloc(room->members, room->capacity * sizeof *room->members);
        if (!room->members) die("realloc");
    }
    room_of[fd] = number;
    place_of[fd] = room->count;
    room->members[room->count++] = fd;
}

/* Appends a frame to `out`; returns the new length. */
static size_t frame(size_t at, int code, const void *bytes, size_t len) {
    at += ws_hdr(out + at, code, len, 0, 0);
    memcpy(out + at, bytes, len);
    return at + len;
}

static size_t say(size_t at, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends a text message with these words. */
static size_t say(size_t at, const char *format, ...) {
    char words[512];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(words, sizeof words, format, list);
    va_end(list);
    return frame(at, TEXT, words, len < 0 ? 0 : (size_t)len < sizeof words ? (size_t)len : sizeof words - 1);
}

static size_t name_len(const uint8_t *text, size_t len) {
    size_t at = 0;
    while (at < len && text[at] > ' ' && text[at] != 127) at++;
    return at;
}

/* Writes `delivery` to all in a room but the publisher; returns how many of them have it. */
static uint32_t deliver(uint32_t number, size_t len, int publisher) {
    struct room *room = &rooms[number - 1];
    uint32_t delivered = 0;
    for (uint32_t i = 0; i < room->count;) {
        int fd = room->members[i];
        if (send(fd, delivery, len, MSG_NOSIGNAL) == (ssize_t)len) { delivered++; i++; }
        else if (fd == publisher) { leave(fd); shutdown(fd, SHUT_RDWR); } /* its own read ends it */
        else drop(fd); /* the last member has its place now */
    }
    return delivered;
}

/* Executes a command of a client, and appends the answer to `out`; returns the new length. */
static size_t obey(int fd, const uint8_t *text, size_t len, size_t at) {
    if (len > 5 && !memcmp(text, "join ", 5)) {
        const uint8_t *name = text + 5;
        size_t named = name_len(name, len - 5);
        if (named != len - 5 || named > NAME_MAX_LEN) return say(at, "error not the name of a room");
        uint32_t number = room_named(name, named, 1);
        if (!number) return say(at, "error there are %d rooms, and no more", ROOMS_MAX);
        if (room_of[fd] && room_of[fd] != number) return say(at, "error this connection is in a room");
        if (!room_of[fd]) join(fd, number);
        return say(at, "joined %.*s", (int)named, name);
    }
    if (len <= 8 || memcmp(text, "publish ", 8)) return say(at, "error expected join or publish");
    const uint8_t *name = text + 8, *line_end = memchr(text, '\n', len);
    if (!line_end) return say(at, "error expected `publish ROOM`, a line end and the data to publish");
    size_t named = name_len(name, (size_t)(line_end - name));
    const uint8_t *id = name + named;
    int has_id = line_end - id > 4 && !memcmp(id, " id=", 4);
    if (!named || named > NAME_MAX_LEN || (!has_id && id != line_end)) return say(at, "error not the name of a room");
    size_t data_len = len - (size_t)(line_end - text), whole = 8 + named + data_len;
    size_t head = ws_hdr(delivery, TEXT, whole, 0, 0);
    memcpy(delivery + head, "message ", 8);
    memcpy(delivery + head + 8, name, named);
    memcpy(delivery + head + 8 + named, line_end, data_len);
    uint32_t number = room_named(name, named, 0);
    uint32_t receivers = number ? deliver(number, head + whole, fd) : 0;
    if (!has_id) return at;
    return say(at, "published id=%.*s receivers=%u", (int)(line_end - id - 4), id + 4, receivers);
}

/* Takes all complete frames from `in + *at` on; 1 if the connection is over. */
static int take_frames(int fd, size_t have, size_t *at, size_t *answers) {
    while (*at < have) {
        int code = 0, masked = 0;
        size_t len = 0;
        uint32_t key = 0;
        size_t head = ws_parse(in + *at, have - *at, &code, &len, &masked, &key);
        if (!head || have - *at < head + len) break;
        uint8_t *payload = in + *at + head;
        *at += head + len;
        if (!masked || *answers > BUFFER - 4096) return 1;
        xor_mask(payload, payload, len, key);
        if (code == TEXT) *answers = obey(fd, payload, len, *answers);
        else if (code == PING || code == CLOSE) *answers = frame(*answers, code == PING ? PONG : CLOSE, payload, len);
        else if (code != PONG) return 1;
        if (code == CLOSE) return 1;
    }
    return 0;
}

static void serve(int fd) {
    size_t have = unfinished_len[fd], at = 0, answers = 0;
    if (have) memcpy(in, unfinished[fd], have);
    ssize_t got = recv(fd, in + have, sizeof in - have, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return drop(fd);
    have += (size_t)got;
    if (kinds[fd] == OPENING) {
        ssize_t head = ws_upgrade(in, have, out, &answers);
        if (head < 0) return drop(fd);
        if (head > 0) { kinds[fd] = OPEN; at = (size_t)head; }
    }
    int is_over = kinds[fd] == OPEN && take_frames(fd, have, &at, &answers);
    if ((answers && send_all(fd, out, answers)) || is_over) return drop(fd);
    size_t rest = have - at;
    if (rest > unfinished_len[fd] || !rest) {
        free(unfinished[fd]);
        unfinished[fd] = rest ? malloc(rest) : NULL;
        if (rest && !unfinished[fd]) die("malloc");
    }
    if (rest) memcpy(unfinished[fd], in + at, rest);
    unfinished_len[fd] = (uint32_t)rest;
}

static void accept_all(int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        nodelay(fd);
        watch(fd, OPENING);
    }
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1) return puts("1") < 0;
    raise_nofile();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, quit);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(announced("ws"), LISTENS);
    struct epoll_event events[512];
    for (;;) {
        int ready = epoll_wait(epoll, events, 512, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            switch ((enum kind)kinds[fd]) {
            case LISTENS: accept_all(fd); break;
            case OPENING: case OPEN: serve(fd); break;
            case NONE: break;
            }
        }
    }
}
