/* Minimal TCP echo server: one thread, io_uring (multishot accept + recv, provided buffer ring,
 * one submission batch per wait).  usage: tcp_echo_uring [PORT [COUNTERFILE]]
 * Port 0 (the default) takes a free one; "ready IP:PORT" says which. */
#include "common.h"
#include <liburing.h>
#define NBUF 4096
#define BSZ 4096
static struct io_uring ring;
static struct io_uring_buf_ring *br;
static uint8_t *pool;
enum { ACC = 1, RCV = 2, SND = 3 };
#define UD(t, fd, b) ((uint64_t)(t) << 56 | (uint64_t)(uint32_t)(b) << 32 | (uint32_t)(fd))
static struct io_uring_sqe *sqe(void) {
    struct io_uring_sqe *s = io_uring_get_sqe(&ring);
    if (!s) { io_uring_submit(&ring); s = io_uring_get_sqe(&ring); }
    return s;
}
static void arm(int fd) {
    struct io_uring_sqe *s = sqe();
    io_uring_prep_recv_multishot(s, fd, NULL, 0, 0);
    s->flags |= IOSQE_BUFFER_SELECT; s->buf_group = 1;
    s->user_data = UD(RCV, fd, 0);
}
int main(int argc, char **argv) {
    raise_nofile();
    uint64_t *ctr = counters(argc > 2 ? argv[2] : NULL);
    struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE, .cq_entries = 32768};
    if (io_uring_queue_init_params(4096, &ring, &p) < 0) die("ring");
    if (posix_memalign((void **)&br, 4096, NBUF * sizeof(struct io_uring_buf))) die("mem");
    pool = malloc((size_t)NBUF * BSZ);
    struct io_uring_buf_reg reg = {.ring_addr = (uint64_t)(uintptr_t)br, .ring_entries = NBUF, .bgid = 1};
    if (io_uring_register_buf_ring(&ring, &reg, 0)) die("buf_ring");
    io_uring_buf_ring_init(br);
    for (int i = 0; i < NBUF; i++) io_uring_buf_ring_add(br, pool + (size_t)i * BSZ, BSZ, (uint16_t)i, io_uring_buf_ring_mask(NBUF), i);
    io_uring_buf_ring_advance(br, NBUF);
    int l = listen_on("127.0.0.1", argc > 1 ? atoi(argv[1]) : 0, 0);
    say_ready(l);
    struct io_uring_sqe *s = sqe();
    io_uring_prep_multishot_accept(s, l, NULL, NULL, 0);
    s->user_data = UD(ACC, l, 0);
    for (;;) {
        io_uring_submit_and_wait(&ring, 1);
        struct io_uring_cqe *c;
        unsigned head, n = 0, nb = 0;
        io_uring_for_each_cqe(&ring, head, c) {
            n++;
            int t = (int)(c->user_data >> 56), fd = (int)(uint32_t)c->user_data, b = (int)(c->user_data >> 32 & 0xffff);
            if (t == ACC) {
                if (c->res >= 0) { ctr[1]++; nodelay(c->res); arm(c->res); }
                if (!(c->flags & IORING_CQE_F_MORE)) { struct io_uring_sqe *q = sqe(); io_uring_prep_multishot_accept(q, l, NULL, NULL, 0); q->user_data = UD(ACC, l, 0); }
            } else if (t == RCV) {
                if (c->res > 0) {
                    ctr[0]++;
                    int id = (int)(c->flags >> IORING_CQE_BUFFER_SHIFT);
                    struct io_uring_sqe *q = sqe();
                    io_uring_prep_send(q, fd, pool + (size_t)id * BSZ, (size_t)c->res, MSG_NOSIGNAL | MSG_WAITALL);
                    q->user_data = UD(SND, fd, id);
                    if (!(c->flags & IORING_CQE_F_MORE)) arm(fd);
                } else if (c->res == -ENOBUFS) arm(fd);
                else close(fd);
            } else {
                io_uring_buf_ring_add(br, pool + (size_t)b * BSZ, BSZ, (uint16_t)b, io_uring_buf_ring_mask(NBUF), (int)nb++);
            }
        }
        if (nb) io_uring_buf_ring_advance(br, (int)nb);
        io_uring_cq_advance(&ring, n);
    }
}
