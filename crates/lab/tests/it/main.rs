//! The lab's folders: subjects that are read, and installed.

mod catalogue;
mod home;
