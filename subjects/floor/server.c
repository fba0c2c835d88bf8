/* The floor of the servers: an echo over TCP and over WebSocket (RFC 6455, no extensions) on one thread, with
 * level-triggered epoll. All messages of one read are answered with one write. An idle connection holds no buffer: only
 * an unfinished WebSocket frame is kept. */
#define _GNU_SOURCE
#include "c/floor.h"
#include <sys/epoll.h>

enum { FDS_MAX = 1 << 20, BUFFER = (16 << 20) + 4096 };
enum kind { NONE, LISTENS_TCP, LISTENS_WS, TCP, OPENING, WS };

static uint8_t kinds[FDS_MAX];
static uint8_t *unfinished[FDS_MAX];
static uint32_t unfinished_len[FDS_MAX];
static uint8_t in[BUFFER], out[BUFFER + 4096];
static int epoll;

static void quit(int signal) { (void)signal; _exit(0); }

static void watch(int fd, enum kind kind) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    kinds[fd] = (uint8_t)kind;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) die("epoll_ctl");
}

static void drop(int fd) {
    free(unfinished[fd]);
    unfinished[fd] = NULL;
    unfinished_len[fd] = 0;
    kinds[fd] = NONE;
    close(fd);
}


static void accept_all(int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        nodelay(fd);
        watch(fd, kinds[listener] == LISTENS_TCP ? TCP : OPENING);
    }
}

/* Puts the answers to all complete frames from `in + *at` on into `out`; 1 if the last of them was a Close. */
static int echo_frames(size_t have, size_t *at, size_t *answers) {
    enum { CLOSE = 8, PING = 9, PONG = 10 };
    while (*at < have) {
        int code = 0, masked = 0;
        size_t len = 0;
        uint32_t key = 0;
        size_t head = ws_parse(in + *at, have - *at, &code, &len, &masked, &key);
        if (!head || have - *at < head + len) break;
        const uint8_t *payload = in + *at + head;
        *at += head + len;
        if (code == PONG) continue;
        *answers += ws_hdr(out + *answers, code == PING ? PONG : code, len, 0, 0);
        if (masked) xor_mask(out + *answers, payload, len, key);
        else memcpy(out + *answers, payload, len);
        *answers += len;
        if (code == CLOSE) return 1;
    }
    return 0;
}

static void serve_tcp(int fd) {
    ssize_t got = recv(fd, in, 1 << 16, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0 || send_all(fd, in, (size_t)got)) drop(fd);
}

static void serve_ws(int fd) {
    size_t have = unfinished_len[fd], at = 0, answers = 0;
    if (have) memcpy(in, unfinished[fd], have);
    ssize_t got = recv(fd, in + have, sizeof in - have, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return drop(fd);
    have += (size_t)got;
    if (kinds[fd] == OPENING) {
        ssize_t head = ws_upgrade(in, have, out, &answers);
        if (head < 0) return drop(fd);
        if (head > 0) { kinds[fd] = WS; at = (size_t)head; }
    }
    int is_over = kinds[fd] == WS && echo_frames(have, &at, &answers);
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

int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1) return puts("1") < 0;
    raise_nofile();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, quit);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(announced("tcp"), LISTENS_TCP);
    watch(announced("ws"), LISTENS_WS);
    struct epoll_event events[512];
    for (;;) {
        int ready = epoll_wait(epoll, events, 512, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            switch ((enum kind)kinds[fd]) {
            case LISTENS_TCP: case LISTENS_WS: accept_all(fd); break;
            case TCP: serve_tcp(fd); break;
            case OPENING: case WS: serve_ws(fd); break;
            case NONE: break;
            }
        }
    }
}
