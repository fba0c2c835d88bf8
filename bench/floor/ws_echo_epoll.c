/* Minimal WebSocket echo server (RFC 6455, no extensions): one thread, level-triggered epoll.
 * All frames found in one read are answered with one write.
 * usage: ws_echo_epoll [FIRSTPORT [COUNT [COUNTERFILE]]]      (listens on COUNT consecutive ports)
 * Port 0 (the default) takes a free one, with a COUNT of 1 only; "ready IP:PORT" says which (the first).
 * Idle connections hold no buffer: only a partial frame is kept. */
#include "common.h"
#include <sys/epoll.h>
#define MAXFD 200000
static uint8_t *part[MAXFD]; /* unfinished input of a connection */
static uint32_t partn[MAXFD];
static uint8_t up[MAXFD];
static uint8_t in[1 << 20], out[1 << 20];
static int send_all(int fd, const uint8_t *b, size_t n) {
    for (size_t o = 0; o < n;) {
        ssize_t w = send(fd, b + o, n - o, MSG_NOSIGNAL);
        if (w < 0) { if (errno == EAGAIN) continue; return -1; }
        o += (size_t)w;
    }
    return 0;
}
static void drop(int fd) { free(part[fd]); part[fd] = NULL; partn[fd] = 0; up[fd] = 0; close(fd); }
int main(int argc, char **argv) {
    raise_nofile(); signal(SIGPIPE, SIG_IGN);
    int p0 = argc > 1 ? atoi(argv[1]) : 0, np = argc > 2 ? atoi(argv[2]) : 1, ep = epoll_create1(0), lmax = 0;
    struct epoll_event ev[512];
    uint64_t *ctr = counters(argc > 3 ? argv[3] : NULL);
    for (int i = 0; i < np; i++) {
        int l = listen_on("127.0.0.1", p0 + i, SOCK_NONBLOCK);
        struct epoll_event e = {.events = EPOLLIN, .data.fd = l};
        epoll_ctl(ep, EPOLL_CTL_ADD, l, &e);
        up[l] = 2; if (l > lmax) lmax = l;
        if (!i) say_ready(l);
    }
    for (;;) {
        int n = epoll_wait(ep, ev, 512, -1);
        for (int i = 0; i < n; i++) {
            int fd = ev[i].data.fd;
            if (fd <= lmax && up[fd] == 2) {
                int c;
                while ((c = accept4(fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    nodelay(c); up[c] = 0; ctr[1]++;
                    struct epoll_event x = {.events = EPOLLIN, .data.fd = c};
                    epoll_ctl(ep, EPOLL_CTL_ADD, c, &x);
                }
                continue;
            }
            size_t have = partn[fd];
            if (have) memcpy(in, part[fd], have);
            ssize_t r = recv(fd, in + have, sizeof in - have, 0);
            if (r <= 0) { if (r == 0 || errno != EAGAIN) drop(fd); continue; }
            have += (size_t)r;
            size_t pos = 0, on = 0;
            int closing = 0;
            if (!up[fd]) {
                uint8_t *e = memmem(in, have, "\r\n\r\n", 4);
                if (e) {
                    *e = 0;
                    char *k = strcasestr((char *)in, "\r\nSec-WebSocket-Key:");
                    if (!k) { drop(fd); continue; }
                    k += 20; while (*k == ' ') k++;
                    size_t kl = strcspn(k, " \r\n");
                    uint8_t cat[128], d[20];
                    char a[32];
                    if (kl > 60) kl = 60;
                    memcpy(cat, k, kl);
                    memcpy(cat + kl, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 36);
                    sha1(cat, kl + 36, d); b64(d, 20, a);
                    on = (size_t)sprintf((char *)out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", a);
                    up[fd] = 1;
                    pos = (size_t)(e - in) + 4;
                }
            }
            while (up[fd] == 1 && pos < have) {
                int op = 0, m = 0; size_t len = 0; uint32_t key = 0;
                size_t h = ws_parse(in + pos, have - pos, &op, &len, &m, &key);
                if (!h || have - pos < h + len || on + len + 16 > sizeof out) break;
                if (op == 10) { pos += h + len; continue; } /* a pong wants no answer */
                if (op == 8) closing = 1; else ctr[0]++;
                on += ws_hdr(out + on, op == 9 ? 10 : op, len, 0, 0);
                if (m) xor_mask(out + on, in + pos + h, len, key); else memcpy(out + on, in + pos + h, len);
                on += len; pos += h + len;
            }
            if (on && send_all(fd, out, on)) { drop(fd); continue; }
            if (closing) { drop(fd); continue; }
            size_t rest = have - pos;
            if (rest) {
                if (rest > partn[fd]) part[fd] = realloc(part[fd], rest);
                memmove(part[fd], in + pos, rest);
            } else if (part[fd]) { free(part[fd]); part[fd] = NULL; }
            partn[fd] = (uint32_t)rest;
        }
    }
}
