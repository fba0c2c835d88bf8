//! `wirebench selftest`: checks wirebench on this machine against delays and stalls of known size.

use super::outcome;
use crate::certificate;
use crate::exit::{Exit, Failure};
use crate::signals;
use crate::terminal::{Label, Terminal};
use anyhow::anyhow;
use probe::SystemSampler;
use record::{Certificate, Check, Kind};
use run::selftest::Told;

/// Check on this machine that measured times are true
///
/// In less than a minute it measures an echo inside its own process (its limits on this machine), servers with known
/// delays, a server and a generator that are stopped for a second, and its own send lag. It writes a certificate, which
/// later records carry until the machine is restarted. The exit code is 12 if a check failed.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Selftest {
    /// Also stop a server of every transport for 2 s of 20 s; takes two more minutes
    #[arg(long)]
    full: bool,
    /// Print the certificate as JSON
    #[arg(long)]
    json: bool,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench selftest                     with nothing else running, if possible
  wirebench selftest --full              with the full stall test, 3 minutes
  wirebench selftest --json > certificate.json";

impl Selftest {
    /// Runs the checks, keeps the certificate, prints it.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let host = outcome::host(Kind::Other)?;
        let wish = signals::listen()?;
        let cpus = || SystemSampler::open()?.sample();
        let before = cpus();
        let mut tell = |told: Told<'_>| match told {
            Told::Begins(what) => terminal.say(&format!("measuring {what}")),
            Told::Checked(check) if !check.passed => {
                terminal.say_labelled(Label::Warning, &format!("{} failed", name(check)));
            }
            Told::Checked(_) => {}
        };
        let mut found = run::selftest::selftest(&host, &mut tell, &wish.signal)?;
        if self.full {
            found.checks.extend(run::selftest::stall_tests(&host, &mut tell, &wish.signal)?);
        }
        let idle = match (before, cpus()) {
            (Ok(before), Ok(after)) => after.since(&before).machine.idle_fraction(),
            (Err(_), _) | (_, Err(_)) => None,
        };
        let certificate = Certificate {
            at: host.started_at,
            version: host.tool.version,
            boot_id: certificate::boot_id().unwrap_or_default(),
            passed: found.checks.iter().all(|check| check.passed),
            checks: found.checks,
            round_trip_floor_ns: found.round_trip_floor.map(|floor| floor.0),
            messages_per_s_max: found.messages_per_s_max,
        };
        let kept = certificate::keep(&certificate);
        terminal.result(&self.shown(&certificate, idle, terminal))?;
        let path = kept.map_err(cannot_keep)?;
        terminal.say_labelled(Label::Record, &path.display().to_string());
        Ok(if certificate.passed { Exit::DONE } else { Exit::INVALID })
    }

    fn shown(&self, certificate: &Certificate, idle: Option<f64>, terminal: &Terminal) -> String {
        if self.json {
            let json = serde_json::to_string_pretty(certificate);
            return json.map_or_else(|error| error.to_string(), |json| json + "\n");
        }
        page(certificate, idle, &terminal.style())
    }
}

/// The certificate as a page; `idle` is the share of CPU time that nobody used.
fn page(certificate: &Certificate, idle: Option<f64>, style: &report::Style) -> String {
    let Certificate { at, version, boot_id, checks, .. } = certificate;
    let passed = checks.iter().filter(|check| check.passed).count();
    let outcome = if certificate.passed { "PASSED" } else { "FAILED" };
    let heading = format!(
        "Self-test of wirebench {version}, {at}: {outcome}, {passed} of {} checks.",
        checks.len()
    );
    let names: Vec<String> = checks.iter().map(name).collect();
    let mut rows: Vec<(&str, Vec<String>)> = checks
        .iter()
        .zip(&names)
        .map(|(check, name)| {
            let word = if check.passed { "passed" } else { "FAILED" };
            (name.as_str(), vec![format!("{word}: {}.", check.evidence)])
        })
        .collect();
    if !certificate.passed {
        rows.extend(idle.map(|idle| ("machine", vec![quiet(idle)])));
        rows.push(("next", vec![ADVICE.to_owned()]));
    }
    rows.push(("valid for", vec![format!("this machine until it is restarted (boot {boot_id}).")]));
    report::sheet(&heading, &rows, style)
}

/// A sentence on how busy the machine was, which shows if other programs disturbed the checks.
fn quiet(idle: f64) -> String {
    format!(
        "CPUs were idle for {:.0} % of the time. A self-test mostly waits, so on a quiet machine they are idle for most \
         of it.",
        idle * 100.0
    )
}

/// The code of a check in words.
fn name(check: &Check) -> String {
    check.code.replace('_', " ")
}

fn cannot_keep(error: std::io::Error) -> Failure {
    Failure::new(
        Exit::NOT_WRITTEN,
        anyhow!("cannot keep the certificate: {error}; set XDG_CACHE_HOME to a writable folder"),
    )
}

const ADVICE: &str = "this machine was too noisy for the failed checks, or wirebench measures wrongly on it. Run it \
                      again with nothing else running; report a check that fails twice.";

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(passed: bool) -> Certificate {
        let check = |code: &str, passed| Check {
            code: code.to_owned(),
            passed,
            evidence: "p50 1 ms + 41.3 us (at most 100 us), p99 1.04 ms + 60 us (at most 150 us)"
                .to_owned(),
        };
        Certificate {
            at: "2026-11-21T01:02:03Z".to_owned(),
            version: "0.1.0".to_owned(),
            boot_id: "5f3c".to_owned(),
            passed,
            checks: vec![check("delay_fixed", true), check("stalled_generator", passed)],
            ..Certificate::default()
        }
    }

    #[test]
    fn a_certificate_says_what_passed_and_what_to_do_about_what_did_not() {
        let page = |passed| page(&certificate(passed), Some(0.084), &report::Style::default());
        let good = page(true);
        assert!(good.starts_with(
            "Self-test of wirebench 0.1.0, 2026-11-21T01:02:03Z: PASSED, 2 of 2 checks.\n"
        ));
        assert!(good.contains("\ndelay fixed       passed: p50 1 ms"), "{good}");
        assert!(
            !good.contains("FAILED") && !good.contains("next") && !good.contains("idle"),
            "{good}"
        );
        let bad = page(false);
        assert!(
            bad.contains("FAILED, 1 of 2 checks.") && bad.contains("\nstalled generator FAILED: "),
            "{bad}"
        );
        assert!(bad.contains("\nmachine           CPUs were idle for 8 % of the time."), "{bad}");
        assert!(bad.contains("\nnext              this machine was too noisy"), "{bad}");
        assert!((good + &bad).lines().all(|line| line.chars().count() <= 80));
    }
}
