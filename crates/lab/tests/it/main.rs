//! The lab's folders: subjects that are read.

mod catalogue;
