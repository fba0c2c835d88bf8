//! The conversations that come with the program: the files of the folder `conversations`.

use crate::Protocol;

macro_rules! ready_made {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../conversations/", $name, ".toml")))),+]
    };
}

/// The name and the file of each conversation that comes with the program.
pub const READY_MADE: &[(&str, &str)] = &ready_made![
    "actioncable",
    "centrifugo",
    "centrifugo-rooms",
    "graphql-subscription",
    "graphql-ws",
    "json-rpc",
    "mqtt",
    "mqtt-rooms",
    "mqtt-ws",
    "nats",
    "nats-rooms",
    "nats-ws",
    "ndjson",
    "openai-stream",
    "phoenix",
    "redis-rooms",
    "resp",
    "room",
    "room-chunks",
    "room-events",
    "room-longpoll",
    "room-parts",
    "room-socketio",
    "signalr",
    "socketio",
    "sse",
    "stomp",
    "stomp-tcp",
    "wamp"
];

/// The name of the conversation that clients of `wirebench serve relay` use in its rooms over a protocol: the relay's
/// own messages, inside events over Socket.IO.
pub fn of_our_relay(protocol: Protocol) -> &'static str {
    if protocol == Protocol::SocketIo { "room-socketio" } else { "room" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conversation;

    #[test]
    fn every_file_is_read_and_is_for_people() {
        for (name, text) in READY_MADE {
            let read = Conversation::read(name, text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read.name, *name);
            assert!(!read.about.is_empty(), "{name} says what it is");
            assert!(read.about.len() <= 80, "{name}: a line for lists");
            let usage = format!("--conversation {name}");
            assert!(text.starts_with("# ") && text.contains(&usage), "{name} says how it is used");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_in_the_table() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conversations");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort_unstable();
        let mut names: Vec<String> =
            READY_MADE.iter().map(|(name, _)| format!("{name}.toml")).collect();
        names.sort_unstable();
        assert_eq!(files, names);
    }
}
