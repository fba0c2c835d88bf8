// Boost.Beast: its WebSocket and HTTP, with the synchronous calls that it offers.
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include "cpp/wirebench.hpp"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using wirebench::now;
using wirebench::Phases;
using wirebench::Settings;

constexpr std::uint64_t BODY_MAX = 64 << 20;

void connect(beast::tcp_stream& stream, asio::io_context& context, const wirebench::Url& url, Phases& phases) {
    auto begin = now();
    auto addresses = tcp::resolver(context).resolve(url.host, url.port);
    auto resolved = now();
    phases["resolve_ns"].push_back(resolved - begin);
    stream.connect(addresses);
    stream.socket().set_option(tcp::no_delay(true));
    phases["connect_ns"].push_back(now() - resolved);
}

std::string authority(const wirebench::Url& url) {
    return url.host + ':' + url.port;
}

class Http : public wirebench::Connection {
public:
    explicit Http(const Settings& settings) : settings_(settings), stream_(context_) {
        request_.version(11);
        request_.method(settings.get ? http::verb::get : http::verb::post);
        request_.target(settings.url.target);
        request_.set(http::field::host, authority(settings.url));
        if (settings.get) return;
        request_.set(http::field::content_type, "application/octet-stream");
        request_.body() = settings.payload;
        request_.prepare_payload();
    }

    void open(Phases& phases) override { connect(stream_, context_, settings_.url, phases); }

    std::string_view round_trip(Phases&) override {
        http::write(stream_, request_);
        http::response_parser<http::string_body> parser;
        parser.body_limit(BODY_MAX);
        http::read(stream_, buffer_, parser);
        reply_ = parser.release();
        if (reply_.result() != http::status::ok) {
            throw std::runtime_error("status " + std::to_string(reply_.result_int()));
        }
        return reply_.body();
    }

    bool close() override {
        stream_.close();
        return true;
    }

private:
    const Settings& settings_;
    asio::io_context context_;
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    http::request<http::string_body> request_;
    http::response<http::string_body> reply_;
};

/// The part that is the same for every stream.
template <typename Stream>
class WebSocket : public wirebench::Connection {
public:
    std::string_view round_trip(Phases&) override {
        stream_.write(asio::buffer(settings_.payload));
        buffer_.clear();
        stream_.read(buffer_);
        if (stream_.got_text() != settings_.text) throw std::runtime_error("a reply of the other kind");
        auto reply = buffer_.cdata();
        return {static_cast<const char*>(reply.data()), reply.size()};
    }

    bool close() override {
        stream_.close(beast::websocket::close_code::normal);
        return true;
    }

protected:
    template <typename... Arguments>
    explicit WebSocket(const Settings& settings, Arguments&... arguments)
        : settings_(settings), stream_(context_, arguments...) {}

    void handshake(Phases& phases) {
        auto begin = now();
        stream_.read_message_max(BODY_MAX);
        stream_.text(settings_.text);
        stream_.handshake(authority(settings_.url), settings_.url.target);
        phases["handshake_ns"].push_back(now() - begin);
    }

    const Settings& settings_;
    asio::io_context context_;
    beast::websocket::stream<Stream> stream_;
    beast::flat_buffer buffer_;
};

class Plain : public WebSocket<beast::tcp_stream> {
public:
    explicit Plain(const Settings& settings) : WebSocket(settings) {}

    void open(Phases& phases) override {
        connect(stream_.next_layer(), context_, settings_.url, phases);
        handshake(phases);
    }
};

/// The TLS context, created before the stream that needs it.
struct Trust {
    explicit Trust(const Settings& settings) : trust_(ssl::context::tls_client) {
        trust_.load_verify_file(settings.ca_file);
        trust_.set_verify_mode(ssl::verify_peer);
        trust_.set_verify_callback(ssl::host_name_verification(settings.url.host));
    }
    ssl::context trust_;
};

class Secure : Trust, public WebSocket<beast::ssl_stream<beast::tcp_stream>> {
public:
    explicit Secure(const Settings& settings) : Trust(settings), WebSocket(settings, trust_) {}

    void open(Phases& phases) override {
        connect(beast::get_lowest_layer(stream_), context_, settings_.url, phases);
        auto begin = now();
        stream_.next_layer().handshake(ssl::stream_base::client);
        phases["tls_ns"].push_back(now() - begin);
        handshake(phases);
    }
};

std::unique_ptr<wirebench::Connection> connection(const Settings& settings) {
    const std::string& scheme = settings.url.scheme;
    if (scheme == "http") return std::make_unique<Http>(settings);
    if (scheme == "ws") return std::make_unique<Plain>(settings);
    if (scheme == "wss") return std::make_unique<Secure>(settings);
    throw wirebench::Unsupported(scheme);
}

}  // namespace

int main(int count, char** arguments) {
    std::string version = std::to_string(BOOST_VERSION / 100000) + '.' + std::to_string(BOOST_VERSION / 100 % 1000) +
                          '.' + std::to_string(BOOST_VERSION % 100);
    return wirebench::serve_runs(count, arguments, {"Boost.Beast", version}, connection);
}
