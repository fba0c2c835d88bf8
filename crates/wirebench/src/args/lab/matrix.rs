//! From rows and loads to cells: who is measured with whom, over what, under which load, and what cannot be.

use super::definition::{Definition, Row, Source, Words};
use lab::{Role, Subject};
use record::LeftOut;
use spec::{Protocol, Scheme};
use std::sync::Arc;
use toml::Spanned;
use units::Nanos;

/// What is to be measured, and what is not.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    pub(super) cells: Vec<Cell>,
    pub(super) left_out: Vec<LeftOut>,
}

/// A row under a load.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Unique among all.
    pub(super) name: String,
    /// `None`: our own.
    pub(super) server: Option<Arc<Subject>>,
    /// `None`: ourselves.
    pub(super) client: Option<Arc<Subject>>,
    pub(super) scheme: Scheme,
    /// What is said to `wirebench run` besides the URL.
    pub(super) words: Vec<String>,
    pub(super) reply: Option<String>,
    pub(super) host: Option<String>,
    pub(super) path: Option<String>,
    /// The cell (its index) that it is compared with; `None` for row zero.
    pub(super) base: Option<usize>,
    /// The cell that is the same without a layer, and what the layer is.
    pub(super) layer: Option<(usize, String)>,
}

/// What is asked of a lab besides what its file says, every default resolved.
#[derive(Clone, Debug)]
pub(super) struct Asked<'a> {
    pub(super) quick: bool,
    /// Rows by what their cells are called or who takes part; none: all.
    pub(super) only: &'a [String],
    /// How long each cell is measured in its turn.
    pub(super) block: Nanos,
}

/// Who is there.
pub(super) trait Subjects {
    /// The subject of this name, or why it cannot take part: its manifest is broken.
    ///
    /// The error of the outer kind is that there is none, with what was perhaps meant.
    fn find(&self, name: &str) -> Result<Result<Arc<Subject>, String>, String>;
    /// That it is installed; else why not.
    fn ready(&self, subject: &Subject) -> Result<(), String>;
}

/// All cells of a lab.
pub(super) fn matrix(
    definition: &Definition,
    subjects: &dyn Subjects,
    asked: &Asked<'_>,
    source: Source<'_>,
) -> Result<Matrix, String> {
    let wanted = definition.quick.loads.as_ref().filter(|_| asked.quick).map(Spanned::get_ref);
    let mut made =
        Making { definition, asked, source, matrix: Matrix::default(), of_rows: Vec::new() };
    for (load, asked_load) in definition.loads.iter().enumerate() {
        if wanted.is_none_or(|wanted| wanted.0.contains(asked_load.name.get_ref())) {
            made.row_zero(load);
        }
    }
    for row in 0..definition.rows.len() {
        made.row(row, subjects)?;
    }
    made.compare()?;
    if made.matrix.cells.iter().all(|cell| cell.base.is_none()) && made.matrix.left_out.is_empty() {
        return Err(format!("{}: nothing in it is called so; see --only", source.name));
    }
    Ok(made.matrix)
}

/// A matrix that is being made.
struct Making<'a> {
    definition: &'a Definition,
    asked: &'a Asked<'a>,
    source: Source<'a>,
    matrix: Matrix,
    /// Of each cell: the row (`None`: row zero), the load, and what it is called without that.
    of_rows: Vec<(Option<usize>, usize, String)>,
}

/// Who takes part in a cell; `Err`: why somebody cannot.
struct Part<'a> {
    name: &'a str,
    subject: Result<Option<Arc<Subject>>, String>,
}

impl Making<'_> {
    /// Raw TCP, as our own server answers it and our own client asks.
    fn row_zero(&mut self, load: usize) {
        let words = self.words(
            load,
            Protocol::Tcp.plain(),
            &Words::default(),
            self.definition.reply.as_ref(),
        );
        self.add(
            None,
            load,
            ROW_ZERO.to_owned(),
            Cell {
                name: String::new(),
                server: None,
                client: None,
                scheme: Protocol::Tcp.plain(),
                words,
                reply: self.definition.reply.clone(),
                host: None,
                path: None,
                base: None,
                layer: None,
            },
        );
    }

    /// The product of all that a row names, as far as manifests allow it. Whoever is in no cell of it is left out.
    fn row(&mut self, index: usize, subjects: &dyn Subjects) -> Result<(), String> {
        let row = &self.definition.rows[index];
        let ourselves = Words(vec![OURSELVES.to_owned()]);
        let server =
            self.parts(&row.server, row.server.get_ref(), EMBEDDED, Role::Server, subjects)?;
        let client = match &row.client {
            Some(client) => {
                self.parts(client, client.get_ref(), OURSELVES, Role::Client, subjects)?
            }
            None => self.parts(&row.server, &ourselves, OURSELVES, Role::Client, subjects)?,
        };
        let schemes = self.schemes(&row.transport)?;
        let (mut missed, mut seen) = (Vec::new(), Vec::new());
        for (server, client, scheme) in product(&server, &client, &schemes) {
            let name = called(row, server.name, client.name, *scheme);
            if !self.is_asked_for(&name, server.name, client.name) {
                continue;
            }
            match self.possible(row, [server, client], *scheme, subjects) {
                Err(left) => missed.push(left),
                Ok(both) => {
                    seen.extend([server.name, client.name]);
                    self.cells_of(index, &name, &both, *scheme);
                }
            }
        }
        for left in missed {
            let is_known = self.matrix.left_out.iter().any(|known| known.name == left.name);
            if !is_known && !seen.contains(&left.name.as_str()) {
                self.matrix.left_out.push(left);
            }
        }
        Ok(())
    }

    /// One cell for each load.
    fn cells_of(
        &mut self,
        index: usize,
        name: &str,
        both: &[Option<Arc<Subject>>; 2],
        scheme: Scheme,
    ) {
        let [server, client] = both;
        let row = &self.definition.rows[index];
        let reply = row.reply.as_ref().or(self.definition.reply.as_ref());
        let reply = reply.filter(|reply| !reply.is_empty());
        for load in 0..self.definition.loads.len() {
            let load_name = self.definition.loads[load].name.get_ref();
            let named = row.load.as_ref().is_none_or(|it| it.get_ref().0.contains(load_name));
            let is_there = self.of_rows.iter().any(|(row, of, _)| row.is_none() && *of == load);
            if !named || !is_there {
                continue;
            }
            let words = self.words(load, scheme, &row.run, reply);
            let limits = both.iter().flatten();
            let limits = limits
                .filter_map(|subject| Some((subject, subject.manifest.limits.connections_max?)));
            let mut too_many =
                limits.filter(|(_, max)| connections_of(&words) > *max).map(|(subject, max)| {
                    let why = &subject.manifest.limits.why;
                    format!("{} takes at most {max} connections: {why}", subject.name)
                });
            let of_server = server.iter().map(|subject| &subject.manifest.limits);
            let mut refused =
                of_server.filter(|_| scheme.protocol == Protocol::Http).filter_map(|limits| {
                    let path = row.path.as_deref().unwrap_or("/");
                    limits.refusal_of_request(method_of(&words), path)
                });
            if let Some(reason) = too_many.next().or_else(|| refused.next()) {
                let name = self.full_name(name, load);
                self.matrix.left_out.push(LeftOut { name, reason });
                continue;
            }
            self.add(
                Some(index),
                load,
                name.to_owned(),
                Cell {
                    name: String::new(),
                    server: server.clone(),
                    client: client.clone(),
                    scheme,
                    words,
                    reply: reply.cloned(),
                    host: row.host.clone(),
                    path: row.path.clone(),
                    base: None,
                    layer: None,
                },
            );
        }
    }

    fn add(&mut self, row: Option<usize>, load: usize, name: String, cell: Cell) {
        let cell = Cell { name: self.full_name(&name, load), ..cell };
        self.of_rows.push((row, load, name));
        self.matrix.cells.push(cell);
    }

    fn full_name(&self, name: &str, load: usize) -> String {
        match self.definition.loads.len() {
            1 => name.to_owned(),
            _ => format!("{name} @ {}", self.definition.loads[load].name.get_ref()),
        }
    }

    /// What each cell is compared with: of the same load the row that is named, else row zero.
    fn compare(&mut self) -> Result<(), String> {
        for index in 0..self.matrix.cells.len() {
            let (Some(row), load, _) = self.of_rows[index] else { continue };
            let row = &self.definition.rows[row];
            let base = match &row.base {
                Some(base) => self.of_name(base, load)?,
                None => self.of_name_at(ROW_ZERO, load),
            };
            // A cell that is not there is none to be compared with.
            self.matrix.cells[index].base =
                base.filter(|base| *base != index).or_else(|| self.of_name_at(ROW_ZERO, load));
            if let Some(layer) = &row.layer {
                let over = self.of_name(&layer.over, load)?.filter(|over| *over != index);
                self.matrix.cells[index].layer = over.map(|over| (over, layer.adds.clone()));
            }
        }
        for (index, cell) in self.matrix.cells.iter().enumerate() {
            if self.matrix.cells[..index].iter().any(|other| other.name == cell.name) {
                let name = &cell.name;
                return Err(format!(
                    "{}: two cells are called `{name}`; give their rows a `name` each",
                    self.source.name
                ));
            }
        }
        Ok(())
    }

    /// The cell of a row under a load; `None` if it is not there, which is an error if the file has no such row at all.
    fn of_name(&self, name: &Spanned<String>, load: usize) -> Result<Option<usize>, String> {
        let found = self.of_name_at(name.get_ref(), load);
        let known = |row: &Row| {
            let named = row.name.as_ref().map(Spanned::get_ref);
            let products = row
                .server
                .get_ref()
                .0
                .iter()
                .any(|server| name.get_ref().contains(server.as_str()));
            named.map_or(products, |named| name.get_ref().starts_with(named.as_str()))
        };
        if found.is_none() && !self.definition.rows.iter().any(known) {
            return Err(self.source.at(name, format!("no row is called `{}`", name.get_ref())));
        }
        Ok(found)
    }

    fn of_name_at(&self, name: &str, load: usize) -> Option<usize> {
        self.of_rows.iter().position(|(_, of, called)| *of == load && called == name)
    }

    fn is_asked_for(&self, name: &str, server: &str, client: &str) -> bool {
        let only = self.asked.only;
        only.is_empty() || only.iter().any(|it| [name, server, client].contains(&it.as_str()))
    }

    /// The two, if they can be measured with each other; else which of them cannot, and why.
    fn possible(
        &self,
        row: &Row,
        [server, client]: [&Part<'_>; 2],
        scheme: Scheme,
        subjects: &dyn Subjects,
    ) -> Result<[Option<Arc<Subject>>; 2], LeftOut> {
        let left = |name: &str, reason: String| LeftOut { name: name.to_owned(), reason };
        let ready =
            |part: &Part<'_>| part.subject.clone().map_err(|reason| left(part.name, reason));
        let both = [ready(server)?, ready(client)?];
        for subject in both.iter().flatten() {
            let (name, speaks) = (&subject.name, &subject.manifest.speaks);
            if !subject.speaks(scheme.name()) {
                return Err(left(name, format!("it speaks {}, not {scheme}", speaks.join(", "))));
            }
            if subject.manifest.limits.text_only && is_websocket(scheme) && !self.definition.text {
                let why = &subject.manifest.limits.why;
                return Err(left(
                    name,
                    format!("it takes text alone, which `text = true` sends: {why}"),
                ));
            }
        }
        let reply = row.reply.as_ref().or(self.definition.reply.as_ref());
        let has_reply = reply.is_some_and(|reply| !reply.is_empty());
        match &both[0] {
            None if !scheme.facts().has_echo => {
                return Err(left(server.name, format!("none of our servers echoes over {scheme}")));
            }
            Some(subject) if has_reply && !subject.manifest.replies => {
                let reason = "it answers with echoes alone, not with a reply";
                return Err(left(server.name, reason.to_owned()));
            }
            _ => {}
        }
        for subject in both.iter().flatten() {
            subjects.ready(subject).map_err(|reason| left(&subject.name, reason))?;
        }
        Ok(both)
    }

    /// What is said to `wirebench run`: for all, for the load, for the row.
    fn words(
        &self,
        load: usize,
        scheme: Scheme,
        of_row: &Words,
        reply: Option<&String>,
    ) -> Vec<String> {
        let load = &self.definition.loads[load];
        let of_load = load.quick.as_ref().filter(|_| self.asked.quick).unwrap_or(&load.run);
        let mut words = [&self.definition.run.0[..], &of_load.0, &of_row.0].concat();
        if self.definition.text && is_websocket(scheme) {
            words.push("--text".to_owned());
        }
        if let Some(reply) = reply.filter(|reply| !reply.is_empty()) {
            words.extend(["--expect".to_owned(), reply.clone()]);
        }
        let is_said = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
        let mut more = Vec::new();
        if !is_said(STOPS) {
            more.extend(["--duration".to_owned(), format!("{}ns", self.asked.block.0)]);
            if !is_said(&["--warm-up"]) {
                more.extend(["--warm-up".to_owned(), format!("{}ns", WARM_UP.0)]);
            }
        }
        if scheme.tls {
            // The authority of a server that is started here is known without being named.
            more.push("--insecure".to_owned());
        }
        words.extend(more);
        words
    }

    /// Whom a row names.
    fn parts<'a, T>(
        &self,
        place: &Spanned<T>,
        names: &'a Words,
        ours: &str,
        role: Role,
        subjects: &dyn Subjects,
    ) -> Result<Vec<Part<'a>>, String> {
        let part = |name: &'a String| {
            if name == ours {
                return Ok(Part { name, subject: Ok(None) });
            }
            let found = subjects.find(name).map_err(|problem| self.source.at(place, problem))?;
            if let Ok(subject) = &found
                && subject.manifest.role != role
            {
                let problem = match role {
                    Role::Server => format!("`{name}` is a client, no server"),
                    Role::Client => format!("`{name}` is a server, no client"),
                };
                return Err(self.source.at(place, problem));
            }
            Ok(Part { name, subject: found.map(Some) })
        };
        names.0.iter().map(part).collect()
    }

    fn schemes(&self, names: &Spanned<Words>) -> Result<Vec<Scheme>, String> {
        let scheme = |name: &String| {
            Scheme::named(name).ok_or_else(|| {
                let all = Scheme::list(Scheme::all());
                self.source.at(names, format!("no transport is called `{name}`; there are {all}"))
            })
        };
        names.get_ref().0.iter().map(scheme).collect()
    }
}

/// What a cell is called, but for its load.
fn called(row: &Row, server: &str, client: &str, scheme: Scheme) -> String {
    let many = |words: &Spanned<Words>| words.get_ref().0.len() > 1;
    let (name, all) = row.name.as_ref().map_or(("", true), |name| (name.get_ref().as_str(), false));
    let mut words: Vec<&str> = Vec::new();
    words.extend((!name.is_empty()).then_some(name));
    if row.client.as_ref().is_some_and(many) || (all && client != OURSELVES) {
        words.push(client);
        words.extend((all || many(&row.server)).then_some("to"));
    }
    words.extend((all || many(&row.server)).then_some(server));
    words.extend((all || many(&row.transport)).then_some(scheme.name()));
    words.join(" ")
}

/// Everyone with everyone, over everything.
fn product<'a, 'b>(
    servers: &'b [Part<'a>],
    clients: &'b [Part<'a>],
    schemes: &'b [Scheme],
) -> impl Iterator<Item = (&'b Part<'a>, &'b Part<'a>, &'b Scheme)> {
    servers.iter().flat_map(move |server| {
        clients
            .iter()
            .flat_map(move |client| schemes.iter().map(move |scheme| (server, client, scheme)))
    })
}

/// Whether a scheme knows text from bytes.
fn is_websocket(scheme: Scheme) -> bool {
    scheme.protocol == Protocol::WebSocket
}

/// How many connections there are at a time with these options, as far as they say so.
fn connections_of(words: &[String]) -> u64 {
    let said = words
        .windows(2)
        .rev()
        .find(|pair| ["-c", "--connections", "--concurrency"].contains(&pair[0].as_str()));
    let count = said.and_then(|pair| crate::args::values::count(&pair[1]).ok());
    count.map_or(0, |count| count.get().into())
}

/// The method of requests with these options.
fn method_of(words: &[String]) -> &str {
    let said = words.windows(2).rev().find(|pair| pair[0] == "--method");
    let joined = || words.iter().rev().find_map(|word| word.strip_prefix("--method="));
    said.map(|pair| pair[1].as_str()).or_else(joined).unwrap_or("POST")
}

/// The bare socket that everything is held against.
pub(super) const ROW_ZERO: &str = "tcp";
/// A server of ours.
pub(super) const EMBEDDED: &str = "embedded";
/// Our own client.
pub(super) const OURSELVES: &str = "wirebench";
/// Options that say themselves when a block ends.
const STOPS: &[&str] = &["-d", "--duration", "-n", "--messages", "--clients"];
/// Before each block; a subject that compiles while it runs has more before its first.
const WARM_UP: Nanos = Nanos::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::lab::definition::read;
    use std::collections::BTreeMap;

    /// Subjects with what their manifests say besides the usual.
    struct Those(BTreeMap<&'static str, Result<Arc<Subject>, String>>);

    impl Subjects for Those {
        fn find(&self, name: &str) -> Result<Result<Arc<Subject>, String>, String> {
            self.0.get(name).cloned().ok_or_else(|| format!("there is no subject `{name}`"))
        }

        fn ready(&self, _: &Subject) -> Result<(), String> {
            Ok(())
        }
    }

    fn subject(name: &str, more: &str) -> Arc<Subject> {
        let text = format!(
            "language = 'x'\nlibrary = 'x'\nversion = '1'\nfrom = 'own'\nlicence = 'MIT'\nstart = ['x']\n\
             ask-version = ['x']\n{more}"
        );
        let manifest = toml::from_str(&text).unwrap();
        Arc::new(Subject { name: name.to_owned(), folder: name.into(), manifest })
    }

    fn those() -> Those {
        let all = [
            ("plain", "role = 'server'\nspeaks = ['tcp', 'ws']"),
            ("replying", "role = 'server'\nspeaks = ['ws', 'wss']\nreplies = true"),
            (
                "small",
                "role = 'server'\nspeaks = ['ws']\nlimits = { connections-max = 100, why = 'select' }",
            ),
            (
                "files",
                "role = 'server'\nspeaks = ['http']\nlimits = { files-only = true, why = 'no module' }",
            ),
            ("library", "role = 'client'\nspeaks = ['ws']"),
        ];
        let mut those = Those(all.map(|(name, more)| (name, Ok(subject(name, more)))).into());
        those.0.insert("absent", Err("not installed".to_owned()));
        those
    }

    fn made(text: &str, quick: bool, only: &[&str]) -> Result<Matrix, String> {
        let text = format!("question = 'q'\n{text}");
        let source = Source { name: "x.toml", text: &text };
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        let asked = Asked { quick, only: &only, block: Nanos::from_secs(1) };
        matrix(&read(source).unwrap(), &those(), &asked, source)
    }

    fn names(matrix: &Matrix) -> Vec<&str> {
        matrix.cells.iter().map(|cell| cell.name.as_str()).collect()
    }

    const LOAD: &str = "[[load]]\nname = 'l'\nrun = ['-c', '50']\n";

    #[test]
    fn a_row_is_a_product_as_far_as_manifests_allow_it() {
        let text = format!(
            "{LOAD}[[row]]\nserver = ['plain', 'replying', 'embedded']\ntransport = ['tcp', 'ws']\n"
        );
        let matrix = made(&text, false, &[]).unwrap();
        let expected =
            ["tcp", "plain tcp", "plain ws", "replying ws", "embedded tcp", "embedded ws"];
        assert_eq!(names(&matrix), expected);
        assert!(matrix.left_out.is_empty(), "replying is in another cell: {:?}", matrix.left_out);
        let bases: Vec<_> = matrix.cells.iter().map(|cell| cell.base).collect();
        assert_eq!(bases, [None, Some(0), Some(0), Some(0), Some(0), Some(0)]);
    }

    #[test]
    fn row_zero_is_there_for_every_load_that_is_kept() {
        let text = "[quick]\nloads = 'b'\n[[load]]\nname = 'a'\n[[load]]\nname = 'b'\nquick = ['-c', '7']\n\
            [[row]]\nserver = 'plain'\ntransport = 'ws'\n[[row]]\nname = 'n'\nserver = 'plain'\nload = 'a'\ntransport = 'tcp'\n";
        let matrix = made(text, false, &[]).unwrap();
        assert_eq!(names(&matrix), ["tcp @ a", "tcp @ b", "plain ws @ a", "plain ws @ b", "n @ a"]);
        assert_eq!(matrix.cells[3].base, Some(1));
        let quick = made(text, true, &[]).unwrap();
        assert_eq!(names(&quick), ["tcp @ b", "plain ws @ b"]);
        assert!(quick.cells[1].words.starts_with(&["-c".to_owned(), "7".to_owned()]));
    }

    #[test]
    fn who_cannot_take_part_is_left_out_with_the_reason() {
        #[rustfmt::skip]
        let table = [
            ("server = 'absent'\ntransport = 'ws'",                       "absent", "not installed"),
            ("server = 'plain'\ntransport = 'wss'",                       "plain", "it speaks tcp, ws, not wss"),
            ("server = 'plain'\nclient = 'library'\ntransport = 'tcp'",   "library", "it speaks ws, not tcp"),
            ("server = 'plain'\nreply = 'Pong'\ntransport = 'ws'",        "plain", "echoes alone"),
            ("server = 'small'\nload = 'm'\ntransport = 'ws'",            "small ws @ m", "at most 100 connections: select"),
            ("server = 'files'\nload = 'l'\ntransport = 'http'",          "files http @ l", "not `POST /`: no module; add `--method GET`"),
            ("server = 'files'\nload = 'l'\nrun = ['--method', 'GET']\ntransport = 'http'", "files http @ l", "not `GET /`"),
        ];
        for (row, name, reason) in table {
            let text = format!("{LOAD}[[load]]\nname = 'm'\nrun = ['-c', '101']\n[[row]]\n{row}\n");
            let left_out = made(&text, false, &[]).unwrap().left_out;
            assert_eq!(left_out.len(), 1, "{row}: {left_out:?}");
            assert_eq!(left_out[0].name, name, "{row}");
            assert!(left_out[0].reason.contains(reason), "{row}: {left_out:?}");
        }
        let row = "server = 'files'\nrun = ['--method', 'GET']\npath = '/64'\ntransport = 'http'";
        let left_out = made(&format!("{LOAD}[[row]]\n{row}\n"), false, &[]).unwrap().left_out;
        assert!(left_out.is_empty(), "{left_out:?}");
    }

    #[test]
    fn rows_are_compared_with_the_row_that_they_name_under_the_same_load() {
        let text = format!(
            "{LOAD}[[row]]\nname = 'a'\nserver = 'plain'\ntransport = 'ws'\n\
             [[row]]\nname = 'b'\nserver = 'replying'\ntransport = 'ws'\nbase = 'a'\nlayer = {{ over = 'a', adds = 'x' }}\n"
        );
        let matrix = made(&text, false, &[]).unwrap();
        assert_eq!(
            (matrix.cells[2].base, matrix.cells[2].layer.clone()),
            (Some(1), Some((1, "x".to_owned())))
        );
        // Without that row there is row zero, and no layer.
        let alone = made(&text, false, &["b"]).unwrap();
        assert_eq!(names(&alone), ["tcp", "b"]);
        assert_eq!((alone.cells[1].base, alone.cells[1].layer.clone()), (Some(0), None));
    }

    #[test]
    fn what_makes_no_sense_is_named_with_its_place() {
        #[rustfmt::skip]
        let table = [
            ("server = 'nobody'\ntransport = 'ws'",                   "x.toml:6:10: there is no subject `nobody`"),
            ("server = 'library'\ntransport = 'ws'",                  "x.toml:6:10: `library` is a client, no server"),
            ("server = 'plain'\ntransport = 'pigeon'",                "x.toml:7:13: no transport is called `pigeon`; there are tcp,"),
            ("server = 'plain'\ntransport = 'ws'\nbase = 'another'",  "x.toml:8:8: no row is called `another`"),
            ("server = ['plain', 'plain']\ntransport = 'ws'",         "x.toml: two cells are called `plain ws`"),
        ];
        for (row, problem) in table {
            let error =
                made(&format!("{LOAD}\n[[row]]\n{row}\n").replacen("\n\n", "\n", 1), false, &[])
                    .unwrap_err();
            assert!(error.contains(problem), "{row}: {error}");
        }
        let text = format!("{LOAD}[[row]]\nserver = 'plain'\ntransport = 'ws'\n");
        assert!(made(&text, false, &["none"]).unwrap_err().contains("--only"));
    }

    #[test]
    fn a_block_ends_after_its_time_unless_the_options_say_more() {
        let text = "text = true\nreply = 'Pong'\nrun = ['--payload', 'Ping']\n[[load]]\nname = 'l'\n\
            [[load]]\nname = 'm'\nrun = ['-n', '9']\n[[row]]\nserver = 'replying'\ntransport = 'wss'\n";
        let matrix = made(text, false, &[]).unwrap();
        let words: Vec<String> = matrix.cells.iter().map(|cell| cell.words.join(" ")).collect();
        assert_eq!(
            words[0],
            "--payload Ping --expect Pong --duration 1000000000ns --warm-up 200000000ns"
        );
        assert_eq!(words[1], "--payload Ping -n 9 --expect Pong");
        assert_eq!(words[3], "--payload Ping -n 9 --text --expect Pong --insecure");
        assert_eq!(matrix.cells[3].reply.as_deref(), Some("Pong"));
    }
}
