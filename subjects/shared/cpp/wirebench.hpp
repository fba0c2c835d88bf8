// What all C++ client subjects share: the contract with wirebench (docs/SUBJECTS.md), around google-benchmark.
//
// A subject gives a `Connection`, which knows how to open, to make one round trip and to close, and hands a factory
// for it to `wirebench::serve_runs`. Everything else is here: the environment, the `run` lines on stdin, one thread
// for each connection (a single connection has the main thread), lives, warm-up, and the result lines.
//
// Each `run` registers one benchmark with google-benchmark and runs it in this process, so that its wall and CPU times
// are google-benchmark's own. google-benchmark decides beforehand how many iterations it runs, which a run that ends
// after a time cannot. So the benchmark is given two iterations, takes the first as one, and after the run states with
// `KeepRunningBatch` how many more there were: it then counts, and divides by, the round trips that took place.
#pragma once

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace wirebench {

using Nanos = std::uint64_t;

inline Nanos now() {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<Nanos>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

/// User and system time of this process.
inline Nanos cpu_now() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<Nanos>(time.tv_sec) * 1'000'000'000 + static_cast<Nanos>(time.tv_nsec);
}

struct Url {
    std::string whole, scheme, host, port, target;
    bool secure = false;
};

/// The settings from the environment.
struct Settings {
    Url url;
    std::string ca_file;
    std::string payload, expect;
    bool text = false;
    bool get = false;
    std::uint64_t connections = 1;
    /// Round trips in a connection's life; 0: it lives as long as the run.
    std::uint64_t life = 0;
};

/// Durations by the name of their result line, e.g. `connect_ns`.
using Phases = std::map<std::string, std::vector<Nanos>>;

/// One connection of the library under test. A failure throws a `std::exception`, whose words are counted.
class Connection {
public:
    virtual ~Connection() = default;
    /// Opens it, and adds the durations that the library reports to the phases; `phases` lives longer than the
    /// connection.
    virtual void open(Phases& phases) = 0;
    /// Sends the payload and returns when the whole reply has arrived; the reply stays until the next call.
    /// `phases` is for a library that opens a connection in each round trip.
    virtual std::string_view round_trip(Phases& phases) = 0;
    /// False if there was nothing to close, and so nothing to time.
    virtual bool close() = 0;
};

struct Library {
    std::string name, version;
    /// The maximum number of connections.
    std::uint64_t connections_max = 256;
};

using Factory = std::function<std::unique_ptr<Connection>(const Settings&)>;

/// The answer to a `run` line or a setting that a subject does not support.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

namespace detail {

struct Run {
    Nanos warm_up = 0;
    /// Exactly one of these is above zero.
    std::uint64_t time = 0, messages = 0, clients = 0;
};

/// The results of one thread, on cache lines of its own.
struct alignas(64) Tally {
    std::vector<Nanos> round_trips, lives;
    std::map<std::string, std::uint64_t> errors;
    Phases phases;
    std::uint64_t errors_in_all() const {
        std::uint64_t sum = 0;
        for (const auto& [words, count] : errors) sum += count;
        return sum;
    }
};

/// When the threads of a run stop; shared by them.
class Budget {
public:
    Budget(Nanos end, std::uint64_t messages, std::uint64_t clients)
        : end_(end), messages_(messages), clients_(clients) {}

    /// Whether there is another round trip to make.
    bool take_message() {
        if (end_ != 0) return now() < end_;
        return messages_ == 0 || messages_taken_.fetch_add(1, std::memory_order_relaxed) < messages_;
    }

    /// Whether another connection is to live.
    bool take_client() {
        if (end_ != 0) return now() < end_;
        if (messages_ != 0) return messages_taken_.load(std::memory_order_relaxed) < messages_;
        return clients_ == 0 || clients_taken_.fetch_add(1, std::memory_order_relaxed) < clients_;
    }

private:
    const Nanos end_;
    const std::uint64_t messages_, clients_;
    std::atomic<std::uint64_t> messages_taken_{0}, clients_taken_{0};
};

/// One connection after the other, on a thread of its own.
class Worker {
public:
    Worker(const Settings& settings, const Factory& factory) : settings_(settings), factory_(factory) {}

    /// Opens a connection that lives as long as the run; one that lives shorter is opened when its turn comes.
    void open(Tally& tally) {
        if (settings_.life == 0) reopen(tally);
    }

    void work(Budget& budget, Tally& tally) {
        lost_ = 0;
        if (settings_.life != 0) {
            while (lost_ < LOST_MAX && budget.take_client()) live(budget, tally);
            return;
        }
        if (!connection_) reopen(tally);
        while (connection_ && lost_ < LOST_MAX && budget.take_message()) {
            if (!exchange(tally)) reopen(tally);
        }
    }

    void close(Tally& tally) {
        if (!connection_) return;
        try {
            Nanos begin = now();
            if (connection_->close()) tally.phases["close_ns"].push_back(now() - begin);
        } catch (const std::exception& error) {
            ++tally.errors[error.what()];
        }
        connection_.reset();
    }

private:
    /// The number of lost connections after which a server is given up.
    static constexpr int LOST_MAX = 100;

    void live(Budget& budget, Tally& tally) {
        Nanos born = now();
        reopen(tally);
        bool well = connection_ != nullptr;
        std::uint64_t trips = 0;
        while (well && trips < settings_.life && budget.take_message()) {
            well = exchange(tally);
            ++trips;
        }
        if (well && trips == settings_.life) tally.lives.push_back(now() - born);
        close(tally);
    }

    void reopen(Tally& tally) {
        connection_.reset();
        try {
            auto connection = factory_(settings_);
            connection->open(tally.phases);
            connection_ = std::move(connection);
        } catch (const std::exception& error) {
            ++lost_;
            ++tally.errors[error.what()];
        }
    }

    /// Whether the connection is still good for another.
    bool exchange(Tally& tally) {
        try {
            Nanos begin = now();
            bool right = connection_->round_trip(tally.phases) == settings_.expect;
            Nanos end = now();
            if (right) tally.round_trips.push_back(end - begin);
            else ++tally.errors["wrong reply"];
            return true;
        } catch (const std::exception& error) {
            ++lost_;
            ++tally.errors[error.what()];
            return false;
        }
    }

    const Settings& settings_;
    const Factory& factory_;
    std::unique_ptr<Connection> connection_;
    int lost_ = 0;
};

/// The connections of one `run`, from opening them to closing them.
class Block {
public:
    Block(const Settings& settings, const Factory& factory)
        : settings_(settings), tallies_(settings.connections), warm_ups_(settings.connections) {
        for (std::uint64_t i = 0; i < settings.connections; ++i) workers_.emplace_back(settings, factory);
    }

    void open() {
        on_all([this](Worker& worker, Tally& tally) {
            if (settings_.life == 0) tally.round_trips.reserve(SAMPLES);
            worker.open(tally);
        });
    }

    void warm_up(Nanos time) {
        if (time == 0) return;
        Budget budget(now() + time, 0, 0);
        each(warm_ups_, [&](Worker& worker, Tally& tally) { worker.work(budget, tally); });
    }

    void measure(const Run& run) {
        Budget budget(run.time ? now() + run.time : 0, run.messages, run.clients);
        on_all([&](Worker& worker, Tally& tally) { worker.work(budget, tally); });
    }

    void close() {
        on_all([](Worker& worker, Tally& tally) { worker.close(tally); });
    }

    std::uint64_t done() const {
        std::uint64_t sum = 0;
        for (const Tally& tally : tallies_) sum += tally.round_trips.size() + tally.errors_in_all();
        return sum;
    }

    Tally all() {
        Tally all;
        auto append = [](std::vector<Nanos>& to, const std::vector<Nanos>& from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        for (const Tally& tally : tallies_) {
            append(all.round_trips, tally.round_trips);
            append(all.lives, tally.lives);
            for (const auto& [words, count] : tally.errors) all.errors[words] += count;
            for (const auto& [name, times] : tally.phases) append(all.phases[name], times);
        }
        return all;
    }

private:
    static constexpr std::size_t SAMPLES = 1 << 17;

    template <typename Work>
    void on_all(const Work& work) {
        each(tallies_, work);
    }

    template <typename Work>
    void each(std::vector<Tally>& tallies, const Work& work) {
        if (workers_.size() == 1) return work(workers_[0], tallies[0]);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < workers_.size(); ++i) {
            threads.emplace_back([&, i] { work(workers_[i], tallies[i]); });
        }
        for (std::thread& thread : threads) thread.join();
    }

    const Settings& settings_;
    std::vector<Tally> tallies_, warm_ups_;
    std::vector<Worker> workers_;
};

inline std::string environment(const char* name, const char* otherwise = nullptr) {
    const char* value = std::getenv(name);
    if (value) return value;
    if (otherwise) return otherwise;
    throw std::runtime_error(std::string(name) + " is not set");
}

inline std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline std::uint64_t number(const std::string& name, const std::string& text) {
    bool digits = !text.empty() && text.size() < 20 && text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) throw Unsupported(name + "=" + text);
    return std::stoull(text);
}

inline Url url(const std::string& text) {
    Url url;
    url.whole = text;
    std::size_t host = text.find("://");
    if (host == std::string::npos) throw std::runtime_error("no URL: " + text);
    url.scheme = text.substr(0, host);
    host += 3;
    url.secure = url.scheme == "https" || url.scheme == "wss" || url.scheme == "tls";
    std::size_t end = std::min(text.find('/', host), text.size());
    url.target = end < text.size() ? text.substr(end) : "/";
    std::string authority = text.substr(host, end - host);
    std::size_t colon = authority.rfind(':');
    bool has_port = colon != std::string::npos && authority.find(']', colon) == std::string::npos;
    url.port = has_port ? authority.substr(colon + 1) : url.secure ? "443" : "80";
    url.host = has_port ? authority.substr(0, colon) : authority;
    if (!url.host.empty() && url.host.front() == '[') url.host = url.host.substr(1, url.host.size() - 2);
    return url;
}

inline Settings settings() {
    Settings settings;
    settings.url = url(environment("WIREBENCH_URL"));
    settings.ca_file = environment("WIREBENCH_CA", "");
    settings.payload = content(environment("WIREBENCH_PAYLOAD"));
    settings.expect = content(environment("WIREBENCH_EXPECT"));
    settings.text = environment("WIREBENCH_KIND", "binary") == "text";
    settings.get = environment("WIREBENCH_METHOD", "POST") == "GET";
    settings.connections = number("connections", environment("WIREBENCH_CONNECTIONS", "1"));
    std::string life = environment("WIREBENCH_LIFE", "long");
    settings.life = life == "long" ? 0 : number("life", life);
    return settings;
}

inline Run parse(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word != "run") throw Unsupported("command " + word);
    Run run;
    while (words >> word) {
        std::size_t equals = std::min(word.find('='), word.size());
        std::string name = word.substr(0, equals);
        std::uint64_t value = number(name, word.substr(std::min(equals + 1, word.size())));
        if (name == "warm_up_ns") run.warm_up = value;
        else if (name == "time_ns") run.time = value;
        else if (name == "messages") run.messages = value;
        else if (name == "clients") run.clients = value;
        else throw Unsupported(name);
    }
    if (!!run.time + !!run.messages + !!run.clients != 1) throw Unsupported("not one of time_ns, messages, clients");
    return run;
}

inline void say(const std::string& line) {
    std::cout << line << std::endl;
}

inline void say_times(const std::string& name, const std::vector<Nanos>& times) {
    constexpr std::size_t ON_A_LINE = 4096;
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (i % ON_A_LINE == 0) std::cout << (i ? "\n" : "") << name;
        std::cout << ' ' << times[i];
    }
    if (!times.empty()) std::cout << '\n';
}

inline std::string on_one_line(std::string words) {
    std::replace_if(words.begin(), words.end(), [](unsigned char c) { return c < ' '; }, ' ');
    return words;
}

/// Runs `measure` as the one benchmark that google-benchmark knows, and returns the JSON that it prints: nothing if
/// there were fewer round trips than the iterations that it was given beforehand.
template <typename Measure, typename Done>
std::string with_google_benchmark(const std::string& name, bool single, Measure measure, Done done) {
    benchmark::ClearRegisteredBenchmarks();
    auto body = [&](benchmark::State& state) {
        say("measuring");
        if (single) {
            for (auto _ : state) measure();
        } else if (state.KeepRunningBatch(1)) {
            measure();
            // One iteration of two is taken. Asking for as many as were made beyond the first ends the benchmark.
            auto further = static_cast<benchmark::IterationCount>(std::max<std::uint64_t>(done(), 2) - 1);
            while (state.KeepRunningBatch(further)) continue;
        }
        say("measured");
    };
    auto* registered = benchmark::RegisterBenchmark(name.c_str(), body);
    std::int64_t beforehand = single ? 1 : 2;
    registered->Iterations(beforehand)->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kNanosecond);
    std::ostringstream json;
    benchmark::JSONReporter reporter;
    reporter.SetOutputStream(&json);
    reporter.SetErrorStream(&std::cerr);
    benchmark::RunSpecifiedBenchmarks(&reporter);
    if (done() < static_cast<std::uint64_t>(beforehand)) return {};
    // google-benchmark puts the given number of iterations into the name, where it would be read as the actual number.
    const std::string suffix = "/iterations:" + std::to_string(beforehand);
    std::string text = json.str();
    for (std::size_t at; (at = text.find(suffix)) != std::string::npos;) text.erase(at, suffix.size());
    return text;
}

inline void run(const Run& run, const Settings& settings, const Library& library, const Factory& factory) {
    if (run.clients != 0 && settings.life == 0) throw Unsupported("clients that live long");
    Block block(settings, factory);
    block.open();
    block.warm_up(run.clients ? 0 : run.warm_up);
    std::string name = library.name + '/' + settings.url.scheme + '/' + std::to_string(settings.payload.size());
    bool single = run.messages == 1 || (run.clients == 1 && settings.life == 1);
    Nanos wall = 0, cpu = 0;
    auto measure = [&] {
        Nanos begin = now(), cpu_begin = cpu_now();
        block.measure(run);
        wall = now() - begin;
        cpu = cpu_now() - cpu_begin;
    };
    std::string json = with_google_benchmark(name, single, measure, [&] { return block.done(); });
    block.close();

    Tally all = block.all();
    std::cout << "wall_ns " << wall << "\ncpu_ns " << cpu << "\nok " << all.round_trips.size() << '\n';
    for (const auto& [words, count] : all.errors) std::cout << "error " << count << ' ' << on_one_line(words) << '\n';
    say_times("round_trip_ns", all.round_trips);
    say_times("life_ns", all.lives);
    for (const auto& [name, times] : all.phases) say_times(name, times);
    if (!json.empty()) std::cout << "google-benchmark\n" << json << (json.back() == '\n' ? "" : "\n");
    say("done");
}

/// A descriptor for each connection.
inline void raise_open_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
    setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace detail

/// The whole of a subject's `main`: with `--version` prints the library's version, else executes the commands on stdin.
inline int serve_runs(int count, char** arguments, const Library& library, const Factory& factory) try {
    if (count > 1 && std::string_view(arguments[1]) == "--version") {
        detail::say(library.version);
        return 0;
    }
    std::signal(SIGPIPE, SIG_IGN);
    benchmark::Initialize(&count, arguments);
    detail::raise_open_files();
    Settings settings = detail::settings();
    factory(settings);  // Reports at once if it does not support something.
    if (settings.connections == 0 || settings.connections > library.connections_max) {
        detail::say("unsupported " + std::to_string(settings.connections) + " connections");
        return 127;
    }
    detail::say("ready " + library.name + ' ' + library.version);
    for (std::string line; std::getline(std::cin, line);) {
        if (line.empty()) continue;
        try {
            detail::run(detail::parse(line), settings, library, factory);
        } catch (const Unsupported& unsupported) {
            detail::say(std::string("unsupported ") + unsupported.what());
        }
    }
    return 0;
} catch (const Unsupported& unsupported) {
    detail::say(std::string("unsupported ") + unsupported.what());
    return 127;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}

}  // namespace wirebench
