#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod admin;
mod board;
#[cfg(feature = "record")]
mod calls;
mod card;
mod detail;
mod exposition;
mod feed;
#[cfg(feature = "fleet")]
mod fleet;
mod gate;
mod hand;
mod health;
mod journal;
mod page;
mod series;

pub use admin::{Admin, router};
#[cfg(feature = "fleet")]
#[cfg_attr(docsrs, doc(cfg(feature = "fleet")))]
pub use fleet::{Fleet, FleetError};
pub use gate::WeakToken;
