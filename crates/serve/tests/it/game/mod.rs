//! The game server from outside: bots, and clients that do what no bot does.

mod bad_input;
mod bots;
mod comet;
mod conservation;
mod fronts;
mod queues;
mod stage;
mod transports;
