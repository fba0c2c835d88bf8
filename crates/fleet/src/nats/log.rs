//! The log: a stream in which each subject can be written once.

use super::connection::{ConnectError, Connection};
use crate::bus::{OPERATION_MAX, Put};
use crate::join::{Join, Role};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::stream::{
    Config, DirectGetErrorKind, DiscardPolicy, StorageType, Stream,
};
use async_nats::jetstream::{self, ErrorCode};
use std::time::Duration;

/// The log of all runs of a fleet.
pub(super) struct Log {
    context: jetstream::Context,
    stream: Stream<()>,
}

impl Log {
    /// The subject of requests for the next entry of a run.
    pub(super) const NEXT: &str = "$JS.API.DIRECT.GET.WB";

    /// Opens the log; a controller creates it if there is none.
    ///
    /// # Errors
    ///
    /// There is none, or it is unsuitable, e.g. its subjects could be written twice.
    pub(super) async fn open(connection: &Connection, join: &Join) -> Result<Self, ConnectError> {
        let mut denied = connection.denied.subscribe();
        tokio::select! {
            opened = Self::opened(connection, join.role == Role::Controller) => opened,
            Ok(refusal) = denied.recv() => {
                let (url, name) = (join.url.clone(), join.name.to_string());
                Err(ConnectError::Denied { url, name, refusal })
            }
        }
    }

    async fn opened(connection: &Connection, makes: bool) -> Result<Self, ConnectError> {
        let mut context = jetstream::new(connection.client.clone());
        context.set_timeout(OPERATION_MAX.into());
        let url = || connection.url();
        if makes {
            let made = context.get_or_create_stream(config()).await;
            let made = made.map_err(|error| ConnectError::LogNotCreated {
                url: url(),
                stream: STREAM,
                error: error.to_string(),
            })?;
            if let Some(fault) = fault(&made.cached_info().config) {
                return Err(ConnectError::OtherLog { url: url(), stream: STREAM, fault });
            }
        }
        let stream = context.get_stream_no_info(STREAM).await;
        let stream = stream.map_err(|_| ConnectError::NoLog { url: url(), stream: STREAM })?;
        let log = Self { context, stream };
        if !makes {
            // No run has this plan: a stream answers that it has none, and without a stream nobody answers.
            let asked = log.stream.direct_get_last_for_subject("wb.log.none.plan").await;
            if let Err(error) = asked
                && error.kind() != DirectGetErrorKind::NotFound
            {
                return Err(ConnectError::NoLog { url: url(), stream: STREAM });
            }
        }
        Ok(log)
    }

    /// Writes a subject that should have no value yet.
    pub(super) async fn put(&self, subject: String, bytes: Vec<u8>) -> Put {
        let Ok(published) = self.context.publish(subject, bytes.into()).await else {
            return Put::TimedOut;
        };
        match published.await {
            Ok(_) => Put::Done,
            Err(error) => {
                let is_refused = error.kind() == PublishErrorKind::Other && is_full(&error);
                if is_refused { Put::Refused } else { Put::TimedOut }
            }
        }
    }

    /// The subject of the request that [`Log::read`] sends.
    pub(super) fn read_subject(subject: &str) -> String {
        format!("{}.{subject}", Self::NEXT)
    }

    /// The value of a subject: `Some(None)` if it has none, `None` if that is unknown.
    pub(super) async fn read(&self, subject: &str) -> Option<Option<Vec<u8>>> {
        match self.stream.direct_get_last_for_subject(subject).await {
            Ok(message) => Some(Some(message.payload.to_vec())),
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => Some(None),
            Err(_) => None,
        }
    }

    /// The first entry under `filter` from `sequence` on, with its number and subject: `Some(None)` if there is none,
    /// `None` if that is unknown.
    pub(super) async fn next(
        &self,
        filter: &str,
        sequence: u64,
    ) -> Option<Option<(u64, String, Vec<u8>)>> {
        match self.stream.direct_get_next_for_subject(filter, Some(sequence)).await {
            Ok(message) => Some(Some((
                message.sequence,
                message.subject.to_string(),
                message.payload.to_vec(),
            ))),
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => Some(None),
            Err(_) => None,
        }
    }
}

/// True if a stream accepts nothing more under a subject, or nothing more at all: it has one error code for both.
fn is_full(error: &PublishError) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<jetstream::Error>() {
            return error.error_code() == ErrorCode::STREAM_STORE_FAILED;
        }
        source = error.source();
    }
    false
}

fn config() -> Config {
    Config {
        name: STREAM.to_owned(),
        description: Some(
            "wirebench: plans, steps and results; each subject is written once".to_owned(),
        ),
        subjects: vec!["wb.log.>".to_owned()],
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        deny_delete: true,
        deny_purge: true,
        allow_direct: true,
        max_age: KEPT,
        max_bytes: SIZE_MAX,
        storage: StorageType::File,
        num_replicas: 1,
        ..Config::default()
    }
}

/// The reason why a stream cannot be the log.
fn fault(config: &Config) -> Option<String> {
    let is_once = config.max_messages_per_subject == 1
        && config.discard == DiscardPolicy::New
        && config.discard_new_per_subject;
    if !is_once {
        return Some("can be written twice under one subject".to_owned());
    }
    if !config.deny_delete || !config.deny_purge {
        return Some("allows entries to be deleted".to_owned());
    }
    if !config.allow_direct {
        return Some("cannot be read directly".to_owned());
    }
    None
}

const STREAM: &str = "WB";
/// The time for which entries are kept: a week.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// The largest log, in bytes: a gibibyte, which is a thousand runs of a hundred blocks.
const SIZE_MAX: i64 = 1 << 30;
