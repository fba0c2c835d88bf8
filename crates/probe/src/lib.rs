//! Facts about and counters of the machine: facts for the record, counters during a run, limits before it.
//!
//! The modules here define the values and the arithmetic, independent of the operating system; `linux` reads the values
//! from `/proc` and `/sys`. Another system is another folder with the same names.
//!
//! Left out: clocks and the CPU time of living processes, which belong to `engine`, and verdicts, which belong to
//! `stats`.
//!
//! Start reading at [`machine`] for what is read once, at [`SystemSampler`], [`ProcessSampler`] and
//! [`InterfaceSampler`] for what is sampled repeatedly, at [`run_queue`] for waits for a CPU, at [`tcp_listeners`] for
//! the process behind a server's address, at [`capacity`] and [`place`] for decisions before a run, at [`diagnose`] for
//! what `wirebench doctor` says.

mod capacity;
mod cpus;
mod doctor;
mod error;
mod interface;
#[cfg(target_os = "linux")]
mod linux;
mod listener;
mod process;
mod repository;
mod system;
mod tcp;
mod timer;
mod waits;

pub use capacity::{
    LOOPBACK_SOURCES_MAX, Limits, OpenFiles, Party, Ports, RESERVED_FILES, Shortage, Sources,
    capacity,
};
pub use cpus::{Cpu, Placement, Sharing, Topology, have_a_core_each, place, place_beside};
pub use doctor::{
    Diagnosis, Facts, Finding, KernelMemory, Place, Question, State, Unit, Wish, WishError,
    diagnose,
};
pub use error::{PinError, ReadError};
pub use interface::InterfaceCounters;
#[cfg(target_os = "linux")]
pub use linux::{
    InterfaceSampler, ProcessSampler, SystemSampler, TcpSampler, cpu_pressure, descendants,
    interface_to, kernel_memory, limits, listener, machine, pin_current_thread, port_listeners,
    reaped_cpu, run_queue, tcp_addresses, tcp_listeners, throttled_periods, topology,
    unix_listeners,
};
pub use listener::{Listener, Unseen};
pub use process::{Footprint, ProcessSample, Switches};
pub use repository::repository;
pub use system::{CpuTimes, SystemTimes};
pub use tcp::TcpCounters;
pub use timer::{CoarseTimers, timer_floor};
pub use waits::RunQueue;
