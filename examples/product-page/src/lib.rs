//! A product page that stays honest while what it is made of fails.
//!
//! - The **price** is fresh or missing, and without it nothing is sold.
//! - **Recommendations** are the buyer's, else the best-seller list, marked as such; an operator can leave them out.
//! - **Reviews** are fresh, else the last ones with their age, else a notice.
//! - A **visit** that cannot be counted now is kept and counted later.
//!
//! `cargo run -p product-page` shows the page in each of these situations.

pub mod far;
pub mod page;
mod parts;

/// The examples of the page on choosing what the caller gets; they are compiled with this package's policy.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/choosing.md")]
pub struct Choosing;
