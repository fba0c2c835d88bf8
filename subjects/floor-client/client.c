/* The floor of the clients: the least that a correct load generator does for each message, in C on the system's sockets.
 * One thread, level-triggered epoll, one message in flight on each connection, two readings of the clock and one
 * comparison of every byte for each message; WebSocket messages are masked anew. TCP, WebSocket (RFC 6455, no
 * extensions, replies of one frame) and HTTP/1.1 (replies by Content-Length). A WebSocket that lived awaits the server's
 * Close before it closes (RFC 6455, 7.1.1). Start reading at `main`; `run_block` is one `run` line. */
#define _GNU_SOURCE
#include "c/floor.h"
#include <netdb.h>
#include <sys/epoll.h>

enum protocol { TCP, WS, HTTP };
enum state { DEAD, RESTING, OPENING, OPEN, CLOSING };
enum { ERRORS_MAX = 16, WORDS_MAX = 80, IN_MAX = 1 << 18, LINE_MAX_LEN = 512 };

typedef struct {
    uint64_t born, sent;
    int fd;
    enum state state;
    uint64_t trips;
    size_t got;       /* received bytes of the reply in flight */
    uint8_t *partial; /* HTTP: those bytes, where one read did not bring all */
} connection;

/* times in nanoseconds; `name` is that of their result line */
typedef struct { const char *name; uint64_t *times; size_t count, room; } series;

static struct {
    enum protocol protocol;
    char host[256], port[8], target[1024];
    struct sockaddr_in address;
    size_t connections;
    uint64_t life; /* round trips of a connection; 0: it stays */
    int text, get;
    uint8_t *payload, *expect;
    size_t payload_len, expect_len;
} set;

static connection *connections;
static int epoll;
static size_t in_flight; /* connections that wait for something */
static uint8_t in[IN_MAX], *request, *reply;
static size_t request_len, reply_len; /* on the wire; HTTP: of the reply as the first one was */
static char upgrade_request[2048];
static size_t upgrade_len;

/* The block: where it is, and what was seen in its window. */
static struct {
    uint64_t start, last;            /* of the window; 0: it has not begun */
    uint64_t time, messages, clients; /* until when, or what is left; one is given */
    int is_timed, of_messages, of_clients;
    uint64_t ok, error_counts[ERRORS_MAX];
    char errors[ERRORS_MAX][WORDS_MAX];
    series round_trips, lives, connects, handshakes;
} block;

static void note(series *series, uint64_t time) {
    if (series->count == series->room) {
        series->room = series->room ? 2 * series->room : 1 << 16;
        series->times = realloc(series->times, series->room * sizeof *series->times);
        if (!series->times) die("realloc");
    }
    series->times[series->count++] = time;
}

static void note_error(const char *words) {
    for (int i = 0; i < ERRORS_MAX; i++) {
        if (!block.errors[i][0]) snprintf(block.errors[i], WORDS_MAX, "%s", words);
        if (i == ERRORS_MAX - 1 || !strncmp(block.errors[i], words, WORDS_MAX - 1)) { block.error_counts[i]++; return; }
    }
}

static int counts(uint64_t begun) { return block.start && begun >= block.start; }

/* 1 if another may begin; takes one of those that are left */
static int goes_on(uint64_t now, int counted, uint64_t *left) {
    if (!block.start) return 1;
    if (block.is_timed) return now < block.start + block.time;
    if (!counted) return 1;
    return *left ? (*left)--, 1 : 0;
}
static int may_send(uint64_t now) {
    int is_followed = set.life && !block.of_messages; /* a life that has begun is followed to its end */
    return is_followed || goes_on(now, block.of_messages, &block.messages);
}
static int may_live(uint64_t now) {
    if (block.of_messages) return !block.start || block.messages;
    return goes_on(now, block.of_clients, &block.clients);
}

static void rest(connection *c) {
    c->state = RESTING;
    in_flight--;
}

static void end(connection *c) {
    if (c->state > RESTING) in_flight--;
    if (c->state != DEAD) close(c->fd);
    free(c->partial);
    c->partial = NULL;
    c->state = DEAD;
}

static void begin(connection *c, uint64_t now);

/* handles a failed connection; another one follows a short-lived one */
static void fail(connection *c, const char *words) {
    note_error(words);
    end(c);
    uint64_t now = now_ns();
    if (set.life) begin(c, now);
}

/* Sends the next message, unless the block is over: then a connection that stays rests, and one that does not ends. */
static void put(connection *c) {
    uint64_t now = now_ns();
    if (!may_send(now)) {
        if (set.life) end(c);
        else rest(c);
        return;
    }
    if (set.protocol == WS) {
        uint32_t key = rng32();
        size_t head = ws_hdr(request, set.text ? 1 : 2, set.payload_len, 1, key);
        xor_mask(request + head, set.payload, set.payload_len, key);
    }
    c->sent = now;
    c->got = 0;
    if (send_all(c->fd, request, request_len)) fail(c, strerror(errno));
}

/* Connects; a WebSocket asks for its upgrade. In a block of short-lived clients the first message follows. */
static int open_connection(connection *c, uint64_t now) {
    c->born = now;
    c->trips = 0;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (void *)&set.address, sizeof set.address)) {
        note_error(strerror(errno));
        if (c->fd >= 0) close(c->fd);
        return -1;
    }
    nodelay(c->fd);
    c->sent = now_ns();
    if (counts(now) || !set.life) note(&block.connects, c->sent - now);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll_ctl");
    in_flight++;
    c->state = set.protocol == WS ? OPENING : OPEN;
    if (c->state == OPENING && send_all(c->fd, (uint8_t *)upgrade_request, upgrade_len)) {
        note_error(strerror(errno));
        end(c);
        return -1;
    }
    return 0;
}

/* Begins short-lived clients until one is connected or no more may begin. */
static void begin(connection *c, uint64_t now) {
    for (int lost = 0; lost < 100 && may_live(now); lost++, now = now_ns()) {
        if (open_connection(c, now)) continue;
        if (c->state == OPEN) put(c);
        return;
    }
}

/* The upgrade was answered. */
static void take_upgrade(connection *c, size_t got) {
    if (got < 12 || memcmp(in, "HTTP/1.1 101", 12) || !memmem(in, got, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", 28)) {
        fail(c, "no upgrade");
        return;
    }
    if (counts(c->born) || !set.life) note(&block.handshakes, now_ns() - c->sent);
    c->state = OPEN;
    if (set.life) put(c);
    else rest(c);
}

/* Checks an HTTP reply: -1 if it is none, 0 if there is more to come, 1 if it is right, 2 if it is wrong. */
static int http_reply(const uint8_t *bytes, size_t len) {
    const uint8_t *body = memmem(bytes, len, "\r\n\r\n", 4);
    if (!body) return len > 65536 ? -1 : 0;
    body += 4;
    if (memcmp(bytes, "HTTP/1.1 200", 12)) return -1;
    char head[4096];
    size_t head_len = (size_t)(body - bytes) < sizeof head ? (size_t)(body - bytes) : sizeof head - 1;
    memcpy(head, bytes, head_len);
    head[head_len] = 0;
    char *length = strcasestr(head, "\r\nContent-Length:");
    if (!length) return -1;
    size_t body_len = strtoul(length + 17, NULL, 10), have = len - (size_t)(body - bytes);
    if (have < body_len) return 0;
    return have == body_len && body_len == set.expect_len && !memcmp(body, set.expect, body_len) ? 1 : 2;
}

/* As `http_reply`, for the bytes received now. */
static int take_http(connection *c, size_t got) {
    if (!c->got) {
        int found = http_reply(in, got);
        if (found) return found;
    }
    c->partial = realloc(c->partial, c->got + got);
    if (!c->partial) die("realloc");
    memcpy(c->partial + c->got, in, got);
    c->got += got;
    return http_reply(c->partial, c->got);
}

/* TCP and WebSocket: every byte of the reply is known. */
static int take_known(connection *c, size_t got) {
    if (got > reply_len - c->got) return -1;
    if (memcmp(in, reply + c->got, got)) return set.protocol == TCP && c->got + got == reply_len ? 2 : -1;
    c->got += got;
    return c->got == reply_len;
}

static void take_reply(connection *c, size_t got) {
    int found = set.protocol == HTTP ? take_http(c, got) : take_known(c, got);
    if (found == 0) return;
    uint64_t now = now_ns();
    if (found != 1) { fail(c, "another reply than was expected"); return; }
    if (counts(c->sent)) {
        note(&block.round_trips, now - c->sent);
        block.ok++;
        block.last = now;
    }
    if (!set.life || ++c->trips < set.life) { put(c); return; }
    if (counts(c->born)) note(&block.lives, now - c->born);
    if (set.protocol != WS) { end(c); begin(c, now_ns()); return; }
    uint8_t frame[8] = {0};
    c->state = CLOSING;
    if (send_all(c->fd, frame, ws_hdr(frame, 8, 0, 1, 0))) fail(c, strerror(errno));
}

static void take(connection *c) {
    ssize_t got = recv(c->fd, in, sizeof in, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (c->state == CLOSING) { end(c); begin(c, now_ns()); return; } /* its Close, or its end */
    if (got <= 0) { fail(c, got ? strerror(errno) : "closed by the server"); return; }
    if (c->state == OPENING) take_upgrade(c, (size_t)got);
    else take_reply(c, (size_t)got);
}

/* Handles events until nothing is in flight, or until `until`. */
static void drive(uint64_t until) {
    struct epoll_event events[1024];
    while (in_flight) {
        uint64_t now = now_ns();
        if (now >= until) return;
        uint64_t left_ms = (until - now) / 1000000 + 1;
        int ready = epoll_wait(epoll, events, 1024, left_ms < 100 ? (int)left_ms : 100);
        for (int i = 0; i < ready; i++) take(events[i].data.ptr);
    }
}

static void say(const char *words) { puts(words); fflush(stdout); }

static void print(const series *series) {
    for (size_t i = 0; i < series->count; i++) {
        if (i % 1000 == 0) printf("%s%s", i ? "\n" : "", series->name);
        printf(" %lu", series->times[i]);
    }
    if (series->count) putchar('\n');
}

static void reset(void) {
    series *all[] = {&block.round_trips, &block.lives, &block.connects, &block.handshakes};
    const char *names[] = {"round_trip_ns", "life_ns", "connect_ns", "handshake_ns"};
    series kept[4];
    for (int i = 0; i < 4; i++) kept[i] = *all[i], kept[i].name = names[i], kept[i].count = 0;
    memset(&block, 0, sizeof block);
    for (int i = 0; i < 4; i++) *all[i] = kept[i];
}

/* Has every connection send its first message, or every place its first client. */
static void set_off(void) {
    for (size_t i = 0; i < set.connections; i++) {
        connection *c = &connections[i];
        if (set.life) begin(c, now_ns());
        else if (c->state == RESTING) { c->state = OPEN; in_flight++; put(c); }
    }
}

/* One block: opens, warms up, measures, closes, reports. */
static void run_block(char *line) {
    uint64_t warm_up = 0;
    const char *unsupported = NULL;
    reset();
    strtok(line, " \n"); /* `run` */
    for (char *word; (word = strtok(NULL, " \n"));) {
        char *value = strchr(word, '=');
        uint64_t number = value ? strtoul(value + 1, NULL, 10) : 0;
        if (!strncmp(word, "warm_up_ns=", 11)) warm_up = number;
        else if (!strncmp(word, "time_ns=", 8)) block.time = number, block.is_timed = 1;
        else if (!strncmp(word, "messages=", 9)) block.messages = number, block.of_messages = 1;
        else if (!strncmp(word, "clients=", 8) && set.life) block.clients = number, block.of_clients = 1;
        else unsupported = word;
    }
    if (unsupported || block.is_timed + block.of_messages + block.of_clients != 1) {
        printf("unsupported %s\n", unsupported ? unsupported : "not one of time_ns, messages and clients");
        fflush(stdout);
        return;
    }
    if (!set.life) {
        for (size_t i = 0; i < set.connections; i++) {
            /* one after the other, so that none of them delays another */
            if (open_connection(&connections[i], now_ns())) continue;
            if (set.protocol == WS) drive(~0ull);
            else rest(&connections[i]);
        }
    }
    int is_warmed = warm_up && !block.of_clients;
    if (is_warmed) {
        set_off();
        drive(now_ns() + warm_up);
    }
    say("measuring");
    uint64_t cpu = cpu_ns();
    block.start = block.last = now_ns();
    if (!is_warmed) set_off();
    drive(~0ull);
    cpu = cpu_ns() - cpu;
    say("measured");
    for (size_t i = 0; i < set.connections; i++) {
        connection *c = &connections[i];
        if (c->state == DEAD) continue;
        uint8_t frame[8] = {0};
        struct timeval patience = {.tv_sec = 5};
        if (set.protocol == WS && !send_all(c->fd, frame, ws_hdr(frame, 8, 0, 1, 0))) {
            setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
            while (recv(c->fd, in, sizeof in, 0) > 0) continue;
        }
        end(c);
    }
    printf("wall_ns %lu\ncpu_ns %lu\nok %lu\n", block.last - block.start, cpu, block.ok);
    for (int i = 0; i < ERRORS_MAX; i++) if (block.error_counts[i]) printf("error %lu %s\n", block.error_counts[i], block.errors[i]);
    print(&block.round_trips);
    print(&block.lives);
    print(&block.connects);
    print(&block.handshakes);
    say("done");
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    if (!value) { fprintf(stderr, "%s is not set\n", name); exit(1); }
    return value;
}

static uint8_t *content(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    uint8_t *bytes = malloc(1 << 20);
    *len = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void read_settings(void) {
    const char *url = variable("WIREBENCH_URL"), *life = getenv("WIREBENCH_LIFE"), *method = getenv("WIREBENCH_METHOD");
    char scheme[16], authority[300];
    if (sscanf(url, "%15[^:]://%299[^/]%1023s", scheme, authority, set.target) < 2) { fprintf(stderr, "no URL: %s\n", url); exit(1); }
    if (!set.target[0]) strcpy(set.target, "/");
    if (!strcmp(scheme, "tcp")) set.protocol = TCP;
    else if (!strcmp(scheme, "ws")) set.protocol = WS;
    else if (!strcmp(scheme, "http")) set.protocol = HTTP;
    else { fprintf(stderr, "not spoken: %s\n", scheme); exit(127); }
    char *colon = strrchr(authority, ':');
    snprintf(set.port, sizeof set.port, "%s", colon ? colon + 1 : "80");
    if (colon) *colon = 0;
    snprintf(set.host, sizeof set.host, "%.255s", authority);
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(set.host, set.port, &hints, &found)) { fprintf(stderr, "cannot resolve %s\n", set.host); exit(1); }
    memcpy(&set.address, found->ai_addr, sizeof set.address);
    freeaddrinfo(found);
    set.connections = strtoul(variable("WIREBENCH_CONNECTIONS"), NULL, 10);
    set.life = life && strcmp(life, "long") ? strtoul(life, NULL, 10) : 0;
    set.text = !strcmp(variable("WIREBENCH_KIND"), "text");
    set.get = method && !strcmp(method, "GET");
    set.payload = content(variable("WIREBENCH_PAYLOAD"), &set.payload_len);
    set.expect = content(variable("WIREBENCH_EXPECT"), &set.expect_len);
    connections = calloc(set.connections, sizeof *connections);
    request = malloc(set.payload_len + 4096);
    reply = malloc(set.expect_len + 16);
    if (!connections || !request || !reply) die("malloc");
}

/* Prepares the bytes that are the same for all messages and for all replies. */
static void prepare(void) {
    size_t head = 0;
    if (set.protocol == WS) {
        request_len = ws_hdr(request, 1, set.payload_len, 1, 0) + set.payload_len;
        head = ws_hdr(reply, set.text ? 1 : 2, set.expect_len, 0, 0);
        upgrade_len = (size_t)snprintf(upgrade_request, sizeof upgrade_request,
            "GET %s HTTP/1.1\r\nHost: %s:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", set.target, set.host, set.port);
    } else if (set.protocol == HTTP) {
        const char *format = set.get ? "GET %s HTTP/1.1\r\nHost: %s:%s\r\n\r\n"
            : "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/octet-stream\r\nContent-Length: %zu\r\n\r\n";
        request_len = (size_t)snprintf((char *)request, 4096, format, set.target, set.host, set.port, set.payload_len);
    }
    if (set.protocol != WS) {
        size_t body = set.get ? 0 : set.payload_len;
        memcpy(request + request_len, set.payload, body);
        request_len += body;
    }
    memcpy(reply + head, set.expect, set.expect_len);
    reply_len = head + set.expect_len;
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1) return puts("1") < 0;
    raise_nofile();
    signal(SIGPIPE, SIG_IGN);
    read_settings();
    prepare();
    epoll = epoll_create1(EPOLL_CLOEXEC);
    say("ready epoll 1");
    for (char line[LINE_MAX_LEN]; fgets(line, sizeof line, stdin);) run_block(line);
    return 0;
}
