//! The game world, packet by packet and in virtual time.

mod histories;
mod load_test;
mod lobby;
mod login;
mod patience;
mod seating;
mod size;
mod stage;
mod talk;
