/* The floor programs: the minimum that a correct server or client does on the system's sockets. This file has the
 * helpers that both need: the clock, sockets, WebSocket frames (RFC 6455, section 5.2). No third-party code. */
#ifndef FLOOR_H
#define FLOOR_H
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}
/* The CPU time that the process has used, in user mode and in the kernel. */
static uint64_t cpu_ns(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000;
    return (us + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)) * 1000;
}
static void die(const char *m) { perror(m); exit(1); }
static void nodelay(int fd) { int one = 1; setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); }
static int listen_on(const char *ip, int port, int backlog) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, ip, &a.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (void *)&a, sizeof a) || listen(fd, backlog)) die("bind/listen");
    return fd;
}
static void raise_nofile(void) {
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

/* SHA-1 and base64, only for the accept key of a WebSocket */
static void sha1(const uint8_t *m, size_t len, uint8_t out[20]) {
    uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    uint8_t b[256] = {0};
    memcpy(b, m, len);
    b[len] = 0x80;
    size_t tot = ((len + 8) / 64 + 1) * 64;
    uint64_t bits = (uint64_t)len * 8;
    for (int i = 0; i < 8; i++) b[tot - 1 - (size_t)i] = (uint8_t)(bits >> (8 * i));
    for (size_t o = 0; o < tot; o += 64) {
        uint32_t w[80];
        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)b[o + 4 * i] << 24 | (uint32_t)b[o + 4 * i + 1] << 16 | (uint32_t)b[o + 4 * i + 2] << 8 | b[o + 4 * i + 3];
        for (int i = 16; i < 80; i++) { uint32_t x = w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]; w[i] = x << 1 | x >> 31; }
        uint32_t a = h[0], bb = h[1], c = h[2], d = h[3], e = h[4];
        for (int i = 0; i < 80; i++) {
            uint32_t f, k;
            if (i < 20) { f = (bb & c) | (~bb & d); k = 0x5A827999; }
            else if (i < 40) { f = bb ^ c ^ d; k = 0x6ED9EBA1; }
            else if (i < 60) { f = (bb & c) | (bb & d) | (c & d); k = 0x8F1BBCDC; }
            else { f = bb ^ c ^ d; k = 0xCA62C1D6; }
            uint32_t t = (a << 5 | a >> 27) + f + e + k + w[i];
            e = d; d = c; c = bb << 30 | bb >> 2; bb = a; a = t;
        }
        h[0] += a; h[1] += bb; h[2] += c; h[3] += d; h[4] += e;
    }
    for (int i = 0; i < 5; i++) for (int j = 0; j < 4; j++) out[4 * i + j] = (uint8_t)(h[i] >> (24 - 8 * j));
}
static size_t b64(const uint8_t *in, size_t n, char *out) {
    static const char T[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t o = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0) | (i + 2 < n ? in[i + 2] : 0);
        out[o++] = T[v >> 18]; out[o++] = T[(v >> 12) & 63];
        out[o++] = i + 1 < n ? T[(v >> 6) & 63] : '=';
        out[o++] = i + 2 < n ? T[v & 63] : '=';
    }
    out[o] = 0;
    return o;
}
/* XOR n bytes with the 4-byte key, phase 0; 8 bytes a step */
static inline void xor_mask(uint8_t *d, const uint8_t *s, size_t n, uint32_t key) {
    uint64_t k = (uint64_t)key << 32 | key;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) { uint64_t v; memcpy(&v, s + i, 8); v ^= k; memcpy(d + i, &v, 8); }
    for (; i < n; i++) d[i] = s[i] ^ (uint8_t)(key >> (8 * (i & 3)));
}
static uint64_t rng_s = 0x9E3779B97F4A7C15ull;
static inline uint32_t rng32(void) { rng_s ^= rng_s << 13; rng_s ^= rng_s >> 7; rng_s ^= rng_s << 17; return (uint32_t)(rng_s >> 16); }

/* writes the header of a client's (masked) or a server's frame; returns its length */
static inline size_t ws_hdr(uint8_t *b, int op, size_t n, int masked, uint32_t key) {
    size_t l = 2;
    b[0] = (uint8_t)(0x80 | op);
    if (n < 126) b[1] = (uint8_t)n;
    else if (n < 65536) { b[1] = 126; b[2] = (uint8_t)(n >> 8); b[3] = (uint8_t)n; l = 4; }
    else { b[1] = 127; for (int i = 0; i < 8; i++) b[2 + i] = (uint8_t)((uint64_t)n >> (56 - 8 * i)); l = 10; }
    if (masked) { b[1] |= 0x80; memcpy(b + l, &key, 4); l += 4; }
    return l;
}
/* reads a header: 0 if more bytes are needed, else its length, mask included */
static inline size_t ws_parse(const uint8_t *b, size_t have, int *op, size_t *n, int *masked, uint32_t *key) {
    if (have < 2) return 0;
    size_t l = 2;
    *op = b[0] & 15;
    *masked = b[1] >> 7;
    *n = b[1] & 127;
    if (*n == 126) { if (have < 4) return 0; *n = (size_t)b[2] << 8 | b[3]; l = 4; }
    else if (*n == 127) { if (have < 10) return 0; *n = 0; for (int i = 0; i < 8; i++) *n = *n << 8 | b[2 + i]; l = 10; }
    if (*masked) { if (have < l + 4) return 0; memcpy(key, b + l, 4); l += 4; }
    return l;
}

/* Listens at the address that the environment gives, and announces it. */
static int announced(const char *scheme) {
    const char *host = getenv("WIREBENCH_HOST"), *port = getenv("WIREBENCH_PORT"), *backlog = getenv("WIREBENCH_BACKLOG");
    if (!host || !port) { fprintf(stderr, "WIREBENCH_HOST or WIREBENCH_PORT is not set\n"); exit(1); }
    int fd = listen_on(host, atoi(port), backlog ? atoi(backlog) : 4096);
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    if (getsockname(fd, (void *)&address, &len)) die("getsockname");
    printf("ready %s://%s:%d/\n", scheme, host, ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

/* 0 if all of it was sent */
static int send_all(int fd, const uint8_t *bytes, size_t len) {
    for (size_t sent = 0; sent < len;) {
        ssize_t count = send(fd, bytes + sent, len - sent, MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN) return -1;
        if (count > 0) sent += (size_t)count;
    }
    return 0;
}

/* Answers the opening request in `in` in `out`; its length, 0 if it is incomplete, -1 if it is not one. */
static ssize_t ws_upgrade(uint8_t *in, size_t have, uint8_t *out, size_t *answer) {
    uint8_t *end = memmem(in, have, "\r\n\r\n", 4);
    if (!end) return have < 8192 ? 0 : -1;
    *end = 0;
    char *key = strcasestr((char *)in, "\r\nSec-WebSocket-Key:");
    if (!key) return -1;
    key += 20;
    while (*key == ' ') key++;
    size_t len = strcspn(key, " \r\n");
    if (len > 60) len = 60;
    uint8_t whole[128], digest[20];
    char accepted[32];
    memcpy(whole, key, len);
    memcpy(whole + len, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 36);
    sha1(whole, len + 36, digest);
    b64(digest, 20, accepted);
    *answer = (size_t)sprintf((char *)out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accepted);
    return end - in + 4;
}
#endif
