//! The protocol that each address of a game server speaks.

use super::options::{Door, Packing};
use std::sync::Arc;
use units::Bytes;
use wire::http1::{self, Site};
use wire::tls::Tls;
use wire::web::{self, Web};
use wire::{Connection, styx, websocket};

/// Makes our end of each connection.
#[derive(Debug)]
pub(super) struct Machines {
    styx: styx::Limits,
    web: Arc<web::Options>,
}

impl Machines {
    /// Machines that read frames, texts and bodies up to this length.
    pub(super) fn new(message_max: Bytes) -> Self {
        let message_max = usize::try_from(message_max.0).unwrap_or(usize::MAX);
        let frame_len_max = u32::try_from(message_max).unwrap_or(u32::MAX);
        let site = Site {
            posts: COMET_PATH.to_owned(),
            socket: SOCKET_PATH.to_owned(),
            content_type: "application/json;charset=UTF-8".to_owned(),
        };
        let web = web::Options {
            site: Some(Arc::new(site)),
            http: http1::Limits { body_len_max: message_max, ..http1::Limits::default() },
            handshake: Arc::default(),
            websocket: websocket::Limits {
                frame_len_max: message_max,
                message_len_max: message_max,
                ..websocket::Limits::default()
            },
        };
        Self { styx: styx::Limits { frame_len_max }, web: Arc::new(web) }
    }

    /// Our end of a connection that was just accepted.
    pub(super) fn machine(&self, door: &Door) -> Connection {
        let plain = match door.speaks {
            Packing::Binary => styx::frames(self.styx).into(),
            Packing::Web => Web::new(Arc::clone(&self.web)).into(),
        };
        match &door.tls {
            Some(sessions) => Tls::server(sessions, plain).into(),
            None => plain,
        }
    }
}

/// The path of the WebSocket endpoint.
pub const SOCKET_PATH: &str = "/socket";

/// The path of the Bayeux endpoint; paths below it are treated the same.
pub const COMET_PATH: &str = "/cometd";
