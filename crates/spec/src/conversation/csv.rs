//! Columns of CSV files (RFC 4180): the first row has the names.

/// The values of the column `name` of `text`, one for each row; empty lines are not rows.
///
/// # Errors
///
/// There is no such column, a row has a different number of fields than the first, a quote is not closed, or there are
/// no rows or too many. The message names the line, but no value, since a value may be a secret.
pub(super) fn column(text: &str, name: &str) -> Result<Vec<String>, String> {
    let mut rows = Rows { rest: text.trim_start_matches('\u{feff}'), line: 1 };
    let (_, names) =
        rows.next_row()?.ok_or("is empty; its first line has the names of its columns")?;
    let Some(index) = names.iter().position(|known| known.trim() == name) else {
        let near = crate::suggestions::did_you_mean(name, names.iter().map(|name| name.trim()));
        return Err(format!(
            "has no column `{name}`{near}; its first line is `{}`",
            names.join(",")
        ));
    };
    let mut values = Vec::new();
    while let Some((line, mut fields)) = rows.next_row()? {
        if fields.len() != names.len() {
            let (found, expected) = (fields.len(), names.len());
            return Err(format!("line {line} has {found} fields; the first line has {expected}"));
        }
        if values.len() == ROWS_MAX {
            return Err(format!("has more than {ROWS_MAX} rows; use a shorter file"));
        }
        values.push(fields.swap_remove(index));
    }
    if values.is_empty() {
        return Err("has no row below the names of its columns".to_owned());
    }
    Ok(values)
}

/// The rows of a text that are left to read.
struct Rows<'t> {
    rest: &'t str,
    line: usize,
}

impl Rows<'_> {
    /// The fields of the next row, and its line.
    fn next_row(&mut self) -> Result<Option<(usize, Vec<String>)>, String> {
        while let Some(rest) =
            self.rest.strip_prefix("\r\n").or_else(|| self.rest.strip_prefix('\n'))
        {
            self.rest = rest;
            self.line += 1;
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let line = self.line;
        let mut fields = Vec::new();
        loop {
            fields.push(self.field()?);
            let mut letters = self.rest.chars();
            match letters.next() {
                Some(',') => self.rest = letters.as_str(),
                Some('\n') => {
                    self.rest = letters.as_str();
                    self.line += 1;
                    return Ok(Some((line, fields)));
                }
                Some(_) => {
                    let line = self.line;
                    return Err(format!("line {line}: text follows the quote that ends a field"));
                }
                None => return Ok(Some((line, fields))),
            }
        }
    }

    /// The next field. A CR before a line end does not belong to it.
    fn field(&mut self) -> Result<String, String> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let (field, rest) =
                self.rest.split_at(self.rest.find([',', '\n']).unwrap_or(self.rest.len()));
            self.rest = rest;
            let ends_line = !rest.starts_with(',');
            return Ok(field.strip_suffix('\r').filter(|_| ends_line).unwrap_or(field).to_owned());
        };
        let begun = self.line;
        let mut field = String::new();
        self.rest = quoted;
        loop {
            let Some((part, rest)) = self.rest.split_once('"') else {
                return Err(format!("line {begun}: a quote begins a field, and none ends it"));
            };
            field += part;
            self.line += part.matches('\n').count();
            match rest.strip_prefix('"') {
                Some(more) => {
                    field.push('"');
                    self.rest = more;
                }
                None => {
                    self.rest = match rest.strip_prefix('\r') {
                        Some(end) if end.is_empty() || end.starts_with('\n') => end,
                        Some(_) | None => rest,
                    };
                    return Ok(field);
                }
            }
        }
    }
}

/// The most rows of a file: more than a machine has connections for.
const ROWS_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_as_rfc_4180_has_them() {
        #[rustfmt::skip]
        let table: [(&str, &str, &[&str]); 9] = [
            ("name,pw\na,1\nb,2\n",              "pw",   &["1", "2"]),
            ("name,pw\r\na,1\r\nb,2",            "pw",   &["1", "2"]),
            ("\u{feff}name,pw\na,1\n",           "name", &["a"]),
            ("name\na\n\n\nb\n",                 "name", &["a", "b"]),
            ("a,b\n\"x,y\",\"q\"\"q\"\n",        "a",    &["x,y"]),
            ("a,b\n\"x,y\",\"q\"\"q\"\r\n",      "b",    &["q\"q"]),
            ("a,b\n\"two\nlines\",2\n3,4\n",     "a",    &["two\nlines", "3"]),
            ("a,b\n,\n",                         "b",    &[""]),
            (" a , b \n 1 ,2\n",                 "a",    &[" 1 "]),
        ];
        for (text, name, values) in table {
            assert_eq!(column(text, name).as_deref(), Ok(&values.map_owned()[..]), "{text:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_without_values() {
        #[rustfmt::skip]
        let table = [
            ("",                       "is empty"),
            ("name\n",                 "has no row"),
            ("nome,pw\na,1\n",         "has no column `name`; did you mean `nome`?"),
            ("name,pw\n\na,1,s3cret\n", "line 3 has 3 fields; the first line has 2"),
            ("name\n\"s3cret\n",       "line 2: a quote begins a field"),
            ("name\n\"a\nb\"s3cret\n", "line 3: text follows the quote"),
        ];
        for (text, message) in table {
            let error = column(text, "name").unwrap_err();
            assert!(error.contains(message) && !error.contains("s3cret"), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_file_has_a_bounded_number_of_rows() {
        let most = "n\n".to_owned() + &"1\n".repeat(ROWS_MAX);
        assert_eq!(column(&most, "n").unwrap().len(), ROWS_MAX);
        assert!(column(&(most + "1\n"), "n").unwrap_err().contains("more than 1048576 rows"));
    }

    trait Owned {
        fn map_owned(&self) -> Vec<String>;
    }

    impl Owned for &[&str] {
        fn map_owned(&self) -> Vec<String> {
            self.iter().map(|&text| text.to_owned()).collect()
        }
    }
}
