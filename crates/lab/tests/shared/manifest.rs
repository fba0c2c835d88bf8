//! Folders of subjects, for tests.

use std::path::Path;

/// A subject that is complete.
pub(crate) const MANIFEST: &str = "\
role = \"server\"
language = \"sh\"
library = \"none\"
version = \"1\"
from = \"own\"
licence = \"MIT\"
speaks = [\"ws\"]
start = [\"sh\", \"server.sh\"]
ask-version = [\"echo\", \"1\"]
";

/// Writes files below `folder`.
pub(crate) fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }
}
