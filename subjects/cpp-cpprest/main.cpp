// cpprestsdk: its HTTP and WebSocket clients, used as its documentation does, each task waited for (`get`, `wait`).
//
// The library works on its own threads and connects in the first HTTP request, so no phases are known there; for
// WebSocket it reports only that it is connected.
#include <cpprest/containerstream.h>
#include <cpprest/http_client.h>
#include <cpprest/rawptrstream.h>
#include <cpprest/version.h>
#include <cpprest/ws_client.h>

#include "cpp/wirebench.hpp"

namespace {

namespace client = web::http::client;
namespace websockets = web::websockets::client;
using wirebench::Phases;
using wirebench::Settings;

class Http : public wirebench::Connection {
public:
    explicit Http(const Settings& settings) : settings_(settings) {}

    void open(Phases&) override {
        client::http_client_config config;
        config.set_ssl_context_callback([this](auto& context) { context.load_verify_file(settings_.ca_file); });
        const auto& url = settings_.url;
        client_ = std::make_unique<client::http_client>(url.whole, config);
    }

    std::string_view round_trip(Phases&) override {
        web::http::http_request request(settings_.get ? web::http::methods::GET : web::http::methods::POST);
        if (!settings_.get) {
            request.set_body(std::vector<unsigned char>(settings_.payload.begin(), settings_.payload.end()));
        }
        auto response = client_->request(request).get();
        if (response.status_code() != web::http::status_codes::OK) {
            throw std::runtime_error("status " + std::to_string(response.status_code()));
        }
        reply_ = response.extract_vector().get();
        return {reinterpret_cast<const char*>(reply_.data()), reply_.size()};
    }

    bool close() override {
        client_.reset();
        return true;
    }

private:
    const Settings& settings_;
    std::unique_ptr<client::http_client> client_;
    std::vector<unsigned char> reply_;
};

class WebSocket : public wirebench::Connection {
public:
    explicit WebSocket(const Settings& settings) : settings_(settings) {}

    void open(Phases& phases) override {
        auto begin = wirebench::now();
        websockets::websocket_client_config config;
        config.set_ssl_context_callback([this](auto& context) { context.load_verify_file(settings_.ca_file); });
        client_ = std::make_unique<websockets::websocket_client>(config);
        client_->connect(settings_.url.whole).wait();
        phases["open_ns"].push_back(wirebench::now() - begin);
    }

    std::string_view round_trip(Phases&) override {
        websockets::websocket_outgoing_message message;
        if (settings_.text) message.set_utf8_message(payload());
        else message.set_binary_message(payload());
        client_->send(message).wait();
        auto reply = client_->receive().get();
        using kind = websockets::websocket_message_type;
        kind wanted = settings_.text ? kind::text_message : kind::binary_message;
        if (reply.message_type() != wanted) throw std::runtime_error("a reply of the other kind");
        if (settings_.text) {
            text_ = reply.extract_string().get();
            return text_;
        }
        concurrency::streams::container_buffer<std::vector<unsigned char>> content;
        reply.body().read_to_end(content).wait();
        bytes_ = std::move(content.collection());
        return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
    }

    bool close() override {
        client_->close().wait();
        client_.reset();
        return true;
    }

private:
    /// As a stream: an empty string is refused ("Cannot send empty message").
    concurrency::streams::istream payload() const {
        auto bytes = reinterpret_cast<const unsigned char*>(settings_.payload.data());
        return concurrency::streams::rawptr_stream<unsigned char>::open_istream(bytes, settings_.payload.size());
    }

    const Settings& settings_;
    std::unique_ptr<websockets::websocket_client> client_;
    std::string text_;
    std::vector<unsigned char> bytes_;
};

std::unique_ptr<wirebench::Connection> connection(const Settings& settings) {
    const std::string& scheme = settings.url.scheme;
    if (scheme == "http" || scheme == "https") return std::make_unique<Http>(settings);
    if (scheme == "ws" || scheme == "wss") return std::make_unique<WebSocket>(settings);
    throw wirebench::Unsupported(scheme);
}

}  // namespace

int main(int count, char** arguments) {
    std::string version = std::to_string(CPPREST_VERSION_MAJOR) + '.' + std::to_string(CPPREST_VERSION_MINOR) + '.' +
                          std::to_string(CPPREST_VERSION_REVISION);
    return wirebench::serve_runs(count, arguments, {"cpprestsdk", version}, connection);
}
