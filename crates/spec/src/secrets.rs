//! Secrets that are neither stored nor shown: values of headers, users and passwords in URLs, and values of URL
//! parameters that are named like secrets. Names are kept.
//!
//! A peer may send back what it was given: everything that is quoted of it goes through [`Secrets::cut`].
//!
//! Start reading at [`url_without_secrets`]. An [`Endpoint`](crate::Endpoint) is written without its secrets, so that
//! no record, journal or message has them.

/// The secrets that are given to a server, to be found in what it sends back.
///
/// Those shorter than 6 bytes are not searched for: they are parts of ordinary words. There may be many, such as the
/// rows of a file of passwords.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// Sorted, so that those with the same beginning are adjacent.
    sorted: Vec<String>,
}

impl Secrets {
    /// The secrets of headers, as whole values and as their words (`Bearer TOKEN`, `name=VALUE; other=VALUE`), and
    /// those of parameters.
    pub(crate) fn of<'a>(
        headers: impl IntoIterator<Item = &'a str>,
        parameters: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut all = Vec::new();
        for value in headers {
            all.push(value);
            // The first of several words names the kind of secret that follows.
            let words = value.split([' ', ';', ',']).filter(|word| !word.is_empty());
            let skipped = usize::from(value.contains(' ') && !value.contains('='));
            all.extend(words.skip(skipped).map(|word| match word.split_once('=') {
                Some((_name, value)) if !value.is_empty() => value,
                Some(_) | None => word,
            }));
        }
        all.extend(parameters);
        let mut sorted = Vec::new();
        for secret in all.into_iter().filter(|secret| secret.len() >= SECRET_LEN_MIN) {
            let escaped = secret.as_bytes().escape_ascii().to_string();
            sorted.extend([secret.to_owned(), escaped, percent_encoded(secret)]);
        }
        sorted.sort_unstable();
        sorted.dedup();
        Self { sorted }
    }

    /// `text` with `***` instead of each secret, plain, escaped or percent-encoded, and instead of the beginning of a
    /// secret at the end of a quotation, if it is long enough to be distinguished from other words.
    pub fn cut(&self, text: &str) -> String {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let len = self.len_at(rest);
            match len {
                0 => kept.push(letter),
                _ => kept.push_str(CUT_VALUE),
            }
            rest = &rest[len.max(letter.len_utf8())..];
        }
        kept
    }

    /// The length in bytes of the longest secret that `text` begins with, or of a secret's beginning if the quotation
    /// ends after it; 0 if there is none.
    fn len_at(&self, text: &str) -> usize {
        let Some(start) = text.as_bytes().get(..SECRET_LEN_MIN) else { return 0 };
        let first = self.sorted.partition_point(|secret| secret.as_bytes() < start);
        let alike = self.sorted[first..].iter();
        let alike = alike.take_while(|secret| secret.as_bytes().starts_with(start));
        let common = |secret: &String| {
            let same = secret.chars().zip(text.chars()).take_while(|(one, other)| one == other);
            let len = same.map(|(letter, _)| letter.len_utf8()).sum::<usize>();
            let ends = text[len..].chars().next().is_none_or(|next| "\"'…".contains(next));
            let is_cut = len == secret.len() || len >= SECRET_LEN_MIN && ends;
            if is_cut { len } else { 0 }
        };
        alike.map(common).max().unwrap_or(0)
    }
}

/// A secret as written in the path of a request.
fn percent_encoded(secret: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    secret.bytes().map(encoded).collect()
}

/// `arguments` as a record may keep them: without the values of headers (`--header`, `-H`) and without the secrets of
/// URLs.
pub fn without_secrets<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut is_header = false;
    let mut kept = Vec::new();
    for argument in arguments {
        let (flag, header) = split_header(argument).unwrap_or(("", ""));
        kept.push(match is_header {
            true => without_value(argument),
            false if !header.is_empty() => format!("{flag}{}", without_value(header)),
            false => urls_without_secrets(argument),
        });
        is_header = !is_header && !flag.is_empty() && header.is_empty();
    }
    kept
}

/// `argument` without the secrets of the URLs in it, which follow spaces, commas, quotation marks or the like.
fn urls_without_secrets(argument: &str) -> String {
    let separates = |letter: char| letter.is_whitespace() || ",;|`'\"<>()[]{}".contains(letter);
    let is_of_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let next_url = |text: &str| {
        let mut starts =
            text.match_indices("://").map(|(at, _)| text[..at].trim_end_matches(is_of_scheme));
        starts.find(|before| before.ends_with(separates)).map(str::len)
    };
    let (mut kept, mut rest) = (String::new(), argument);
    while let Some(start) = next_url(rest) {
        let (before, next) = rest.split_at(start);
        let url = before.trim_end_matches(separates);
        kept += &url_without_secrets(url);
        kept += &before[url.len()..];
        rest = next;
    }
    kept + &url_without_secrets(rest)
}

/// `text`, a message for users, without the secrets of the URLs in it.
pub fn text_without_secrets(text: &str) -> String {
    let ends_url = |letter: char| letter.is_whitespace() || "`'\"<>,".contains(letter);
    let cut = |part: &str| {
        let url = part.strip_suffix(ends_url).unwrap_or(part);
        let rest = &part[url.len()..];
        if url.contains("://") { url_without_secrets(url) + rest } else { part.to_owned() }
    };
    text.split_inclusive(ends_url).map(cut).collect()
}

/// `url` without user and password, and without the values of secret parameters; any other text is unchanged. The
/// scheme may be missing.
pub fn url_without_secrets(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let authority_len = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_len);
    let host = match authority.rsplit_once('@') {
        // Without a scheme an `@` alone may be anything.
        Some((user, host)) if !scheme.is_empty() || user.contains(':') => format!("{CUT}@{host}"),
        Some(_) | None => authority.to_owned(),
    };
    let path = if scheme.is_empty() { path.to_owned() } else { path_without_secrets(path) };
    format!("{scheme}{host}{path}")
}

/// `path` with its query, without the values of secret parameters.
pub(crate) fn path_without_secrets(path: &str) -> String {
    with_parameters(path, |_, value| match value.starts_with(CUT_VALUE) {
        // It was cut before; the rest of the sentence after it stays.
        true => None,
        false => Some(CUT_VALUE.to_owned()),
    })
}

/// The values of the secret parameters of `path`.
pub(crate) fn secrets_of_path(path: &str) -> Vec<String> {
    let mut found = Vec::new();
    with_parameters(path, |_, value| {
        found.push(value.to_owned());
        None
    });
    found
}

/// `path` with the secret parameters that were cut out restored to the values that `value_of` gives for their names.
///
/// # Errors
///
/// The name of a parameter whose value is not given.
pub(crate) fn path_with_secrets(
    path: &str,
    value_of: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut missing = None;
    let whole = with_parameters(path, |name, value| {
        let given = (value == CUT_VALUE).then(|| value_of(name))?;
        if given.is_none() {
            missing.get_or_insert_with(|| name.to_owned());
        }
        given
    });
    missing.map_or(Ok(whole), Err)
}

/// `path` with the values of secret parameters replaced, where `change` returns another.
fn with_parameters(path: &str, mut change: impl FnMut(&str, &str) -> Option<String>) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let parameter = |parameter: &str| match parameter.split_once('=') {
        Some((name, value)) if is_secret(name) && !value.is_empty() => {
            let value = change(name, value).unwrap_or_else(|| value.to_owned());
            format!("{name}={value}")
        }
        Some(_) | None => parameter.to_owned(),
    };
    let parameters: Vec<String> = query.split('&').map(parameter).collect();
    format!("{path}?{}", parameters.join("&"))
}

/// True for a parameter or a column that is named like a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word)) || SECRET_NAMES.contains(&&*name)
}

/// The flag and the header of an argument that has both; the header is empty if it is the next argument.
fn split_header(argument: &str) -> Option<(&str, &str)> {
    if argument == "--header" {
        return Some((argument, ""));
    }
    if argument.starts_with("--header=") {
        return Some(argument.split_at("--header=".len()));
    }
    // In a word of several short flags, those before `H` take no value.
    let letters = argument.strip_prefix('-')?;
    let before = letters.find('H')?;
    let is_flag = letters[..before].chars().all(|letter| "hqvV".contains(letter));
    is_flag.then(|| argument.split_at("-".len() + before + "H".len()))
}

/// `Name: value` without the value.
fn without_value(header: &str) -> String {
    header.split_once(':').map_or_else(|| CUT.to_owned(), |(name, _)| format!("{name}: {CUT}"))
}

/// The text that replaces a secret.
const CUT: &str = "…";

/// The same where only ASCII is allowed.
const CUT_VALUE: &str = "***";

/// The shortest secret that is searched for, in bytes.
const SECRET_LEN_MIN: usize = 6;

/// Names of secret parameters and columns that are only compared as a whole, since other names contain them.
const SECRET_NAMES: [&str; 3] = ["pin", "pw", "sig"];

/// Parts of the names of secret parameters and columns.
const SECRET_WORDS: [&str; 11] = [
    "auth",
    "cookie",
    "credential",
    "jwt",
    "key",
    "passw",
    "pwd",
    "secret",
    "session",
    "signature",
    "token",
];
