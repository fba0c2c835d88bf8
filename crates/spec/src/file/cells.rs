//! Turns rows and loads into workloads: which server is measured with which client, over which transport, under which
//! load, and what is left out.

mod rounds;
mod sides;

use super::description::{Asked, BLOCK, File, Quick, Row, RowKeys, Words};
use super::subject_conversations::{Held, measured};
use crate::conversation::of_our_relay;
use crate::secrets::url_without_secrets;
use crate::{
    AxisOf, Carries, ClientSubject, Context, Criteria, Embedded, Endpoint, Experiment, Layer,
    LeftOut, Options, Order, Protocol, Scheme, Server, ServerSubject, Workload,
};
use std::collections::BTreeSet;
use toml::Spanned;
use units::{Count, Nanos};

/// The facts of a subject's manifest that an experiment needs.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The schemes that it speaks.
    pub speaks: Vec<String>,
    /// The conversations that a server holds instead of echoing; of a client, those in whose rooms it receives. A
    /// client that has any sends nothing.
    pub conversations: Vec<Held>,
    /// True if it can be asked to answer with a text other than the message.
    pub replies: bool,
    /// True if it can be asked to keep its processor busy for each message.
    pub works: bool,
    /// True if it accepts only text messages.
    pub text_only: bool,
    /// The maximum number of connections that it accepts.
    pub connections_max: Option<u64>,
    /// The reason for these limits.
    pub why: String,
}

/// The role of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends.
    Client,
    /// It answers.
    Server,
}

/// The subjects that are available.
pub trait Subjects {
    /// The subject called `name`; the inner error is the reason why it cannot take part: its manifest is broken.
    ///
    /// # Errors
    ///
    /// Nothing has this name; the message has the one that was perhaps meant.
    fn find(&self, name: &str) -> Result<Result<Facts, String>, String>;

    /// Makes sure that a subject is installed.
    ///
    /// # Errors
    ///
    /// The reason why it is not.
    fn ready(&self, name: &str) -> Result<(), String>;

    /// The reason why a server does not answer HTTP requests with this method and path; `None` if it does.
    fn refusal(&self, name: &str, method: &str, path: &str) -> Option<String>;
}

impl File {
    /// The experiment of the available subjects, with everything resolved.
    ///
    /// # Errors
    ///
    /// The first problem, with its place in the file where it has one.
    pub fn experiment(
        &self,
        asked: &Asked,
        subjects: &dyn Subjects,
        context: &Context<'_>,
    ) -> Result<Experiment, String> {
        let axis = self.axis(asked).map_err(|problem| self.named(&problem))?;
        let criteria = asked.criteria.clone().over(self.criteria.clone());
        let quick = self.quick(asked);
        let is_url = self.is_url();
        let mut cells = Cells {
            file: self,
            asked,
            criteria,
            quick,
            subjects,
            context,
            axis,
            made: Vec::new(),
            left_out: Vec::new(),
            known: BTreeSet::new(),
        };
        let compares = cells.axis.is_none() && (!is_url || self.baseline.is_some());
        if compares && self.baseline.is_none() {
            cells.loads().into_iter().try_for_each(|load| cells.row_zero(load))?;
        }
        for row in &self.rows {
            cells.row(row)?;
        }
        cells.check_only()?;
        cells.check_first_load()?;
        cells.experiment(compares)
    }
}

/// Workloads that are being made.
struct Cells<'a> {
    file: &'a File,
    asked: &'a Asked,
    /// The criteria that are asked for, or those of the file.
    criteria: Criteria,
    quick: Option<Quick>,
    subjects: &'a dyn Subjects,
    context: &'a Context<'a>,
    axis: Option<crate::Axis>,
    made: Vec<Cell<'a>>,
    left_out: Vec<LeftOut>,
    /// The names of all rows and participants, asked for or not.
    known: BTreeSet<String>,
}

/// A workload, with its row and its load.
struct Cell<'a> {
    /// `None`: row zero.
    row: Option<&'a Row>,
    load: Option<usize>,
    /// The name without that of the load.
    row_name: String,
    workload: Workload,
}

/// A participant of a cell; `Err`: the reason why it cannot take part.
struct Part<'a> {
    name: &'a str,
    facts: Result<Option<Facts>, String>,
}

impl<'a> Cells<'a> {
    /// The loads that are kept: `None` where the file has none.
    fn loads(&self) -> Vec<Option<usize>> {
        if self.file.loads.is_empty() {
            return vec![None];
        }
        let wanted = self.quick.as_ref().and_then(|quick| quick.loads.as_ref());
        let is_kept = |load: &usize| {
            let name = self.file.loads[*load].name.get_ref();
            wanted.is_none_or(|wanted| wanted.get_ref().0.contains(name))
        };
        (0..self.file.loads.len()).filter(is_kept).map(Some).collect()
    }

    /// Adds row zero: raw TCP between wirebench's own client and server.
    fn row_zero(&mut self, load: Option<usize>) -> Result<(), String> {
        let server = Server::Embedded(Embedded {
            reply: self.file.reply.clone(),
            work: self.work(None, load),
            ..Protocol::Tcp.plain().into()
        });
        self.add(None, load, ROW_ZERO, &server, None, None)
    }

    /// Adds the product of everything that a row names, as far as manifests allow it. A subject without a cell in it is
    /// listed as left out.
    fn row(&mut self, row: &'a Row) -> Result<(), String> {
        let name = row.keys.name.as_ref().map(|name| name.get_ref().as_str());
        let quick_rows = self.quick.as_ref().and_then(|quick| quick.rows.as_ref());
        let usual = quick_rows.or(self.file.usual.as_ref()).filter(|_| !self.asked.all);
        if let (Some(rows), Some(name)) = (usual, name)
            && !rows.0.iter().any(|row| row == name)
            && self.asked.only.is_empty()
        {
            return Ok(());
        }
        if let Some(url) = &row.keys.url {
            let endpoint: Endpoint = url.get_ref().parse().map_err(|error| self.at(url, error))?;
            let unnamed = url_without_secrets(url.get_ref());
            let name = name.unwrap_or(&unnamed);
            let server = row.server(name, endpoint);
            self.known.insert(name.to_owned());
            if !self.is_asked_for(name, name, name) {
                return Ok(());
            }
            return self
                .of_loads(row)
                .into_iter()
                .try_for_each(|load| self.add(Some(row), load, name, &server, None, None));
        }
        let (Some(servers), Some(transports)) = (&row.keys.server, &row.keys.transport) else {
            unreachable!("the row was checked when it was read");
        };
        let ourselves = Words(vec![OURSELVES.to_owned()]);
        let server = self.parts(servers, servers.get_ref(), EMBEDDED, Role::Server)?;
        let client = match &row.keys.client {
            Some(client) => self.parts(client, client.get_ref(), OURSELVES, Role::Client)?,
            None => self.parts(servers, &ourselves, OURSELVES, Role::Client)?,
        };
        let schemes = self.schemes(transports)?;
        let (mut missed, mut seen) = (Vec::new(), Vec::new());
        for server in &server {
            for client in &client {
                for scheme in &schemes {
                    let name = called(row, server.name, client.name, *scheme);
                    self.known.extend([name.as_str(), server.name, client.name].map(str::to_owned));
                    if !self.is_asked_for(&name, server.name, client.name) {
                        continue;
                    }
                    let held = self.possible(row, [server, client], *scheme).and_then(|both| {
                        let held = self.held(row, &both, *scheme)?;
                        Ok((both, held))
                    });
                    let (both, held) = match held {
                        Ok(possible) => possible,
                        Err(left) => {
                            missed.push(left);
                            continue;
                        }
                    };
                    seen.extend([server.name.to_owned(), client.name.to_owned()]);
                    let is_named = row.keys.name.is_some() && held.len() == 1;
                    for conversation in held {
                        let name = match &conversation {
                            Some(held) if !is_named => format!("{name} {}", held.name),
                            Some(_) | None => name.clone(),
                        };
                        self.cells_of(row, &name, &both, *scheme, conversation.as_ref())?;
                    }
                }
            }
        }
        for left in missed {
            let is_known = self.left_out.iter().any(|known| known.name == left.name);
            if !is_known && !seen.contains(&left.name) {
                self.left_out.push(left);
            }
        }
        Ok(())
    }

    /// The conversations with which the two are measured; an entry is `None` where the options alone decide what is
    /// sent.
    fn held(
        &self,
        row: &Row,
        both: &[Option<Facts>; 2],
        scheme: Scheme,
    ) -> Result<Vec<Option<Held>>, LeftOut> {
        let left = |facts: &Facts, reason| LeftOut { name: facts.name.clone(), reason };
        let receivers = both[1].as_ref().filter(|client| !client.conversations.is_empty());
        if let Some(receivers) = receivers {
            return self.held_by_receivers(row, both[0].as_ref(), receivers, scheme);
        }
        let [Some(server), client] = both else { return Ok(vec![None]) };
        let held = measured(
            &server.conversations,
            scheme,
            self.conversation_of(row),
            self.is_in_rooms(row),
        );
        let held = held.map_err(|reason| left(server, reason))?;
        if let (Some(client), Some(Some(held))) = (client, held.first()) {
            let (name, held) = (&server.name, &held.name);
            let reason =
                format!("it sends echoes, and {name} holds the conversation {held} over {scheme}");
            return Err(left(client, reason));
        }
        Ok(held.into_iter().map(|held| held.cloned()).collect())
    }

    /// The conversations of wirebench's relay for a client that only receives in its rooms.
    fn held_by_receivers(
        &self,
        row: &Row,
        server: Option<&Facts>,
        receivers: &Facts,
        scheme: Scheme,
    ) -> Result<Vec<Option<Held>>, LeftOut> {
        let left = |reason| LeftOut { name: receivers.name.clone(), reason };
        if let Some(server) = server {
            let name = &server.name;
            return Err(left(format!("it receives only from our relay, not from {name}")));
        }
        if !self.is_in_rooms(row) {
            let reason = "it receives what is published in rooms, and sends nothing: ask for rooms, as with \
                          publish = '10/s'";
            return Err(left(reason.to_owned()));
        }
        let known = of_our_relay(scheme.protocol);
        let known: Vec<Held> =
            receivers.conversations.iter().filter(|it| it.name == known).cloned().collect();
        if known.is_empty() {
            return Err(left(format!("it knows no rooms of our relay over {scheme}")));
        }
        let held = measured(&known, scheme, self.conversation_of(row), true).map_err(left)?;
        Ok(held.into_iter().map(|held| held.cloned()).collect())
    }

    /// The conversation that a row is asked to hold.
    fn conversation_of<'b>(&'b self, row: &'b Row) -> Option<&'b str> {
        let own = row.options.conversation.as_deref();
        own.or(self.file.options.conversation.as_deref())
    }

    /// True if a row has rooms under any load.
    fn is_in_rooms(&self, row: &Row) -> bool {
        let of_loads = self.file.loads.iter().map(|load| &load.options);
        let mut options = of_loads.chain([&row.options, &self.file.options]);
        options.any(|options| options.publish.is_some())
    }

    /// The loads of a row.
    fn of_loads(&self, row: &Row) -> Vec<Option<usize>> {
        let is_named = |load: &Option<usize>| {
            let name = load.map(|load| self.file.loads[load].name.get_ref());
            let named = row.keys.load.as_ref();
            named.is_none_or(|named| name.is_some_and(|name| named.get_ref().0.contains(name)))
        };
        self.loads().into_iter().filter(is_named).collect()
    }

    /// Adds a cell for each load of a row. A load that the participants cannot serve is left out.
    fn cells_of(
        &mut self,
        row: &'a Row,
        name: &str,
        both: &[Option<Facts>; 2],
        scheme: Scheme,
        conversation: Option<&Held>,
    ) -> Result<(), String> {
        let client = both[1].as_ref();
        for load in self.of_loads(row) {
            let reply = self.reply(row).map(str::to_owned);
            let work = self.work(Some(row), load);
            let server = match &both[0] {
                None => {
                    let options = row.keys.serve_options.clone();
                    Server::Embedded(Embedded { scheme, options, reply, work })
                }
                Some(facts) => {
                    let (name, path) = (facts.name.clone(), row.keys.path.clone());
                    let cpus = row.keys.server_cpus.as_ref().map(|cpus| *cpus.get_ref());
                    let cpus = cpus.or(self.file.server_cpus);
                    Server::Subject(ServerSubject { name, scheme, path, reply, work, cpus })
                }
            };
            let before = self.made.len();
            self.add(Some(row), load, name, &server, client, conversation)?;
            let connections = self.made[before..]
                .iter()
                .map(|cell| u64::from(cell.workload.load.connections().get()))
                .max()
                .unwrap_or(0);
            let is_request = scheme.facts().carries == Carries::Requests;
            let method = self.made.get(before).map(|cell| cell.workload.http.method.as_str());
            let refusal =
                both[0].as_ref().zip(method.filter(|_| is_request)).and_then(|(facts, method)| {
                    let path = row.keys.path.as_deref().unwrap_or("/");
                    let refusal = self.subjects.refusal(&facts.name, method, path)?;
                    Some(format!("{}: {refusal}", facts.name))
                });
            let misfit = both.iter().flatten().find_map(|facts| too_many(facts, connections));
            let misfit = misfit.or(refusal).or_else(|| {
                work.and_then(|work| cannot_work(&both[0], work, scheme, conversation))
            });
            if let Some(reason) = misfit {
                self.made.truncate(before);
                self.left_out.push(LeftOut { name: self.full_name(name, load), reason });
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        row: Option<&'a Row>,
        load: Option<usize>,
        name: &str,
        server: &Server,
        client: Option<&Facts>,
        conversation: Option<&Held>,
    ) -> Result<(), String> {
        let of_subject = Options {
            conversation: conversation.map(|held| held.asked.clone()),
            ..Options::default()
        };
        let options = of_subject.over(self.options(row, load, server));
        let full_name = self.full_name(name, load);
        let workloads = options.workloads(&full_name, server, self.context);
        let workloads = workloads.map_err(|problem| {
            let place = row.and_then(|row| row.keys.name.as_ref()).map_or_else(
                || format!("{}: {full_name}: ", self.file.source.name),
                |name| self.at(name, ""),
            );
            match self.file.is_url() {
                true => self.file.named(&problem.to_string()),
                false => format!("{place}{problem}"),
            }
        })?;
        for workload in workloads {
            if let (Some(client), Some(conversation)) = (client, &workload.conversation)
                && client.conversations.is_empty()
            {
                return Err(format!(
                    "{}: {full_name}: `{}` sends echoes; the conversation `{}` needs wirebench as the client",
                    self.file.source.name, client.name, conversation.name
                ));
            }
            let host = row.and_then(|row| row.keys.host.clone());
            let client = client.map(|client| ClientSubject { name: client.name.clone(), host });
            let workload = Workload { client, ..workload };
            self.made.push(Cell { row, load, row_name: name.to_owned(), workload });
        }
        Ok(())
    }

    /// The options of a cell, in order of precedence: those asked for, the quick ones, those of the row, those of the
    /// load and of the file where they mean something to the protocol, the defaults.
    fn options(&self, row: Option<&Row>, load: Option<usize>, server: &Server) -> Options {
        let load = load.map(|load| &self.file.loads[load]);
        let of_load = load.map_or_else(Options::default, |load| {
            load.quick.as_ref().filter(|_| self.asked.quick).unwrap_or(&load.options).clone()
        });
        let reply = row.map_or(self.file.reply.as_deref(), |row| self.reply(row));
        let expect = reply.filter(|_| server.is_ours()).map(str::to_owned);
        let of_reply = Options { expect, ..Options::default() };
        let common =
            of_load.over(self.file.options.clone()).over(of_reply).where_it_applies(server);
        let quick = self.quick.as_ref().map(|quick| quick.options.clone()).unwrap_or_default();
        let quick = quick.where_it_applies(server);
        let named = row.map(|row| row.options.clone()).unwrap_or_default().over(common);
        // A load that defines the end of its blocks keeps that end in a quick run.
        let quick = if named.messages.is_some() || named.clients.is_some() {
            Options { duration: None, ..quick }
        } else {
            quick
        };
        let options = self.asked.options.clone().over(quick).over(named);
        let options = match &self.axis {
            Some(axis) => of_axis(options, axis),
            None => options,
        };
        self.with_usual(options)
    }

    /// The options, with the usual end of a block and the usual warm-up where they are not set.
    fn with_usual(&self, options: Options) -> Options {
        if self.file.is_url() && self.file.baseline.is_none() && self.axis.is_none() {
            return options;
        }
        let (block, warm_up, drain) = match (&self.axis, self.asked.quick) {
            (None, _) => (BLOCK, WARM_UP, None),
            (Some(_), false) => (AXIS_BLOCK, AXIS_SETTLE, Some(AXIS_DRAIN)),
            (Some(_), true) => (AXIS_BLOCK_QUICK, AXIS_SETTLE_QUICK, Some(AXIS_DRAIN)),
        };
        if options.messages.is_some() || options.clients.is_some() {
            return options;
        }
        options.over(Options {
            duration: Some(block),
            warm_up: Some(warm_up),
            drain,
            ..Options::default()
        })
    }

    /// Refuses names that were asked for, but that nothing has.
    fn check_only(&self) -> Result<(), String> {
        let Some(only) = self.asked.only.iter().find(|only| !self.known.contains(*only)) else {
            return Ok(());
        };
        let near = |known: &&String| strsim::jaro_winkler(known, only) > SIMILAR;
        let meant = self.known.iter().find(near).map_or_else(
            || format!("there are {}", self.known.iter().cloned().collect::<Vec<_>>().join(", ")),
            |known| format!("did you mean '{known}'?"),
        );
        let name = &self.file.source.name;
        Err(format!("{name}: it has nothing called `{only}`, which --only names; {meant}"))
    }

    /// Refuses a first load so small that 1 % of a block is less than one message.
    fn check_first_load(&self) -> Result<(), String> {
        let Some(axis) = &self.axis else { return Ok(()) };
        for cell in &self.made {
            let first = axis.at(&cell.workload, axis.from, 1);
            let first = first.map_err(|problem| self.file.named(&problem.to_string()))?;
            let crate::Stop::After(duration) = first.phases.stop else { continue };
            let due = first.load.due_per_s().unwrap_or(0.0) * duration.as_secs_f64();
            if due < DUE_MIN {
                let more = if axis.of == AxisOf::Receivers { "publish" } else { "from" };
                return Err(self.file.named(&format!(
                    "{more}: the first load, {}, has {due:.0} messages due in a block of {duration}: too few to miss 1 % \
                     of them; ask for --{more} more, or a longer --duration",
                    axis.from
                )));
            }
        }
        Ok(())
    }

    fn full_name(&self, name: &str, load: Option<usize>) -> String {
        match load {
            Some(load) if self.file.loads.len() > 1 => {
                format!("{name} @ {}", self.file.loads[load].name.get_ref())
            }
            _ => name.to_owned(),
        }
    }

    /// The fixed reply of a row's server; `None`: an echo.
    fn reply(&self, row: &'a Row) -> Option<&'a str> {
        let reply = row.keys.reply.as_ref().or(self.file.reply.as_ref());
        reply.map(String::as_str).filter(|reply| !reply.is_empty())
    }

    /// The work of a row's server for each message under a load; `None`: it only answers.
    fn work(&self, row: Option<&Row>, load: Option<usize>) -> Option<Nanos> {
        let of_load = || load.and_then(|load| self.file.loads[load].work);
        let work = row
            .and_then(|row| Some(*row.keys.work.as_ref()?.get_ref()))
            .or_else(of_load)
            .or(self.file.work);
        work.filter(|work| *work > Nanos::ZERO)
    }

    fn experiment(mut self, compares: bool) -> Result<Experiment, String> {
        self.check_sides()?;
        for (index, cell) in self.made.iter().enumerate() {
            if self.made[..index].iter().any(|other| other.workload.name == cell.workload.name) {
                let (file, name) = (&self.file.source.name, &cell.workload.name);
                return Err(format!(
                    "{file}: two rows are called `{name}`; give them a `name` each"
                ));
            }
        }
        let mut layers = Vec::new();
        if compares {
            layers = self.compare()?;
        }
        let is_empty = self.made.iter().all(|cell| cell.row.is_none());
        if is_empty && self.left_out.is_empty() {
            return Err(format!("{}: no row matches --only", self.file.source.name));
        }
        let require = self.require()?;
        let until = self.until()?;
        let rounds = match &until {
            None => self.rounds(compares)?,
            Some(until) => self.rounds_until(until)?,
        };
        let mut axis = self.axis;
        if let Some(axis) = &mut axis {
            let asked = self.asked.options.in_flight_max.or(self.file.options.in_flight_max);
            axis.in_flight_max = asked
                .and_then(|Count(max)| u32::try_from(max).ok())
                .and_then(std::num::NonZeroU32::new);
        }
        let regression_max = self.asked.regression_max.or(self.file.regression_max);
        let problem = self.file.named(
            "max-regression: needs two sides: one row with a `url`, and a `baseline` that is another one",
        );
        let experiment = Experiment {
            version: Experiment::VERSION,
            question: self.file.question.clone(),
            workloads: self.made.into_iter().map(|cell| cell.workload).collect(),
            rounds,
            until,
            require,
            regression_max,
            strict: self.criteria.strict,
            order: match compares || axis.is_some() || rounds > 1 {
                true => Order::Shuffled,
                false => Order::AsListed,
            },
            baseline: compares.then_some(0),
            layers,
            axis,
            seed: self.context.seed,
            public_allowed: self.asked.public_allowed,
            jit_warm_up_max: match self.asked.quick {
                true => JIT_WARM_UP_MAX_QUICK,
                false => Experiment::JIT_WARM_UP_MAX,
            },
            show: self.file.show.clone(),
            published: self.file.published.clone(),
            left_out: self.left_out,
            unknown: Vec::new(),
        };
        match experiment.regression_max.is_some() && experiment.sides().is_none() {
            true => Err(problem),
            false => Ok(experiment),
        }
    }

    /// Sets the workload that each is compared with: under the same load, the row that it names, else the baseline.
    fn compare(&mut self) -> Result<Vec<Layer>, String> {
        let zero = self.file.baseline.as_ref().map_or(ROW_ZERO, |name| name.get_ref());
        let mut layers = Vec::new();
        for index in 0..self.made.len() {
            let (row, load) = (self.made[index].row, self.made[index].load);
            let of_zero = self.position(zero, load).filter(|base| *base != index);
            let Some(row) = row else { continue };
            let base =
                row.keys.base.as_ref().map(|base| self.named(base, load)).transpose()?.flatten();
            // A row that is not measured cannot be compared with.
            self.made[index].workload.baseline = base.filter(|base| *base != index).or(of_zero);
            if let Some(layer) = &row.keys.layer {
                let over = self.named(&layer.over, load)?.filter(|over| *over != index);
                let adds = |base| Layer { workload: index, base, name: layer.adds.clone() };
                layers.extend(over.map(adds));
            }
        }
        Ok(layers)
    }

    /// The workload of a row under a load; `None` if it is not measured. It is an error if the file has no such row.
    fn named(&self, name: &Spanned<String>, load: Option<usize>) -> Result<Option<usize>, String> {
        let found = self.position(name.get_ref(), load);
        let is_known = |row: &Row| match (&row.keys.name, &row.keys.server) {
            (Some(known), _) => name.get_ref().starts_with(known.get_ref().as_str()),
            (None, Some(servers)) => {
                servers.get_ref().0.iter().any(|server| name.get_ref().contains(server.as_str()))
            }
            (None, None) => false,
        };
        if found.is_none() && !self.file.rows.iter().any(is_known) {
            return Err(self.at(name, format_args!("no row is called `{}`", name.get_ref())));
        }
        Ok(found)
    }

    fn position(&self, name: &str, load: Option<usize>) -> Option<usize> {
        self.made.iter().position(|cell| cell.load == load && cell.row_name == name)
    }

    fn is_asked_for(&self, name: &str, server: &str, client: &str) -> bool {
        let only = &self.asked.only;
        let is_baseline =
            self.file.baseline.as_ref().is_some_and(|baseline| baseline.get_ref() == name);
        only.is_empty()
            || is_baseline
            || only.iter().any(|it| [name, server, client].contains(&it.as_str()))
    }

    /// The facts of both, if they can be measured with each other; else the one that cannot take part, and the reason.
    fn possible(
        &self,
        row: &'a Row,
        [server, client]: [&Part<'_>; 2],
        scheme: Scheme,
    ) -> Result<[Option<Facts>; 2], LeftOut> {
        let left = |name: &str, reason: String| LeftOut { name: name.to_owned(), reason };
        let part = |part: &Part<'_>| part.facts.clone().map_err(|reason| left(part.name, reason));
        let both = [part(server)?, part(client)?];
        for facts in both.iter().flatten() {
            let (name, speaks) = (&facts.name, &facts.speaks);
            if !speaks.iter().any(|known| known == scheme.name()) {
                return Err(left(name, format!("it speaks {}, not {scheme}", speaks.join(", "))));
            }
            let options = [&self.file.options, &row.options];
            let is_text = match scheme.facts().carries.is_usually_text() {
                true => options.iter().all(|options| !options.binary),
                false => options.iter().any(|options| options.text),
            };
            if facts.text_only && scheme.facts().carries.has_both() && !is_text {
                let why = &facts.why;
                return Err(left(name, format!("it accepts only text: {why}; set `text = true`")));
            }
        }
        match &both[0] {
            None if self.is_in_rooms(row) && !scheme.facts().has_relay => {
                return Err(left(server.name, format!("our relay does not speak {scheme}")));
            }
            None if self.is_in_rooms(row) => {}
            None if !scheme.facts().has_echo && scheme.facts().carries != Carries::Events => {
                return Err(left(server.name, format!("none of our servers echoes over {scheme}")));
            }
            Some(facts) if self.reply(row).is_some() && !facts.replies => {
                return Err(left(
                    server.name,
                    "it can only echo, and not answer with a fixed reply".to_owned(),
                ));
            }
            _ => {}
        }
        for facts in both.iter().flatten() {
            self.subjects.ready(&facts.name).map_err(|reason| left(&facts.name, reason))?;
        }
        Ok(both)
    }

    /// The participants that a row names.
    fn parts<'b, T>(
        &self,
        place: &Spanned<T>,
        names: &'b Words,
        ours: &str,
        role: Role,
    ) -> Result<Vec<Part<'b>>, String> {
        let part = |name: &'b String| {
            if name == ours {
                return Ok(Part { name, facts: Ok(None) });
            }
            let found = self.subjects.find(name).map_err(|problem| self.at(place, problem))?;
            if let Ok(facts) = &found
                && facts.role != role
            {
                let problem = match role {
                    Role::Server => format!("`{name}` is a client, no server"),
                    Role::Client => format!("`{name}` is a server, no client"),
                };
                return Err(self.at(place, problem));
            }
            Ok(Part { name, facts: found.map(Some) })
        };
        names.0.iter().map(part).collect()
    }

    fn schemes(&self, names: &Spanned<Words>) -> Result<Vec<Scheme>, String> {
        let scheme = |name: &String| {
            Scheme::named(name).ok_or_else(|| {
                let all = Scheme::list(Scheme::all());
                self.at(names, format_args!("no transport is called `{name}`; there are {all}"))
            })
        };
        names.get_ref().0.iter().map(scheme).collect()
    }

    fn at<T>(&self, place: &Spanned<T>, problem: impl std::fmt::Display) -> String {
        match self.file.is_url() {
            true => format!("{}: {problem}", self.file.source.name),
            false => self.file.source.at(place, problem),
        }
    }
}

/// The reason why a server cannot work for a set time; `None` if it can.
fn cannot_work(
    server: &Option<Facts>,
    work: Nanos,
    scheme: Scheme,
    conversation: Option<&Held>,
) -> Option<String> {
    let name = match server {
        Some(facts) if facts.works && conversation.is_none() => return None,
        Some(facts) => &facts.name,
        None if scheme.facts().has_echo && conversation.is_none() => return None,
        None => "embedded",
    };
    Some(format!("{name}: it cannot simulate {work} of work before it answers"))
}

/// The reason why a subject does not accept that many connections; `None` if it does.
fn too_many(facts: &Facts, connections: u64) -> Option<String> {
    let Facts { name, why, .. } = facts;
    let max = facts.connections_max.filter(|max| connections > *max)?;
    Some(format!("{name} takes at most {max} connections: {why}"))
}

/// The options of a line of a sweep at its first load.
fn of_axis(options: Options, axis: &crate::Axis) -> Options {
    let first = match axis.of {
        // A quantity that cannot rise in rooms, or without them, is refused once the first load is known.
        AxisOf::Bots | AxisOf::Connections if options.publish.is_some() => Options::default(),
        AxisOf::Receivers if options.publish.is_none() => Options::default(),
        AxisOf::Bots => Options {
            bots: vec![Count(
                axis.bots_max.map_or(axis.from, |max| axis.from.min(max.get().into())),
            )],
            every: Some(axis.every),
            ..Options::default()
        },
        AxisOf::Receivers => Options { receivers: Some(Count(axis.from)), ..Options::default() },
        AxisOf::Rate if options.publish.is_some() => {
            let rate = axis.rate(axis.from).ok();
            Options { publish: rate.map(Into::into), ..Options::default() }
        }
        AxisOf::Connections | AxisOf::Rate => {
            let rate = axis.rate(axis.from).ok();
            let connections = (axis.of == AxisOf::Connections).then_some(Count(axis.from));
            Options { rate: rate.map(Into::into), connections, ..Options::default() }
        }
    };
    let spacing = options.spacing;
    Options { spacing, ..first.over(options) }
}

/// The name of a row, without its load.
fn called(row: &Row, server: &str, client: &str, scheme: Scheme) -> String {
    let many =
        |words: Option<&Spanned<Words>>| words.is_some_and(|words| words.get_ref().0.len() > 1);
    let RowKeys { server: servers, client: clients, transport, .. } = &row.keys;
    let name = row.keys.name.as_ref().map(|name| name.get_ref().as_str());
    let all = name.is_none();
    let mut words: Vec<&str> = name.into_iter().collect();
    if many(clients.as_ref()) || (all && client != OURSELVES) {
        words.push(client);
        words.extend((all || many(servers.as_ref())).then_some("to"));
    }
    words.extend((all || many(servers.as_ref())).then_some(server));
    words.extend((all || many(transport.as_ref())).then_some(scheme.name()));
    words.join(" ")
}

/// The row of the bare socket that everything is compared with.
const ROW_ZERO: &str = "tcp";
/// The name of wirebench's own server.
const EMBEDDED: &str = "embedded";
/// The name of wirebench's own client.
const OURSELVES: &str = "wirebench";
/// The warm-up before each block; a subject that compiles while it runs has a longer one before its first block.
const WARM_UP: Nanos = Nanos::from_millis(200);
/// The number of messages of which 1 % is one message.
const DUE_MIN: f64 = 100.0;
/// A name whose similarity (Jaro-Winkler) is above this was perhaps meant.
const SIMILAR: f64 = 0.8;
const JIT_WARM_UP_MAX_QUICK: Nanos = Nanos::from_secs(5);
/// The block of a sweep, the warm-up before it, and the wait for late replies, which add no information about it.
const AXIS_BLOCK: Nanos = Nanos::from_secs(2);
const AXIS_SETTLE: Nanos = Nanos::from_secs(1);
const AXIS_BLOCK_QUICK: Nanos = Nanos::from_secs(1);
const AXIS_SETTLE_QUICK: Nanos = Nanos::from_millis(500);
const AXIS_DRAIN: Nanos = Nanos::from_millis(300);
