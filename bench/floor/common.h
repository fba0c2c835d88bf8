/* Shared helpers of the floor programs (own work; no third-party code). */
#ifndef FLOOR_COMMON_H
#define FLOOR_COMMON_H
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
static inline double tv_s(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }
static void cpu_now(double *u, double *s) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    *u = tv_s(r.ru_utime);
    *s = tv_s(r.ru_stime);
}
static long rss_kb(void) {
    long total = 0, res = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%ld %ld", &total, &res) != 2) res = 0;
    fclose(f);
    return res * (sysconf(_SC_PAGESIZE) / 1024);
}

/* log-linear histogram: 64 sub-buckets per power of two -> <= 1.6 % error */
#define HB 64
#define HN (HB * 40)
typedef struct { uint64_t n, sum, max, min; uint32_t c[HN]; } hist;
static inline unsigned h_idx(uint64_t v) {
    if (v < HB) return (unsigned)v;
    unsigned e = 63u - (unsigned)__builtin_clzll(v); /* >= 6 */
    unsigned i = (e - 5u) * HB + (unsigned)((v >> (e - 6u)) & (HB - 1));
    return i < HN ? i : HN - 1;
}
static inline uint64_t h_val(unsigned i) {
    if (i < HB) return i;
    unsigned e = i / HB + 5u;
    return ((uint64_t)(HB + i % HB)) << (e - 6u);
}
static inline void h_add(hist *h, uint64_t v) {
    h->n++; h->sum += v;
    if (v > h->max) h->max = v;
    if (!h->min || v < h->min) h->min = v;
    h->c[h_idx(v)]++;
}
static double h_q(const hist *h, double q) {
    uint64_t want = (uint64_t)(q * (double)h->n), acc = 0;
    for (unsigned i = 0; i < HN; i++) { acc += h->c[i]; if (acc > want) return (double)h_val(i); }
    return (double)h->max;
}

static void die(const char *m) { perror(m); exit(1); }
static void nodelay(int fd) { int one = 1; setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); }
static int listen_on(const char *ip, int port, int flags) {
    int fd = socket(AF_INET, SOCK_STREAM | flags, 0), one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, ip, &a.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (void *)&a, sizeof a) || listen(fd, 4096)) die("bind/listen");
    return fd;
}
/* says which port a listener got, in the words that every server of this project uses */
static void say_ready(int listener) {
    struct sockaddr_in a;
    socklen_t n = sizeof a;
    if (getsockname(listener, (void *)&a, &n)) die("getsockname");
    printf("ready %s:%d\n", inet_ntoa(a.sin_addr), ntohs(a.sin_port));
    fflush(stdout);
}
/* [0] messages echoed, [1] connections accepted; in a mapped file so that a harness can read them at no
 * cost to the server */
#include <sys/mman.h>
static uint64_t *counters(const char *path) {
    static uint64_t own[8];
    if (!path) return own;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, 4096)) die("counters");
    void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return m == MAP_FAILED ? own : m;
}
static void raise_nofile(void) {
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

/* SHA-1 + base64, only for the WebSocket accept key */
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

/* header of a client (masked) or server frame; returns its length */
static inline size_t ws_hdr(uint8_t *b, int op, size_t n, int masked, uint32_t key) {
    size_t l = 2;
    b[0] = (uint8_t)(0x80 | op);
    if (n < 126) b[1] = (uint8_t)n;
    else if (n < 65536) { b[1] = 126; b[2] = (uint8_t)(n >> 8); b[3] = (uint8_t)n; l = 4; }
    else { b[1] = 127; for (int i = 0; i < 8; i++) b[2 + i] = (uint8_t)((uint64_t)n >> (56 - 8 * i)); l = 10; }
    if (masked) { b[1] |= 0x80; memcpy(b + l, &key, 4); l += 4; }
    return l;
}
/* parses a header: 0 = needs more bytes, else header length (mask included) */
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
#endif
