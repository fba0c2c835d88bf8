//! The options for two servers that take turns, in `ab` and in `gate`.

use crate::exit::Failure;
use spec::file::Side;
use spec::secrets::url_without_secrets;
use spec::{Endpoint, Started};
use units::{Nanos, Share};

/// The commands that start two servers, and how much worse the second may be.
#[derive(Debug, clap::Args)]
pub(crate) struct Sides {
    /// Start BASE with this shell command
    #[arg(long, value_name = "CMD")]
    start_base: Option<String>,
    /// Start HEAD with this shell command
    #[arg(long, value_name = "CMD")]
    start_head: Option<String>,
    /// The folder that BASE is started in [default: this one]
    #[arg(long, value_name = "DIR", requires = "start_base", hide_short_help = true)]
    base_dir: Option<String>,
    /// The folder that HEAD is started in [default: this one]
    #[arg(long, value_name = "DIR", requires = "start_head", hide_short_help = true)]
    head_dir: Option<String>,
    /// A started server is ready once it has printed a line with TEXT in it, and listens
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    ready_line: Option<String>,
    /// The longest time until a started server is ready [default: 60s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    start_timeout: Option<Nanos>,
    /// End with exit code 11 if HEAD is worse by more than this, beyond noise
    ///
    /// It applies to p50, p99, messages/s, CPU and bytes per message. A difference that noise explains does not count,
    /// and the page says where the noise is larger than what is allowed.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) max_regression: Option<Share>,
}

impl Sides {
    /// The first of its options that is set.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let all = [
            (self.start_base.is_some(), "start-base"),
            (self.start_head.is_some(), "start-head"),
            (self.ready_line.is_some(), "ready-line"),
            (self.start_timeout.is_some(), "start-timeout"),
            (self.max_regression.is_some(), "max-regression"),
        ];
        all.into_iter().find_map(|(is_set, name)| is_set.then_some(name))
    }

    /// True if a server is to be started.
    pub(crate) fn starts(&self) -> bool {
        self.start_base.is_some() || self.start_head.is_some()
    }

    /// Returns both sides at their URLs. They have to differ, unless `is_same`: then HEAD is a copy of BASE.
    ///
    /// # Errors
    ///
    /// A URL is invalid, BASE and HEAD are the same server, or an option does not fit the others.
    pub(crate) fn of<'a>(
        &'a self,
        [base, head]: [&'a str; 2],
        is_same: bool,
    ) -> Result<[Side<'a>; 2], Failure> {
        let base = Side {
            url: base,
            start: self.start_base.as_deref(),
            folder: self.base_dir.as_deref(),
            ready_line: self.ready_line.as_deref(),
            start_timeout: self.start_timeout,
        };
        let head = Side {
            url: head,
            start: self.start_head.as_deref(),
            folder: self.head_dir.as_deref(),
            ready_line: self.ready_line.as_deref(),
            start_timeout: self.start_timeout,
        };
        let head = if is_same { base } else { head };
        for side in [base, head] {
            let url: Result<Endpoint, _> = side.url.parse();
            url.map_err(|error| {
                Failure::usage(format!("{}: {error}", url_without_secrets(side.url)))
            })?;
        }
        if base == head && !is_same {
            return Err(Failure::usage(
                "BASE and HEAD are the same server; name two, or compare one with itself with --aa",
            ));
        }
        let of_start = self.first().filter(|it| ["ready-line", "start-timeout"].contains(it));
        if let Some(option) = of_start {
            return Err(Failure::usage(format!(
                "--{option}: no server is started; --start-base and --start-head start them"
            )));
        }
        if let Some(start) = base.start.filter(|start| is_same && !start.contains(Started::PORT)) {
            return Err(Failure::usage(format!(
                "--aa: two processes of `{start}` would listen at one port; write {} in it, instead of the port",
                Started::PORT
            )));
        }
        Ok([base, head])
    }
}
