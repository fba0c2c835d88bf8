// A WebSocket echo on libwebsockets: ws on one port, wss on another when a certificate is given.
//
// Written like the library's own examples: fragments are gathered until the message is complete, then sent when the
// library reports that the socket is writable; while answers wait, nothing more is read from that connection. The
// library answers pings and closes by itself, and sets TCP_NODELAY. One thread, no extensions, so no compression.
#include <libwebsockets.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/// A message that is being gathered or waits to be sent; its bytes follow LWS_PRE bytes that the library needs.
struct message {
    struct message *next;
    enum lws_write_protocol kind;
    size_t size, space;
    unsigned char *bytes;
};

/// The state of a connection.
struct session {
    struct message *coming;
    struct message *first, *last;
};

static size_t message_max = 16 << 20;
static const char *reply;
static int64_t work_ns;
static struct lws_context *context;
static volatile sig_atomic_t ended;

static void end(int signal) {
    (void)signal;
    ended = 1;
    lws_cancel_service(context);
}

static void discard(struct message *message) {
    free(message->bytes);
    free(message);
}

/// Makes room for `more` bytes; 0 if there is none.
static int reserve(struct message *message, size_t more) {
    size_t wanted = message->size + more;
    if (message->bytes && wanted <= message->space) return 1;
    size_t space = wanted < 512 ? 512 : wanted * 2;
    unsigned char *bytes = realloc(message->bytes, LWS_PRE + space);
    if (!bytes) return 0;
    message->bytes = bytes;
    message->space = space;
    return 1;
}

static int append(struct message *message, const void *bytes, size_t size) {
    if (!reserve(message, size)) return 0;
    memcpy(message->bytes + LWS_PRE + message->size, bytes, size);
    message->size += size;
    return 1;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/// Keeps the processor busy for the time that a message is to cost, before it is answered.
static void work(void) {
    if (work_ns <= 0) return;
    for (int64_t end = now_ns() + work_ns; now_ns() < end;) continue;
}

/// Takes a part of a message, perhaps its last; -1 ends the connection.
static int receive(struct lws *connection, struct session *session, const void *bytes, size_t size) {
    struct message *message = session->coming;
    if (!message) {
        message = session->coming = calloc(1, sizeof *message);
        if (!message) return -1;
        message->kind = lws_frame_is_binary(connection) ? LWS_WRITE_BINARY : LWS_WRITE_TEXT;
    }
    if (message->size + size > message_max) {
        lws_close_reason(connection, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
        return -1;
    }
    if (!append(message, bytes, size)) return -1;
    if (lws_remaining_packet_payload(connection) || !lws_is_final_fragment(connection)) return 0;

    work();
    if (reply) {
        message->size = 0;
        if (!append(message, reply, strlen(reply))) return -1;
    }
    session->coming = NULL;
    if (session->last) session->last->next = message;
    else session->first = message;
    session->last = message;
    lws_rx_flow_control(connection, 0);
    lws_callback_on_writable(connection);
    return 0;
}

static int send_first(struct lws *connection, struct session *session) {
    struct message *message = session->first;
    if (!message) return 0;
    int sent = lws_write(connection, message->bytes + LWS_PRE, message->size, message->kind);
    int whole = sent >= 0 && (size_t)sent >= message->size;
    session->first = message->next;
    if (!session->first) session->last = NULL;
    discard(message);
    if (!whole) return -1;
    if (session->first) lws_callback_on_writable(connection);
    else lws_rx_flow_control(connection, 1);
    return 0;
}

static int echo(struct lws *connection, enum lws_callback_reasons reason, void *user, void *bytes, size_t size) {
    struct session *session = user;
    switch (reason) {
        case LWS_CALLBACK_RECEIVE:
            return receive(connection, session, bytes, size);
        case LWS_CALLBACK_SERVER_WRITEABLE:
            return send_first(connection, session);
        case LWS_CALLBACK_CLOSED:
            if (session->coming) discard(session->coming);
            while (session->first) {
                struct message *next = session->first->next;
                discard(session->first);
                session->first = next;
            }
            return 0;
        default:
            return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {.name = "echo", .callback = echo, .per_session_data_size = sizeof(struct session), .rx_buffer_size = 65536},
    {0},
};

/// The port that the library found, or 0.
static int listen_on(const char *name, const char *host, int port, const char *certificate, const char *key) {
    struct lws_context_creation_info info = {0};
    info.vhost_name = name;
    info.iface = host;
    info.port = port;
    info.protocols = protocols;
    if (certificate) {
        info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = certificate;
        info.ssl_private_key_filepath = key;
    }
    struct lws_vhost *vhost = lws_create_vhost(context, &info);
    return vhost ? lws_get_vhost_listen_port(vhost) : 0;
}

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value ? value : otherwise;
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--version") == 0) {
        printf("%d.%d.%d\n", LWS_LIBRARY_VERSION_MAJOR, LWS_LIBRARY_VERSION_MINOR, LWS_LIBRARY_VERSION_PATCH);
        return 0;
    }
    struct rlimit files = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < 65536 ? files.rlim_max : 65536;
    setrlimit(RLIMIT_NOFILE, &files);

    const char *host = setting("WIREBENCH_HOST", "127.0.0.1");
    const char *certificate = getenv("WIREBENCH_TLS_CERT");
    message_max = strtoull(setting("WIREBENCH_MESSAGE_MAX", "16777216"), NULL, 10);
    reply = getenv("WIREBENCH_REPLY");
    work_ns = strtoll(setting("WIREBENCH_WORK_NS", "0"), NULL, 10);

    lws_set_log_level(LLL_ERR, NULL);
    struct lws_context_creation_info info = {0};
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | (certificate ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0);
    context = lws_create_context(&info);
    if (!context) return 1;
    signal(SIGTERM, end);
    signal(SIGINT, end);

    int port = listen_on("plain", host, atoi(setting("WIREBENCH_PORT", "0")), NULL, NULL);
    if (port <= 0) return 1;
    printf("ready ws://%s:%d/\n", host, port);
    if (certificate) {
        port = listen_on("secure", host, 0, certificate, setting("WIREBENCH_TLS_KEY", ""));
        if (port <= 0) return 1;
        printf("ready wss://%s:%d/\n", host, port);
    }
    fflush(stdout);
    while (!ended && lws_service(context, 0) >= 0) continue;
    lws_context_destroy(context);
    return 0;
}
