// libcurl's easy interface with one handle for each connection, re-used for all requests.
//
// libcurl connects in the first request, so the phases are those of that request, which is slow.
#include "cpp-libcurl/http.hpp"

namespace {

class Reused : public wirebench::Connection {
public:
    explicit Reused(const wirebench::Settings& settings) : settings_(settings) {}

    void open(wirebench::Phases& phases) override {
        phases_ = &phases;
        transfer_ = std::make_unique<libcurl::Transfer>(settings_);
    }

    std::string_view round_trip(wirebench::Phases&) override { return transfer_->perform(*phases_); }

    bool close() override {
        transfer_.reset();
        return true;
    }

private:
    const wirebench::Settings& settings_;
    wirebench::Phases* phases_ = nullptr;
    std::unique_ptr<libcurl::Transfer> transfer_;
};

}  // namespace

int main(int count, char** arguments) {
    return libcurl::serve_runs(count, arguments, [](const auto& settings) { return std::make_unique<Reused>(settings); });
}
