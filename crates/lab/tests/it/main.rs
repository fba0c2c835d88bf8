//! The lab's folders: subjects that are read.

mod catalogue;
#[path = "../shared/manifest.rs"]
mod manifest;
