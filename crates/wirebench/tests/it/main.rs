//! The program as its callers see it: real processes, their streams, their exit codes and the files they leave.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect ends there")]

mod ab;
mod anywhere;
mod bad_input;
mod bots;
mod certs;
mod ci;
mod conversations;
mod conversations_faults;
mod conversations_http;
mod decisions;
mod deploying;
mod doctor;
mod documented;
mod ending;
mod experiments;
#[cfg(feature = "fleet")]
mod fleet;
mod game_serving;
mod gate;
mod harness;
mod history;
#[path = "../../../report/tests/it/hostile.rs"]
mod hostile;
mod http;
mod import;
mod killing;
mod lab;
mod ladder;
mod looking;
mod looking_subjects;
mod memory;
mod metrics;
#[cfg(feature = "fleet")]
mod namespace;
mod open_loop;
#[cfg(feature = "otlp")]
mod otlp;
mod peers;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
#[expect(dead_code, reason = "shared with the tests of `store`, which need more of it")]
#[path = "../../../store/tests/it/postgres_server.rs"]
mod postgres_server;
mod readers;
#[expect(dead_code, reason = "shared with the tests of `report`, which need more of it")]
#[path = "../../../report/tests/it/records.rs"]
mod records;
mod refused;
mod report_page;
mod rooms;
mod running;
mod screen;
mod secrets;
mod selftest;
mod serving;
mod settings;
mod show;
mod signals;
mod sweeping;
#[path = "../../../report/tests/it/sweeps.rs"]
mod sweeps;
mod talk;
mod third_party;
mod tls;
mod traced;
mod ui;
mod usage;
