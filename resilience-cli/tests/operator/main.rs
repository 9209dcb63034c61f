//! What operators and their tools see of the command.

mod annotations;
mod exit_codes;
mod explain;
#[path = "../kit/mod.rs"]
mod kit;
mod manual;
mod overriding;
mod status;
mod tour;
