// libcurl's WebSocket: `CURLOPT_CONNECT_ONLY` = 2, then `curl_ws_send` and `curl_ws_recv`.
//
// These never wait: when there is nothing to read, this waits with `poll` on the socket that libcurl names.
#include <curl/curl.h>
#include <curl/websockets.h>
#include <poll.h>

#include "cpp/wirebench.hpp"

namespace {

using wirebench::Nanos;
using wirebench::Phases;
using wirebench::Settings;

void check(CURLcode code) {
    if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
}

class WebSocket : public wirebench::Connection {
public:
    explicit WebSocket(const Settings& settings) : settings_(settings), buffer_(65536) {
        const std::string& scheme = settings.url.scheme;
        if (scheme != "ws" && scheme != "wss") throw wirebench::Unsupported(scheme);
    }

    ~WebSocket() override { curl_easy_cleanup(handle_); }

    void open(Phases& phases) override {
        handle_ = curl_easy_init();
        if (!handle_) throw std::runtime_error("curl_easy_init failed");
        check(curl_easy_setopt(handle_, CURLOPT_URL, settings_.url.whole.c_str()));
        check(curl_easy_setopt(handle_, CURLOPT_CONNECT_ONLY, 2L));
        check(curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L));
        if (settings_.url.secure) check(curl_easy_setopt(handle_, CURLOPT_CAINFO, settings_.ca_file.c_str()));
        check(curl_easy_perform(handle_));
        check(curl_easy_getinfo(handle_, CURLINFO_ACTIVESOCKET, &socket_));

        Nanos resolved = time_of(CURLINFO_NAMELOOKUP_TIME_T), connected = time_of(CURLINFO_CONNECT_TIME_T);
        Nanos secured = std::max(connected, time_of(CURLINFO_APPCONNECT_TIME_T));
        phases["resolve_ns"].push_back(resolved);
        phases["connect_ns"].push_back(connected - std::min(resolved, connected));
        if (secured > connected) phases["tls_ns"].push_back(secured - connected);
        phases["handshake_ns"].push_back(time_of(CURLINFO_TOTAL_TIME_T) - secured);
    }

    std::string_view round_trip(Phases&) override {
        send(settings_.payload.data(), settings_.payload.size(), settings_.text ? CURLWS_TEXT : CURLWS_BINARY);
        message_.clear();
        const curl_ws_frame* frame;
        do {
            std::size_t size = 0;
            frame = receive(size);
            if (frame->flags & CURLWS_CLOSE) throw std::runtime_error("closed by the server");
            if (frame->flags & CURLWS_PING) continue;  // libcurl answers it.
            message_.append(buffer_.data(), size);
        } while (frame->bytesleft > 0 || (frame->flags & (CURLWS_CONT | CURLWS_PING)));
        if (!!(frame->flags & CURLWS_TEXT) != settings_.text) throw std::runtime_error("a reply of the other kind");
        return message_;
    }

    bool close() override {
        send("\x03\xe8", 2, CURLWS_CLOSE);
        std::size_t size = 0;
        while (!(receive(size)->flags & CURLWS_CLOSE)) continue;
        curl_easy_cleanup(handle_);
        handle_ = nullptr;
        return true;
    }

private:
    Nanos time_of(CURLINFO which) {
        curl_off_t micros = 0;
        check(curl_easy_getinfo(handle_, which, &micros));
        return static_cast<Nanos>(micros) * 1000;
    }

    void send(const char* bytes, std::size_t size, unsigned flags) {
        for (;;) {
            std::size_t sent = 0;
            CURLcode code = curl_ws_send(handle_, bytes, size, &sent, 0, flags);
            if (code != CURLE_AGAIN) check(code);
            bytes += sent;
            size -= sent;
            if (size == 0 && code == CURLE_OK) return;
            if (code == CURLE_AGAIN) wait(POLLOUT);
        }
    }

    const curl_ws_frame* receive(std::size_t& size) {
        for (;;) {
            const curl_ws_frame* frame = nullptr;
            CURLcode code = curl_ws_recv(handle_, buffer_.data(), buffer_.size(), &size, &frame);
            if (code != CURLE_AGAIN) {
                check(code);
                return frame;
            }
            wait(POLLIN);
        }
    }

    void wait(short event) {
        pollfd socket{static_cast<int>(socket_), event, 0};
        poll(&socket, 1, -1);
    }

    const Settings& settings_;
    CURL* handle_ = nullptr;
    curl_socket_t socket_ = CURL_SOCKET_BAD;
    std::vector<char> buffer_;
    std::string message_;
};

}  // namespace

int main(int count, char** arguments) {
    curl_global_init(CURL_GLOBAL_ALL);
    const char* version = curl_version_info(CURLVERSION_NOW)->version;
    return wirebench::serve_runs(count, arguments, {"libcurl", version},
                                 [](const Settings& settings) { return std::make_unique<WebSocket>(settings); });
}
