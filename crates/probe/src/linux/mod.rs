//! Linux: facts from `/proc` and `/sys`.
//!
//! Parsers are functions on text; a thin layer reads the files.

mod cgroup;
mod cpus;
mod family;
mod files;
#[cfg(test)]
mod fixture;
mod hardware;
mod interface;
mod limits;
mod listeners;
mod machine;
mod memory;
mod process;
mod system;
mod tcp;
mod text;
mod waits;

pub use cpus::{pin_current_thread, topology};
pub use family::{descendants, reaped_cpu};
pub use interface::{InterfaceSampler, interface_to};
pub use limits::limits;
pub use listeners::{listener, port_listeners, tcp_addresses, tcp_listeners, unix_listeners};
pub use machine::{machine, throttled_periods};
pub use memory::kernel_memory;
pub use process::ProcessSampler;
pub use system::SystemSampler;
pub use tcp::TcpSampler;
pub use waits::{cpu_pressure, run_queue};
