//! The files of the page, which are built from the folder `page` beside `src` and committed. The gate compares them
//! with a new build.

/// The frame of the page; its script fills it.
pub(crate) const HTML: &str = include_str!("../page/index.html");
/// The script, which has the chart library inside.
pub(crate) const SCRIPT: &str = include_str!("../page/dist/ui.js");
/// The style sheet.
pub(crate) const STYLE: &str = include_str!("../page/dist/ui.css");

/// The permissions of the page: its own script and style, and requests to its own origin.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The permissions of a report: it may run its scripts. It has an origin of its own, so that it can request nothing
/// here.
pub(crate) const REPORT_POLICY: &str = "sandbox allow-scripts; frame-ancestors 'none'";
