// websocketpp on its Asio transport.
//
// The library is made of callbacks. Chosen: the thread that sends runs Asio itself, one event at a time (`run_one`), until
// what it waits for has happened; no second thread, no spinning.
#include <websocketpp/client.hpp>
#include <websocketpp/config/asio_client.hpp>
#include <websocketpp/config/asio_no_tls_client.hpp>

#include "cpp/wirebench.hpp"

namespace {

using wirebench::Nanos;
using wirebench::now;
using wirebench::Phases;
using wirebench::Settings;
namespace opcode = websocketpp::frame::opcode;

template <typename Config>
class WebSocket : public wirebench::Connection {
    using Client = websocketpp::client<Config>;
    using Handle = websocketpp::connection_hdl;

public:
    explicit WebSocket(const Settings& settings) : settings_(settings) {}

    void open(Phases& phases) override {
        client_.clear_access_channels(websocketpp::log::alevel::all);
        client_.clear_error_channels(websocketpp::log::elevel::all);
        client_.init_asio();
        if constexpr (std::is_same_v<Config, websocketpp::config::asio_tls_client>) trust();
        Nanos begin = now(), connected = 0, secured = 0;
        bool is_open = false;
        client_.set_tcp_pre_init_handler([&](Handle handle) {
            auto connection = client_.get_con_from_hdl(handle);
            connection->get_raw_socket().set_option(boost::asio::ip::tcp::no_delay(true));
            connected = now();
        });
        client_.set_tcp_post_init_handler([&](Handle) { secured = now(); });
        client_.set_open_handler([&](Handle) { is_open = true; });
        client_.set_fail_handler([&](Handle handle) { end_ = "open: " + reason(handle); });
        client_.set_close_handler([this](Handle) { end_ = "closed by the server"; });
        client_.set_message_handler([this](Handle, typename Client::message_ptr message) { message_ = message; });

        websocketpp::lib::error_code error;
        connection_ = client_.get_connection(settings_.url.whole, error);
        if (error) throw std::runtime_error(error.message());
        client_.connect(connection_);
        run_until([&] { return is_open; });
        phases["connect_ns"].push_back(connected - begin);
        if (settings_.url.secure) phases["tls_ns"].push_back(secured - connected);
        phases["handshake_ns"].push_back(now() - secured);
    }

    std::string_view round_trip(Phases&) override {
        message_.reset();
        auto code = settings_.text ? opcode::text : opcode::binary;
        if (auto error = connection_->send(settings_.payload, code)) throw std::runtime_error(error.message());
        run_until([this] { return message_ != nullptr; });
        if (message_->get_opcode() != code) throw std::runtime_error("a reply of the other kind");
        return message_->get_payload();
    }

    bool close() override {
        client_.close(connection_, websocketpp::close::status::normal, "");
        while (end_.empty() && client_.run_one() > 0) continue;
        return true;
    }

private:
    template <typename Happened>
    void run_until(const Happened& happened) {
        while (!happened()) {
            if (!end_.empty()) throw std::runtime_error(end_);
            if (client_.run_one() == 0) throw std::runtime_error("nothing left to wait for");
        }
    }

    std::string reason(Handle handle) { return client_.get_con_from_hdl(handle)->get_ec().message(); }

    void trust() {
        client_.set_tls_init_handler([this](Handle) {
            namespace ssl = boost::asio::ssl;
            auto context = websocketpp::lib::make_shared<ssl::context>(ssl::context::tls_client);
            context->load_verify_file(settings_.ca_file);
            context->set_verify_mode(ssl::verify_peer);
            context->set_verify_callback(ssl::host_name_verification(settings_.url.host));
            return context;
        });
    }

    const Settings& settings_;
    Client client_;
    typename Client::connection_ptr connection_;
    typename Client::message_ptr message_;
    std::string end_;
};

std::unique_ptr<wirebench::Connection> connection(const Settings& settings) {
    if (settings.url.scheme == "ws") return std::make_unique<WebSocket<websocketpp::config::asio_client>>(settings);
    if (settings.url.scheme == "wss") return std::make_unique<WebSocket<websocketpp::config::asio_tls_client>>(settings);
    throw wirebench::Unsupported(settings.url.scheme);
}

}  // namespace

int main(int count, char** arguments) {
    std::string version = std::to_string(websocketpp::major_version) + '.' +
                          std::to_string(websocketpp::minor_version) + '.' +
                          std::to_string(websocketpp::patch_version);
    return wirebench::serve_runs(count, arguments, {"websocketpp", version}, connection);
}
