// libcurl's easy interface with a handle that is made anew for each request, as naive programs do.
//
// Each request has a connection of its own: resolving, connecting, TLS and closing are inside the round trip, and their
// phases are also reported. The wait of 200 ms that libcurl gives IPv6 before it tries IPv4 shows in `connect_ns`.
#include "cpp-libcurl/http.hpp"

namespace {

class Anew : public wirebench::Connection {
public:
    explicit Anew(const wirebench::Settings& settings) : settings_(settings) {
        if (settings.life != 0) throw wirebench::Unsupported("lives: each round trip has a connection of its own");
    }

    void open(wirebench::Phases&) override {}

    std::string_view round_trip(wirebench::Phases& phases) override {
        reply_ = libcurl::Transfer(settings_).perform(phases);
        return reply_;
    }

    bool close() override { return false; }

private:
    const wirebench::Settings& settings_;
    std::string reply_;
};

}  // namespace

int main(int count, char** arguments) {
    return libcurl::serve_runs(count, arguments, [](const auto& settings) { return std::make_unique<Anew>(settings); });
}
