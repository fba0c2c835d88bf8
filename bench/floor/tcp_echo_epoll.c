/* Minimal TCP echo server: one thread, level-triggered epoll.  usage: tcp_echo_epoll [PORT [COUNTERFILE]]
 * Port 0 (the default) takes a free one; "ready IP:PORT" says which. */
#include "common.h"
#include <sys/epoll.h>
int main(int argc, char **argv) {
    raise_nofile(); signal(SIGPIPE, SIG_IGN);
    int l = listen_on("127.0.0.1", argc > 1 ? atoi(argv[1]) : 0, SOCK_NONBLOCK), ep = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = l}, ev[512];
    epoll_ctl(ep, EPOLL_CTL_ADD, l, &e);
    static char buf[1 << 16];
    uint64_t *ctr = counters(argc > 2 ? argv[2] : NULL);
    say_ready(l);
    for (;;) {
        int n = epoll_wait(ep, ev, 512, -1);
        for (int i = 0; i < n; i++) {
            int fd = ev[i].data.fd;
            if (fd == l) {
                int c;
                while ((c = accept4(l, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    nodelay(c); ctr[1]++;
                    struct epoll_event x = {.events = EPOLLIN, .data.fd = c};
                    epoll_ctl(ep, EPOLL_CTL_ADD, c, &x);
                }
                continue;
            }
            ssize_t r = recv(fd, buf, sizeof buf, 0);
            if (r <= 0) { if (r == 0 || errno != EAGAIN) close(fd); continue; }
            ctr[0]++;
            for (ssize_t o = 0; o < r;) {
                ssize_t w = send(fd, buf + o, (size_t)(r - o), MSG_NOSIGNAL);
                if (w < 0) { if (errno == EAGAIN) continue; close(fd); break; }
                o += w;
            }
        }
    }
}
