//! What operators and their tools see of the command.

mod annotations;
mod desk;
mod explain;
mod status;
