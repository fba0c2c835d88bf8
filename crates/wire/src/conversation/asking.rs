//! An HTTP exchange before a connection, made ready.

use super::cookies::Cookies;
use super::request::{Request, Site};
use super::response::{Awaits, Judged};
use super::taking::{Taking, take, takings};
use super::template::Filling;
use super::{CompileError, PeerError};
use crate::contract::Response;
use crate::http1::redirect::Hops;
use spec::conversation::{Before, HttpRequest};
use units::Random;

/// An exchange, ready to be made.
#[derive(Debug)]
pub(super) struct Asking {
    /// Its name in errors.
    pub(super) name: String,
    request: Request,
    awaits: Awaits,
    takes: Vec<Taking>,
}

impl Asking {
    /// All exchanges of a conversation; `names` are those of its values.
    ///
    /// # Errors
    ///
    /// One is beyond a limit, or names a value that nothing gives.
    pub(super) fn all(all: &[Before], names: &[String]) -> Result<Vec<Self>, CompileError> {
        let count = all.len();
        let asking = |(index, before): (usize, &Before)| {
            let Before { request, expect, take } = before;
            let HttpRequest { method, path, .. } = request;
            let number = index + 1;
            Ok(Self {
                name: format!(
                    "exchange {number} of {count} before the connection, {method} {path}"
                ),
                request: Request::new(request, &[], names)?,
                awaits: Awaits::new(expect.as_ref(), None)?,
                takes: takings(take, names),
            })
        };
        all.iter().enumerate().map(asking).collect()
    }

    /// The request of a connection: head and body.
    pub(super) fn request(
        &self,
        site: &Site,
        cookies: &Cookies,
        filling: Filling<'_>,
        random: &mut Random,
    ) -> Vec<u8> {
        let mut request = Vec::new();
        self.request.write(site, cookies, filling, random, &mut request);
        request
    }

    /// Takes the values of a response. False if it is a redirect that is followed.
    ///
    /// # Errors
    ///
    /// The response is not the expected one, lacks a value, or is a redirect that cannot be followed.
    pub(super) fn answered(
        &self,
        response: &Response<'_>,
        site: &Site,
        cookies: &Cookies,
        hops: &mut Hops,
        values: &mut [Box<[u8]>],
    ) -> Result<bool, PeerError> {
        match self.awaits.judge(response, 0) {
            Judged::Expected => {
                take(&self.takes, &self.name, response.body, Some(response), values)?;
                Ok(true)
            }
            Judged::Status if self.follow(response, site, cookies, hops)? => Ok(false),
            judged @ (Judged::Refused | Judged::Status | Judged::Body) => {
                Err(self.awaits.error(&self.name, response, judged))
            }
        }
    }

    fn follow(
        &self,
        response: &Response<'_>,
        site: &Site,
        cookies: &Cookies,
        hops: &mut Hops,
    ) -> Result<bool, PeerError> {
        self.request.follow(response, site, cookies, hops).map_err(|error| {
            let step = self.name.clone();
            PeerError::Http { step, error: error.into() }
        })
    }

    /// The most redirects that are followed.
    pub(super) fn redirects(&self) -> u8 {
        self.request.redirects
    }

    /// The response that is awaited, in words.
    pub(super) fn expected(&self) -> &str {
        &self.awaits.expected
    }
}
