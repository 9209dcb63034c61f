//! Among ten thousand dependencies.

use resilience_runtime::Runtime;

use super::guarded;
use crate::measure::{Group, Row};
use crate::ours::IDLE;

pub(super) fn group(runtime: &Runtime) -> Group {
    let looked_up = runtime.clone();
    let last = format!("idle-{}", IDLE - 1);
    let rows = vec![
        Row::new("look-up", "ours: runtime.guard(name)", move || {
            looked_up.guard(&last).is_ok()
        }),
        guarded(runtime, "alone-again", "ours: a breaker, called", "alone"),
    ];
    Group {
        title: "Among ten thousand dependencies",
        note: "All rows of ours run among so many.",
        rows,
    }
}
