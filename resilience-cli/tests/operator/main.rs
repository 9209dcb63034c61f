//! What operators and their tools see of the command.

mod annotations;
mod desk;
mod exit_codes;
mod explain;
mod manual;
mod overriding;
mod status;
mod tour;
