//! The limits of this machine and the numbers at which they bind, checked before a run: each limit with its evidence,
//! its effect, and the command that lifts it.
//!
//! Pure arithmetic over facts that the caller has read ([`crate::machine`], [`crate::limits`],
//! [`crate::kernel_memory`], [`crate::place`]). Open files and ports follow [`crate::capacity`], so the doctor reports
//! exactly what a run would refuse. Left out: reading, text for people, and what the server at the other end allows.
//!
//! Start reading at [`diagnose`]. `finding` has the facts, the question and the answers; `limits` has the numeric
//! limits; `machine` has facts that change results without limiting them; `wish` parses the load asked for.

mod finding;
mod limits;
mod machine;
mod wish;

pub use finding::{Diagnosis, Facts, Finding, KernelMemory, Place, Question, State, Unit};
pub use wish::{Wish, WishError};

/// Checks every limit, in the order in which a run would meet them.
pub fn diagnose(facts: &Facts, question: Question) -> Diagnosis {
    let findings = vec![
        limits::open_files(facts, question),
        limits::ports(facts, question),
        limits::backlog(facts, question),
        limits::memory(facts, question),
        limits::socket_buffers(facts, question),
        limits::messages(facts, question),
        machine::cores(facts, question),
        machine::timer_floor(facts),
        machine::steal(facts),
        machine::congestion_control(facts, question),
        machine::governor(facts),
    ];
    Diagnosis { question, findings }
}

#[cfg(test)]
mod tests;
