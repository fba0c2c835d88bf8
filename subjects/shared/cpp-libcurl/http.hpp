// HTTP by libcurl's easy interface, for the subjects that re-use its handle and those that create a new one.
#pragma once

#include <curl/curl.h>

#include "../cpp/wirebench.hpp"

namespace libcurl {

using wirebench::Nanos;
using wirebench::Phases;
using wirebench::Settings;

inline void check(CURLcode code) {
    if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
}

/// The duration that libcurl reports, in microseconds.
inline Nanos time_of(CURL* handle, CURLINFO which) {
    curl_off_t micros = 0;
    check(curl_easy_getinfo(handle, which, &micros));
    return static_cast<Nanos>(micros) * 1000;
}

/// Adds the phases of the connection that the last transfer opened, if it opened one.
inline void add_phases(CURL* handle, Phases& phases) {
    long opened = 0;
    check(curl_easy_getinfo(handle, CURLINFO_NUM_CONNECTS, &opened));
    if (opened == 0) return;
    Nanos resolved = time_of(handle, CURLINFO_NAMELOOKUP_TIME_T);
    Nanos connected = time_of(handle, CURLINFO_CONNECT_TIME_T);
    Nanos secured = time_of(handle, CURLINFO_APPCONNECT_TIME_T);
    phases["resolve_ns"].push_back(resolved);
    phases["connect_ns"].push_back(connected - std::min(resolved, connected));
    if (secured > connected) phases["tls_ns"].push_back(secured - connected);
}

/// A handle with everything set for one request.
class Transfer {
public:
    explicit Transfer(const Settings& settings) : handle_(curl_easy_init()) {
        if (!handle_) throw std::runtime_error("curl_easy_init failed");
        set(CURLOPT_URL, settings.url.whole.c_str());
        set(CURLOPT_NOSIGNAL, 1L);
        if (settings.url.secure) set(CURLOPT_CAINFO, settings.ca_file.c_str());
        set(CURLOPT_WRITEFUNCTION, append);
        set(CURLOPT_WRITEDATA, &reply_);
        if (settings.get) return;
        headers_ = curl_slist_append(headers_, "Content-Type: application/octet-stream");
        headers_ = curl_slist_append(headers_, "Expect:");
        set(CURLOPT_HTTPHEADER, headers_);
        set(CURLOPT_POST, 1L);
        set(CURLOPT_POSTFIELDS, settings.payload.data());
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(settings.payload.size()));
    }

    ~Transfer() {
        curl_easy_cleanup(handle_);
        curl_slist_free_all(headers_);
    }

    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    const std::string& perform(Phases& phases) {
        reply_.clear();
        check(curl_easy_perform(handle_));
        long status = 0;
        check(curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status));
        if (status != 200) throw std::runtime_error("status " + std::to_string(status));
        add_phases(handle_, phases);
        return reply_;
    }

private:
    template <typename Value>
    void set(CURLoption option, Value value) {
        check(curl_easy_setopt(handle_, option, value));
    }

    static std::size_t append(char* bytes, std::size_t size, std::size_t count, void* reply) {
        static_cast<std::string*>(reply)->append(bytes, size * count);
        return size * count;
    }

    CURL* handle_;
    curl_slist* headers_ = nullptr;
    std::string reply_;
};

/// The whole of `main`.
inline int serve_runs(int count, char** arguments, const wirebench::Factory& factory) {
    curl_global_init(CURL_GLOBAL_ALL);
    auto only_http = [&](const Settings& settings) {
        const std::string& scheme = settings.url.scheme;
        if (scheme != "http" && scheme != "https") throw wirebench::Unsupported(scheme);
        return factory(settings);
    };
    return wirebench::serve_runs(count, arguments, {"libcurl", curl_version_info(CURLVERSION_NOW)->version}, only_http);
}

}  // namespace libcurl
