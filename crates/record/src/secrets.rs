//! Secrets that must not be stored: passwords in URLs, values of headers.

/// `arguments` as a record may keep them: without the values of headers (`--header`, `-H`) and without the user
/// names and passwords of URLs.
pub fn without_secrets<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut is_header = false;
    let mut kept = Vec::new();
    for argument in arguments {
        kept.push(match split_header(argument) {
            _ if is_header => without_value(argument),
            Some((flag, header)) => format!("{flag}{}", without_value(header)),
            None => url_without_secrets(argument),
        });
        is_header = !is_header && HEADER_FLAGS.contains(&argument);
    }
    kept
}

/// `url` without user name and password; any other text as it is.
pub fn url_without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let authority_len = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_len);
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{CUT}@{host}{path}"),
        None => url.to_owned(),
    }
}

/// The flag and the header of an argument that has both.
fn split_header(argument: &str) -> Option<(&str, &str)> {
    let flag_len = match argument {
        _ if argument.starts_with("--header=") => "--header=".len(),
        _ if argument.starts_with("-H") && argument.len() > "-H".len() => "-H".len(),
        _ => return None,
    };
    Some(argument.split_at(flag_len))
}

/// `Name: value` without the value.
fn without_value(header: &str) -> String {
    header.split_once(':').map_or_else(|| CUT.to_owned(), |(name, _)| format!("{name}: {CUT}"))
}

const HEADER_FLAGS: [&str; 2] = ["--header", "-H"];
/// Stands where a secret was.
const CUT: &str = "…";
