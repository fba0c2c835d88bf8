//! The checks of servers that the run starts: each listens where no other does, and two sides are compared under one
//! load.

use super::{Cell, Cells};
use crate::{Address, Server, Started};
use toml::Spanned;

impl Cells<'_> {
    /// Refuses a program that would listen where another server does, and two sides that are not compared under one
    /// load.
    pub(super) fn check_sides(&self) -> Result<(), String> {
        for cell in &self.made {
            let Server::Started(started) = &cell.workload.server else { continue };
            let keys = cell.row.map(|row| &row.keys);
            let at = |place: Option<&Spanned<String>>, text: String| match place {
                Some(place) => self.at(place, text),
                None => text,
            };
            let problem = |text: String| at(keys.and_then(|keys| keys.start.as_ref()), text);
            if started.command.trim().is_empty() {
                return Err(problem("start: there is no command to run".to_owned()));
            }
            let is_part = |text: &str| !text.is_empty() && !text.contains(['\n', '\r']);
            if let Some(text) = started.ready_line.as_ref().filter(|text| !is_part(text)) {
                let place = keys.and_then(|keys| keys.ready_line.as_ref());
                return Err(at(
                    place,
                    format!(
                        "ready-line: {text:?} is not part of a line; name words that the program prints when it is ready"
                    ),
                ));
            }
            match (&started.url.address, started.takes_port()) {
                (Address::Unix(_), true) => {
                    return Err(problem(format!(
                        "start: {} has no port to replace with {}; name the socket in the command",
                        started.url,
                        Started::PORT
                    )));
                }
                (_, true) => {}
                (address, false) => {
                    let is_another = |other: &&Cell<'_>| is_there(other, started, address);
                    if let Some(other) = self.made.iter().find(is_another) {
                        return Err(problem(format!(
                            "start: row `{}` listens at {} too, and two programs cannot share it; let each have a free \
                             port: write {} in the command, instead of the port",
                            other.row_name,
                            started.url,
                            Started::PORT
                        )));
                    }
                }
            }
        }
        let is_of_sides = self.file.is_url() && self.file.baseline.is_some();
        match self.made.len() {
            0..=2 => Ok(()),
            _ if !is_of_sides => Ok(()),
            count => Err(self.file.named(&format!(
                "bots: {} loads were asked for, and two sides are compared under one; name one count",
                count / 2
            ))),
        }
    }
}

/// True if the server of `cell` is another one that listens at `address`.
fn is_there(cell: &Cell<'_>, started: &Started, address: &Address) -> bool {
    match &cell.workload.server {
        Server::Started(other) => {
            other != started && !other.takes_port() && other.url.address == *address
        }
        Server::Given(url) => url.address == *address,
        Server::Embedded(_) | Server::Subject(_) => false,
    }
}
