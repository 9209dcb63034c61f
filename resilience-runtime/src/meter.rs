//! What is counted goes to the recorder of the `metrics` crate, behind the feature of that name; without it nothing of
//! this is compiled in, and a call takes no instruction more.
//!
//! Metrics are no second set of books: every series is read from the counts that the snapshot reads. A call that ends
//! brings its dependency's series up to date, so that whoever looks next sees it. Above [`HOT`] calls a second of one
//! dependency that would cost more than the calls, so its good calls leave it to a thread that comes by four times a
//! second, as long as there is one.

#[cfg(feature = "metrics")]
mod figures;
#[cfg(not(feature = "metrics"))]
#[path = "meter/off.rs"]
mod switched;
#[cfg(feature = "metrics")]
#[path = "meter/on.rs"]
mod switched;
#[cfg(any(feature = "metrics", all(test, resilience_loom)))]
mod turns;

#[cfg(feature = "metrics")]
pub(crate) use figures::{COUNTERS, Figures, GAUGES, Series, counter_series, gauge_series};
pub(crate) use switched::{Meter, after, tell};
#[cfg(feature = "metrics")]
pub(crate) use switched::{keep, refresh, retire};
