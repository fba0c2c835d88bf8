//! `cargo xtask book`: builds README.md, the pages of `docs` and the files next to them as one book, with mdBook.
//!
//! mdBook renders the pages that its summary names, and copies files that are not Markdown. So the pages of
//! `docs/SUMMARY.md`, and the files that they link to, are copied below the target folder under the paths that they
//! have here: a link that works in the repository works in the book.

use crate::tidy::text::{joined, link_targets, prose};
use crate::{files, packages, shell};
use anyhow::{Context as _, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Builds the book and prints the path of its first page.
pub(crate) fn run() -> Result<()> {
    let summary = summary()?;
    let files = files(&summary)?;
    let folder = files::empty(shell::target().join("book"))?;
    for file in &files {
        let copy = folder.join("src").join(file);
        fs::create_dir_all(copy.parent().context("a file is in a folder")?)?;
        fs::copy(shell::root().join(file), copy)?;
    }
    fs::write(folder.join("src/SUMMARY.md"), summary)?;
    fs::copy(shell::root().join("docs/book.toml"), folder.join("book.toml"))?;
    shell::output(shell::command(mdbook()?).arg("build").arg(&folder))?;
    let built = folder.join("book");
    for file in &files {
        let made = match file.strip_suffix(".md") {
            Some(page) => format!("{page}.html"),
            None => file.clone(),
        };
        ensure!(built.join(&made).is_file(), "mdBook made no {made} of {file}");
    }
    println!("{}", built.join("index.html").display());
    Ok(())
}

/// The pages in their order, as mdBook wants them: with paths from the top of the repository.
fn summary() -> Result<String> {
    Ok(read(SUMMARY)?.replace("](", "](docs/").replace("](docs/../", "]("))
}

/// The files of the book: its pages, and what they link to.
///
/// # Errors
///
/// A page cannot be read, or links to a folder or to a page that is not in the book.
fn files(summary: &str) -> Result<BTreeSet<String>> {
    let pages: BTreeSet<String> = link_targets(summary).map(str::to_owned).collect();
    let mut files = pages.clone();
    for page in &pages {
        let text = read(page)?;
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in prose(&text).flat_map(|(_, line)| link_targets(line)) {
            let path = joined(folder, target);
            if path.ends_with(".md") && !pages.contains(&path) {
                bail!("{page} links to {path}, which is not in the book: name it in {SUMMARY}");
            }
            if !shell::root().join(&path).is_file() {
                bail!("{page} links to {path}, which is not a file: name a file of that folder");
            }
            files.insert(path);
        }
    }
    Ok(files)
}

/// Reads a text of the repository by its path.
fn read(path: &str) -> Result<String> {
    let file = shell::root().join(path);
    fs::read_to_string(file).with_context(|| format!("cannot read {path}"))
}

/// The program mdBook, installed below the target folder on its first use.
fn mdbook() -> Result<PathBuf> {
    let folder = shell::target().join(format!("mdbook-{MDBOOK}"));
    // A few pages need no more.
    let options = "--no-default-features --features search";
    packages::from_cargo(&folder, "mdbook", MDBOOK, options)?;
    Ok(folder.join("bin/mdbook"))
}

/// The list of pages; its paths are relative to its own folder.
const SUMMARY: &str = "docs/SUMMARY.md";
const MDBOOK: &str = "0.5.4";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_in_the_book_and_links_to_nothing_outside_of_it() {
        let files = files(&summary().unwrap()).unwrap();
        assert!(files.contains("README.md") && files.contains("docs/spec.schema.json"));
        for entry in fs::read_dir(shell::root().join("docs")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let page = format!("docs/{name}");
            assert!(
                !name.ends_with(".md") || page == SUMMARY || files.contains(&page),
                "{page} is not in {SUMMARY}"
            );
        }
    }

    #[test]
    fn a_link_that_leads_out_of_the_book_is_refused() {
        let error = files("[a](README.md)").unwrap_err().to_string();
        assert!(error.ends_with(": name it in docs/SUMMARY.md"), "{error}");
        let error = files("[a](no/such/page.md)").unwrap_err().to_string();
        assert_eq!(error, "cannot read no/such/page.md");
    }
}
