//! Copies the headers of the libcurl that is built to `include/curl`, where the C++ compiler finds them.

use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    let from = env::var("DEP_CURL_INCLUDE").expect("curl-sys says where its headers are");
    let to = Path::new("include/curl");
    fs::create_dir_all(to)?;
    for header in fs::read_dir(Path::new(&from).join("curl"))? {
        let header = header?;
        fs::copy(header.path(), to.join(header.file_name()))?;
    }
    Ok(())
}
