//! Rows for a spreadsheet: one a step of time and caller.

use std::io::{self, Write};

use super::Run;
use crate::simulate::report::Second;

const REASONS: [&str; 8] = [
    "open",
    "probes_busy",
    "held",
    "isolated",
    "bulkhead_full",
    "wait_timed_out",
    "timed_out",
    "deadline_exceeded",
];

pub(super) fn print(runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
    let several = runs.len() > 1;
    if several {
        write!(out, "run,")?;
    }
    write!(out, "t,caller,arrived,ok,business,failed,timed_out,rejected")?;
    for reason in REASONS {
        write!(out, ",rejected_{reason}")?;
    }
    write!(
        out,
        ",left,served_primary,served_fallback,served_stale,served_error,reached,probes"
    )?;
    writeln!(out, ",in_flight,waiting,pool_used,pool_waiting,p50_ms,p99_ms")?;
    for run in runs {
        for second in run.report.seconds.rows() {
            if several {
                write!(out, "{},", quoted(&run.title))?;
            }
            row(&second, out)?;
        }
    }
    Ok(())
}

fn row(second: &Second, out: &mut dyn Write) -> io::Result<()> {
    let Second { counts, gauges, .. } = second;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    write!(out, "{},{}", second.t, quoted(&second.caller))?;
    let rejected = counts.rejections();
    for count in [
        counts.arrived,
        counts.ok,
        counts.business,
        counts.failed,
        counts.timed_out,
        rejected,
    ] {
        write!(out, ",{count}")?;
    }
    for reason in REASONS {
        write!(out, ",{}", counts.rejected.get(reason).copied().unwrap_or(0))?;
    }
    let served = counts.served;
    for count in [
        counts.left,
        served.primary,
        served.fallback,
        served.stale,
        served.error,
        counts.reached,
        counts.probes,
        gauges.in_flight,
        gauges.waiting,
        gauges.pool_used,
        gauges.pool_waiting,
    ] {
        write!(out, ",{count}")?;
    }
    writeln!(out, ",{},{}", number(second.p50_ms), number(second.p99_ms))
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
