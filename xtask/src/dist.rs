//! `cargo xtask dist`: builds everything that is given to users, in `packages` below the target folder: a static
//! program and a Debian package for each target, an OCI image of the programs, lists of what is in them (SBOM), and
//! checksums.
//!
//! Two builds of a commit give the same bytes: paths of this machine are removed from everything that compilers write,
//! and all times are that of the commit. The tools are installed below the target folder, in versions that are named
//! here; Rust is the machine's.
//!
//! Start reading at [`run`], then [`Build::make`].

mod image;
mod trial;

use crate::packages::{self, From, Need, Probe};
use crate::{files, shell};
use anyhow::{Context as _, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Build what is given to users: a static program, a Debian package, an OCI image, an SBOM, checksums
#[derive(clap::Args, Debug)]
pub(crate) struct DistArgs {
    /// The profile of cargo; `release` is faster, to try the steps
    #[arg(long, value_name = "NAME", default_value = "dist")]
    profile: String,
    /// Build the commit a second time, from a new clone in another folder, and compare all bytes
    #[arg(long = "twice")]
    is_twice: bool,
    /// Try the results, as root: the package in a new Debian, the program in an empty root file system
    #[arg(long = "try")]
    is_tried: bool,
}

/// Builds all of it, and prints the folder.
pub(crate) fn run(arguments: &DistArgs) -> Result<()> {
    let native = TARGETS.iter().find(|target| target.triple.starts_with(std::env::consts::ARCH));
    let native =
        native.context("manual pages are written by the program itself: use x86_64 or aarch64")?;
    ensure!(!arguments.is_tried || packages::am_root()?, "--try needs root: leave it out");
    if arguments.is_twice {
        let changes = shell::output(shell::command("git").args(["status", "--porcelain"]))?;
        ensure!(changes.is_empty(), "--twice builds a commit, commit these first:\n{changes}");
    }

    let tools = Tools::install(arguments.is_tried)?;
    let build = |source: &Path, target: PathBuf| Build {
        tools: &tools,
        source: source.to_owned(),
        target,
        profile: &arguments.profile,
    };
    let out = build(shell::root(), shell::target()).make(native)?;
    if arguments.is_twice {
        let folder = shell::target().join("dist-again");
        let again = build(&cloned(&folder)?, folder.join("target")).make(native)?;
        compare(&out, &again)?;
        fs::remove_dir_all(&folder)?;
    }
    if arguments.is_tried {
        trial::run(&out, native)?;
    }
    println!("{}", out.display());
    Ok(())
}

/// Checks out the commit in a clone in `folder`. A clone that exists, as after an interruption, is moved to the commit,
/// and what was built from it is not built again.
fn cloned(folder: &Path) -> Result<PathBuf> {
    let clone = folder.join("clone");
    if !clone.exists() {
        let words = ["clone", "--quiet", "--shared", "--no-checkout"];
        shell::output(shell::command("git").args(words).arg(shell::root()).arg(&clone))?;
    }
    let commit = shell::output(shell::command("git").args(["rev-parse", "HEAD"]))?;
    let mut checkout = shell::command("git");
    checkout.args(["checkout", "--quiet", "--force", "--detach", commit.trim()]);
    shell::output(checkout.current_dir(&clone))?;
    Ok(clone)
}

/// A kind of machine that programs are built for.
struct Target {
    triple: &'static str,
    /// Its name in an image and in a package.
    architecture: &'static str,
    /// The way to install its standard library.
    cure: &'static str,
}

const TARGETS: &[Target] = &[
    Target {
        triple: "x86_64-unknown-linux-musl",
        architecture: "amd64",
        cure: "Rust for x86_64 and musl: rustup target add x86_64-unknown-linux-musl",
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        architecture: "arm64",
        cure: "Rust for aarch64 and musl: rustup target add aarch64-unknown-linux-musl",
    },
];

/// The tools that build.
struct Tools {
    /// The folder that they are in.
    folder: PathBuf,
    /// The folder of Rust.
    rust: String,
    /// The folder of cargo, with the sources of packages.
    cargo: String,
}

impl Tools {
    /// Installs the missing ones.
    ///
    /// # Errors
    ///
    /// The machine lacks something; all of it is named.
    fn install(is_tried: bool) -> Result<Self> {
        let python = Probe::PythonModule("ensurepip");
        let mut needs = vec![Need { probe: python, from: From::Debian("python3-venv".into()) }];
        let rust = shell::output(shell::command("rustc").args(["--print", "sysroot"]))?;
        let rust = rust.trim().to_owned();
        for target in TARGETS {
            let std = Probe::File(format!("{rust}/lib/rustlib/{}", target.triple));
            needs.push(Need { probe: std, from: From::Elsewhere(target.cure) });
        }
        if is_tried {
            needs.extend(trial::needs());
        }
        packages::ensure(&needs)?;

        let folder = shell::target().join("dist-tools");
        if !folder.join("bin/cargo-zigbuild").exists() {
            packages::from_python(&folder, OF_PYTHON)?;
        }
        for (name, version) in OF_CARGO {
            packages::from_cargo(&folder, name, version, "")?;
        }
        let home = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
        let cargo = home("CARGO_HOME").or_else(|| Some(home("HOME")?.join(".cargo")));
        let cargo = cargo.context("neither CARGO_HOME nor HOME is set")?.display().to_string();
        Ok(Self { folder, rust, cargo })
    }
}

/// A build of everything.
struct Build<'a> {
    tools: &'a Tools,
    /// The top of the sources.
    source: PathBuf,
    /// The folder that cargo builds into.
    target: PathBuf,
    profile: &'a str,
}

impl Build<'_> {
    /// Builds everything, and returns the folder with what is given to users.
    fn make(&self, native: &Target) -> Result<PathBuf> {
        let out = files::empty(self.target.join("packages"))?;
        let epoch = self.epoch()?;
        eprintln!("dist: {} programs in {}", TARGETS.len(), self.target.display());
        shell::run(&mut self.compile())?;
        let mut programs = Vec::new();
        for target in TARGETS {
            let program = self.built(target).join(PROGRAM);
            fs::copy(&program, out.join(format!("{PROGRAM}-{VERSION}-{}", target.triple)))?;
            programs.push((target.architecture, fs::read(program)?));
            write_pages(&self.built(native).join(PROGRAM), self.built(target).join("package"))?;
            let words = "deb --no-build --no-strip --package";
            let mut package = self.cargo(&format!("{words} {PROGRAM} --profile"), epoch);
            package.args([self.profile, "--target", target.triple, "--output"]).arg(&out);
            shell::output(&mut package)?;
            let list = format!("{PROGRAM}-{VERSION}-{}.cdx.json", target.triple);
            self.write_sbom(&out.join(list), target, epoch)?;
        }
        image::write(&out.join("image"), &programs, epoch)?;
        fs::write(out.join(SUMS), sums(&out)?)?;
        Ok(out)
    }

    /// The time of the sources, in seconds since 1970.
    fn epoch(&self) -> Result<u64> {
        let mut time_of_commit = shell::command("git");
        time_of_commit.args(["log", "-1", "--format=%ct"]).current_dir(&self.source);
        let epoch = match std::env::var_os("SOURCE_DATE_EPOCH") {
            Some(given) => given.to_string_lossy().into_owned(),
            None => shell::output(&mut time_of_commit)
                .context("not in git: name the time of the sources in SOURCE_DATE_EPOCH")?,
        };
        let epoch = epoch.trim();
        epoch
            .parse()
            .with_context(|| format!("SOURCE_DATE_EPOCH is not a number of seconds: {epoch}"))
    }

    /// The command that builds the program for all targets at once: linking takes minutes, on one core each.
    fn compile(&self) -> Command {
        // The C code of the allocator contains the time of its compilation, and is not compiled again for a later
        // commit.
        let mut compile = self.cargo(&format!("zigbuild --locked --package {PROGRAM}"), 0);
        compile.args(["--features", FEATURES, "--profile", self.profile]);
        // The last prefix that matches counts, and a later folder may be in an earlier one.
        let folders = [&self.source, &self.target, &self.tools.folder];
        let [source, built, tools] = folders.map(|path| path.display().to_string());
        let paths = [
            (&self.tools.rust, "/rust"),
            (&self.tools.cargo, "/cargo"),
            (&source, "/wirebench"),
            (&built, "/target"),
            (&tools, "/tools"),
        ];
        let as_flags = |flag: &str| paths.map(|(path, name)| format!("{flag}={path}={name}"));
        compile.env("CARGO_ENCODED_RUSTFLAGS", as_flags("--remap-path-prefix").join("\x1f"));
        for Target { triple, .. } in TARGETS {
            compile.args(["--target", triple]);
            compile.env(format!("CFLAGS_{triple}"), as_flags("-ffile-prefix-map").join(" "));
        }
        compile
    }

    /// The folder that the program for `target` is built into.
    fn built(&self, target: &Target) -> PathBuf {
        self.target.join(target.triple).join(self.profile)
    }

    /// Writes the list of all packages in the program for `target`, as CycloneDX in JSON.
    fn write_sbom(&self, file: &Path, target: &Target, epoch: u64) -> Result<()> {
        let words = format!("cyclonedx --quiet --format json --override-filename {SBOM} --target");
        let mut list = self.cargo(&words, epoch);
        list.args([target.triple, "--features", FEATURES, "--manifest-path"]);
        list.arg(format!("crates/{PROGRAM}/Cargo.toml"));
        shell::output(&mut list)?;
        let made = |folder: &Path| folder.join(format!("{SBOM}.json"));
        let text = fs::read_to_string(made(&self.source.join("crates").join(PROGRAM)))?;
        fs::write(file, text.replace(&self.source.display().to_string(), "/wirebench"))?;
        // It leaves one in the folder of every crate.
        let crates = fs::read_dir(self.source.join("crates"))?;
        let crates = crates.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        for folder in crates.into_iter().chain([self.source.join("xtask")]) {
            fs::remove_file(made(&folder))?;
        }
        Ok(())
    }

    /// `cargo` with these arguments, split at spaces, in the folder of the sources; it finds the tools.
    fn cargo(&self, words: &str, epoch: u64) -> Command {
        let mut cargo = shell::cargo(words);
        let mut path = self.tools.folder.join("bin").into_os_string();
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        let of_zig = self.target.join("zig");
        cargo.current_dir(&self.source).env("CARGO_TARGET_DIR", &self.target).env("PATH", path);
        cargo.env("CARGO_ZIGBUILD_CACHE_DIR", &of_zig).env("ZIG_GLOBAL_CACHE_DIR", &of_zig);
        // Incremental compilation gives different bytes each time.
        cargo.env("SOURCE_DATE_EPOCH", epoch.to_string()).env_remove("CARGO_INCREMENTAL");
        cargo
    }
}

/// Lets a program that runs here write its manual pages and completions into `folder`.
fn write_pages(program: &Path, folder: PathBuf) -> Result<()> {
    let folder = files::empty(folder)?;
    shell::output(shell::command(program).args(["man", "--folder"]).arg(folder.join("man")))?;
    for shell in SHELLS {
        let script = shell::output(shell::command(program).args(["completions", shell]))?;
        fs::write(folder.join(shell), script)?;
    }
    Ok(())
}

/// The checksums of all files below `folder`, as `sha256sum --check` reads them.
fn sums(folder: &Path) -> Result<String> {
    let mut sums = String::new();
    for path in files::below(folder)? {
        sums += &format!("{}  {path}\n", image::sha256(&fs::read(folder.join(&path))?));
    }
    Ok(sums)
}

/// Checks that two builds gave the same bytes.
fn compare(out: &Path, again: &Path) -> Result<()> {
    let [one, other] = [out, again].map(|folder| fs::read_to_string(folder.join(SUMS)));
    let (one, other) = (one?, other?);
    let differing = differing(&one, &other);
    if differing.is_empty() {
        eprintln!("dist: a second build gave the same bytes, {} files", one.lines().count());
        return Ok(());
    }
    bail!("these files differ between {} and {}: {differing:?}", out.display(), again.display())
}

/// The files that two lists of checksums do not agree on.
fn differing<'a>(one: &'a str, other: &'a str) -> BTreeSet<&'a str> {
    let lines = |sums: &'a str| sums.lines().collect::<BTreeSet<_>>();
    let lines = &lines(one) ^ &lines(other);
    lines.into_iter().filter_map(|line| Some(line.split_once("  ")?.1)).collect()
}

const PROGRAM: &str = "wirebench";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// All of them: a package is for everybody.
const FEATURES: &str = "fleet,otlp,postgres";
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];
const SBOM: &str = "sbom";
const SUMS: &str = "SHA256SUMS";
const OF_PYTHON: &[&str] = &["cargo-zigbuild==0.24.1", "ziglang==0.17.1"];
const OF_CARGO: &[(&str, &str)] = &[("cargo-deb", "3.8.0"), ("cargo-cyclonedx", "0.5.9")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_all_files_and_two_lists_are_compared_by_line() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("image")).unwrap();
        fs::write(folder.path().join("b"), "abc").unwrap();
        fs::write(folder.path().join("image/a"), "").unwrap();
        let first = sums(folder.path()).unwrap();
        assert_eq!(
            first,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n\
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  image/a\n"
        );
        assert_eq!(differing(&first, &first), BTreeSet::new());
        fs::write(folder.path().join("image/a"), "other").unwrap();
        fs::write(folder.path().join("new"), "").unwrap();
        assert_eq!(differing(&first, &sums(folder.path()).unwrap()), ["image/a", "new"].into());
    }

    #[test]
    fn the_package_has_the_program_its_pages_and_files_of_the_repository() {
        let manifest = shell::root().join("crates").join(PROGRAM);
        let text = fs::read_to_string(manifest.join("Cargo.toml")).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let deb = &table["package"]["metadata"]["deb"];
        let mut expected: BTreeSet<_> = SHELLS.map(|shell| format!("package/{shell}")).into();
        expected.extend([PROGRAM.to_owned(), "package/man/*.1".to_owned()]);
        let mut built = BTreeSet::new();
        for asset in deb["assets"].as_array().unwrap() {
            let source = asset[0].as_str().unwrap();
            match source.strip_prefix("target/release/") {
                Some(made) => assert!(built.insert(made.to_owned()), "{source} is there twice"),
                None => {
                    let folder = manifest.join(source.trim_end_matches("*.service"));
                    assert!(folder.exists(), "{source} is not there");
                }
            }
        }
        assert_eq!(built, expected);
        assert!(manifest.join(deb["license-file"][0].as_str().unwrap()).is_file());
    }

    #[test]
    fn no_folder_of_this_machine_is_told_to_the_program() {
        let tools = Tools { folder: "/src/o/t".into(), rust: "/r".into(), cargo: "/c".into() };
        let (source, target) = ("/src".into(), "/src/o".into());
        let build = Build { tools: &tools, source, target, profile: "dist" };
        let shown = shell::shown(&build.compile());
        // The last rule that matches a path counts.
        let flag = "-ffile-prefix-map";
        let rules =
            ["/r=/rust", "/c=/cargo", "/src=/wirebench", "/src/o=/target", "/src/o/t=/tools"];
        let flags = rules.map(|rule| format!("{flag}={rule}")).join(" ");
        let [of_c, of_rust] = [flags.clone(), flags.replace(flag, "--remap-path-prefix")];
        for Target { triple, .. } in TARGETS {
            assert!(shown.contains(&format!("CFLAGS_{triple}='{of_c}'")), "{shown}");
            assert!(shown.contains(&format!("--target {triple}")), "{shown}");
        }
        assert!(shown.contains(&of_rust.replace(' ', "\x1f")), "{shown}");
        assert!(shown.contains("SOURCE_DATE_EPOCH=0 "), "{shown}");
    }
}
