/* What the pieces of a round trip cost on this machine (ns each), single thread, same core:
 * getppid, clock_gettime, epoll_wait with one ready fd, 4-byte send+recv over loopback TCP and over a
 * Unix socket pair, masking of 64 B / 1 KiB, histogram add. */
#include "common.h"
#include <sys/epoll.h>
#include <sys/syscall.h>
static volatile uint64_t sink;
#define T(name, N, body) do { for (long i = 0; i < (N) / 10; i++) { body; } uint64_t a = now_ns(); for (long i = 0; i < (N); i++) { body; } uint64_t b = now_ns(); printf("%-34s %8.1f ns\n", name, (double)(b - a) / (double)(N)); } while (0)
int main(void) {
    int l = listen_on("127.0.0.1", 0, 0), c = socket(AF_INET, SOCK_STREAM, 0), s, u[2], ep = epoll_create1(0);
    struct sockaddr_in a;
    socklen_t al = sizeof a;
    if (getsockname(l, (void *)&a, &al) || connect(c, (void *)&a, sizeof a)) die("connect");
    s = accept(l, NULL, NULL); nodelay(c); nodelay(s);
    socketpair(AF_UNIX, SOCK_STREAM, 0, u);
    char b[4096] = "Ping", d[4096];
    static hist h;
    T("getppid syscall", 2000000, syscall(SYS_getppid));
    T("clock_gettime (vdso)", 5000000, sink += now_ns());
    T("histogram add", 20000000, h_add(&h, (uint64_t)(i & 0xffff)));
    T("recv on empty TCP (EAGAIN)", 1000000, recv(c, d, 64, MSG_DONTWAIT));
    struct epoll_event e = {.events = EPOLLIN, .data.fd = s}, ev[64];
    epoll_ctl(ep, EPOLL_CTL_ADD, s, &e);
    T("epoll_wait, nothing ready", 1000000, epoll_wait(ep, ev, 64, 0));
    T("TCP lo send 4 + recv 4 (same core)", 500000, { send(c, b, 4, 0); recv(s, d, 64, 0); });
    T("  + epoll_wait between", 500000, { send(c, b, 4, 0); epoll_wait(ep, ev, 64, -1); recv(s, d, 64, 0); });
    T("TCP lo send 1024 + recv (same core)", 500000, { send(c, b, 1024, 0); recv(s, d, 4096, 0); });
    T("TCP lo round trip 4 B (same core)", 300000, { send(c, b, 4, 0); recv(s, d, 64, 0); send(s, b, 4, 0); recv(c, d, 64, 0); });
    T("unix send 4 + recv 4 (same core)", 500000, { send(u[0], b, 4, 0); recv(u[1], d, 64, 0); });
    T("mask 64 B", 20000000, { __asm__ volatile("" ::: "memory"); xor_mask((uint8_t *)d, (uint8_t *)b, 64, (uint32_t)i); sink += (uint64_t)d[5]; });
    T("mask 1 KiB", 5000000, { __asm__ volatile("" ::: "memory"); xor_mask((uint8_t *)d, (uint8_t *)b, 1024, (uint32_t)i); sink += (uint64_t)d[5]; });
    return 0;
}
