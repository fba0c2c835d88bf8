//! The lab's folders: reading subjects.

mod catalogue;
#[path = "../shared/manifest.rs"]
mod manifest;
