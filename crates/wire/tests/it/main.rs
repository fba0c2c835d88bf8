//! The integration tests of `wire`: protocols seen from outside, a module for each.

mod bayeux;
mod before;
mod conversations;
mod events;
mod game;
mod pair;
mod script;
mod socketio;
mod sockjs;
mod styx;
mod tls;
mod websocket;
