// A client on bare sockets: the baseline of the C++ client subjects.
//
// TCP, HTTP/1.1 and WebSocket are done by hand, with as little as a correct exchange needs: one `send` for each
// message, `recv` into one buffer, no library but the system's. Chosen: blocking sockets, TCP_NODELAY, a fresh mask for
// each WebSocket message, HTTP replies by Content-Length.
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "cpp/wirebench.hpp"

namespace {

using wirebench::now;
using wirebench::Phases;
using wirebench::Settings;

/// A connected socket, and the bytes received from it that are not consumed yet.
class Stream {
public:
    ~Stream() { close(); }

    void connect(const wirebench::Url& url, Phases& phases) {
        auto begin = now();
        addrinfo hints{}, *found = nullptr;
        hints.ai_socktype = SOCK_STREAM;
        if (int code = getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found); code != 0) {
            throw std::runtime_error(std::string("resolve: ") + gai_strerror(code));
        }
        std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
        auto resolved = now();
        phases["resolve_ns"].push_back(resolved - begin);
        for (addrinfo* address = found; address && socket_ < 0; address = address->ai_next) {
            socket_ = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (::connect(socket_, address->ai_addr, address->ai_addrlen) != 0) close();
        }
        if (socket_ < 0) throw std::runtime_error(std::string("connect: ") + std::strerror(errno));
        int on = 1;
        setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        phases["connect_ns"].push_back(now() - resolved);
    }

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0) throw std::runtime_error(std::string("send: ") + std::strerror(errno));
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    /// Waits for at least `size` bytes, which stay until they are dropped.
    std::string_view wait_for(std::size_t size) {
        while (end_ - begin_ < size) receive();
        return here();
    }

    /// Waits for the bytes up to and including `mark`.
    std::string_view wait_for(std::string_view mark) {
        std::size_t at;
        while ((at = here().find(mark)) == std::string_view::npos) receive();
        return here().substr(0, at + mark.size());
    }

    void drop(std::size_t size) {
        begin_ += size;
        if (begin_ == end_) begin_ = end_ = 0;
    }

    void close() {
        int error = errno;
        if (socket_ >= 0) ::close(socket_);
        socket_ = -1;
        errno = error;
    }

private:
    std::string_view here() const { return {buffer_.data() + begin_, end_ - begin_}; }

    void receive() {
        if (end_ == buffer_.size()) {
            std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
            end_ -= begin_;
            begin_ = 0;
            if (end_ * 2 > buffer_.size()) buffer_.resize(buffer_.size() * 2);
        }
        ssize_t got = recv(socket_, buffer_.data() + end_, buffer_.size() - end_, 0);
        if (got < 0) throw std::runtime_error(std::string("receive: ") + std::strerror(errno));
        if (got == 0) throw std::runtime_error("closed by the server");
        end_ += static_cast<std::size_t>(got);
    }

    int socket_ = -1;
    std::vector<char> buffer_ = std::vector<char>(65536);
    std::size_t begin_ = 0, end_ = 0;
};

/// Unframed: as many bytes come back as are expected.
class Tcp : public wirebench::Connection {
public:
    explicit Tcp(const Settings& settings) : settings_(settings) {}
    void open(Phases& phases) override { stream_.connect(settings_.url, phases); }

    std::string_view round_trip(Phases&) override {
        stream_.drop(taken_);
        stream_.send(settings_.payload);
        taken_ = settings_.expect.size();
        return stream_.wait_for(taken_).substr(0, taken_);
    }

    bool close() override {
        stream_.close();
        return true;
    }

private:
    const Settings& settings_;
    Stream stream_;
    std::size_t taken_ = 0;
};

class Http : public wirebench::Connection {
public:
    explicit Http(const Settings& settings) : settings_(settings) {
        const auto& url = settings.url;
        std::string host = "\r\nHost: " + url.host + ":" + url.port + "\r\n";
        if (settings.get) {
            request_ = "GET " + url.target + " HTTP/1.1" + host + "\r\n";
        } else {
            request_ = "POST " + url.target + " HTTP/1.1" + host + "Content-Type: application/octet-stream\r\n" +
                       "Content-Length: " + std::to_string(settings.payload.size()) + "\r\n\r\n" + settings.payload;
        }
    }

    void open(Phases& phases) override { stream_.connect(settings_.url, phases); }

    std::string_view round_trip(Phases&) override {
        stream_.drop(taken_);
        taken_ = 0;
        stream_.send(request_);
        std::string_view head = stream_.wait_for("\r\n\r\n");
        if (head.substr(0, 13) != "HTTP/1.1 200 ") throw std::runtime_error("status " + std::string(head.substr(9, 3)));
        std::size_t head_size = head.size(), body_size = content_length(head);
        taken_ = head_size + body_size;
        return stream_.wait_for(taken_).substr(head_size, body_size);
    }

    bool close() override {
        stream_.close();
        return true;
    }

private:
    static std::size_t content_length(std::string_view head) {
        constexpr std::string_view NAME = "content-length:";
        for (std::size_t at = 0; (at = head.find("\r\n", at)) != std::string_view::npos;) {
            at += 2;
            if (strncasecmp(head.data() + at, NAME.data(), NAME.size()) == 0) {
                return std::strtoull(head.data() + at + NAME.size(), nullptr, 10);
            }
        }
        throw std::runtime_error("a reply without Content-Length");
    }

    const Settings& settings_;
    std::string request_;
    Stream stream_;
    std::size_t taken_ = 0;
};

class WebSocket : public wirebench::Connection {
public:
    explicit WebSocket(const Settings& settings) : settings_(settings) {}

    void open(Phases& phases) override {
        const auto& url = settings_.url;
        stream_.connect(url, phases);
        auto begin = now();
        // The key of RFC 6455, whose answer is known without SHA-1.
        stream_.send("GET " + url.target + " HTTP/1.1\r\nHost: " + url.host + ":" + url.port +
                     "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
        std::string_view head = stream_.wait_for("\r\n\r\n");
        if (head.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") == std::string_view::npos) {
            throw std::runtime_error("no upgrade: " + std::string(head.substr(0, head.find("\r\n"))));
        }
        stream_.drop(head.size());
        phases["handshake_ns"].push_back(now() - begin);
    }

    std::string_view round_trip(Phases&) override {
        send(settings_.text ? TEXT : BINARY, settings_.payload);
        Frame frame = take_data();
        if ((frame.code == TEXT) != settings_.text) throw std::runtime_error("a reply of the other kind");
        message_.assign(frame.content);
        while (!frame.last) message_.append((frame = take_data()).content);
        return message_;
    }

    bool close() override {
        send(CLOSE, "\x03\xe8");
        while (take().code != CLOSE) continue;
        stream_.close();
        return true;
    }

private:
    enum Code : unsigned char { CONTINUED = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };
    struct Frame {
        Code code;
        bool last;
        std::string_view content;
    };

    void send(Code code, std::string_view content) {
        std::size_t size = content.size();
        frame_.assign(1, static_cast<char>(0x80 | code));
        int length_bytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
        frame_ += static_cast<char>(0x80 | (length_bytes == 0 ? size : length_bytes == 2 ? 126 : 127));
        for (int i = length_bytes; i > 0; --i) frame_ += static_cast<char>(size >> (8 * (i - 1)));
        std::uint32_t key = static_cast<std::uint32_t>(random_());
        char mask[4];
        std::memcpy(mask, &key, sizeof mask);
        frame_.append(mask, sizeof mask);
        std::size_t head = frame_.size();
        frame_.append(content);
        for (std::size_t i = 0; i < size; ++i) frame_[head + i] ^= mask[i % 4];
        stream_.send(frame_);
    }

    /// The next frame of a message; a ping before it is answered.
    Frame take_data() {
        for (;;) {
            Frame frame = take();
            if (frame.code == CLOSE) throw std::runtime_error("closed by the server");
            if (frame.code == PING) send(PONG, std::string(frame.content));
            if (frame.code < CLOSE) return frame;
        }
    }

    Frame take() {
        stream_.drop(taken_);
        taken_ = 0;
        auto byte = [this](std::size_t at) { return static_cast<unsigned char>(stream_.wait_for(at + 1)[at]); };
        std::size_t size = byte(1) & 0x7f, head = size == 126 ? 4 : size == 127 ? 10 : 2;
        if (head > 2) size = 0;
        for (std::size_t at = 2; at < head; ++at) size = size << 8 | byte(at);
        taken_ = head + size;
        std::string_view whole = stream_.wait_for(taken_);
        auto first = static_cast<unsigned char>(whole[0]);
        return {static_cast<Code>(first & 15), (first & 0x80) != 0, whole.substr(head, size)};
    }

    const Settings& settings_;
    Stream stream_;
    std::minstd_rand random_{std::random_device{}()};
    std::string frame_, message_;
    std::size_t taken_ = 0;
};

std::unique_ptr<wirebench::Connection> connection(const Settings& settings) {
    const std::string& scheme = settings.url.scheme;
    if (scheme == "tcp") return std::make_unique<Tcp>(settings);
    if (scheme == "http") return std::make_unique<Http>(settings);
    if (scheme == "ws") return std::make_unique<WebSocket>(settings);
    throw wirebench::Unsupported(scheme);
}

}  // namespace

int main(int count, char** arguments) {
    return wirebench::serve_runs(count, arguments, {"sockets", "1"}, connection);
}
