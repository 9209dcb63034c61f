//! The policy file as operators, editors and deployments really treat it, on a real disk and in real time: saved,
//! swapped, cut, emptied, removed, taken away. Each case runs in processes of its own, because a process is set up
//! once; what is waited for is a condition with a bound, never a time.

mod by_hand;
mod cut;
mod gone;
mod odd;
mod own;
mod refused;
mod saved;
mod saves;
mod stand;

#[path = "../kit/events.rs"]
mod events;
