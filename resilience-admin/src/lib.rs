#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod admin;
mod board;
mod card;
mod detail;
mod exposition;
mod feed;
mod gate;
mod hand;
mod health;
mod journal;
mod page;
mod series;

pub use admin::{Admin, router};
pub use gate::WeakToken;
