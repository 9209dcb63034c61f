//! What may happen, done to both.

use std::time::Duration;

use proptest::prelude::*;
use resilience_runtime::testing::{Event, record};
use resilience_runtime::{FailureKind, Mode};

use crate::far::{Answer, Run};
use crate::ledger::Ledger;
use crate::numbers::{Numbers, Source};
use crate::plain::Model;
use crate::real::Real;

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Arrive {
        /// Whose slots it takes. With one it is a call of an annotated function, without one of a guard by hand.
        key: Option<u32>,
        /// Whether the guard is asked for one attempt only.
        once: bool,
        within: Option<u64>,
        runs: Vec<Run>,
    },
    /// Drops one of the calls that are not over.
    Drop(usize),
    /// So many milliseconds pass, one by one.
    Pass(u64),
    /// If nobody is under way: so long that no call counts for the budget.
    Jump,
    Reload(Vec<u8>),
    Mode(Mode),
    Trip,
    Reset,
}

/// What kind of day it is: on a calm one most bodies end well and at once, so that breakers get to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Day {
    Calm,
    Stormy,
}

pub(crate) fn any_step(day: Day) -> impl Strategy<Value = Step> {
    let arrive = (
        prop::option::of(0_u32..3),
        any::<bool>(),
        prop::option::weighted(0.1, prop::sample::select(vec![30_u64, 9])),
        prop::collection::vec(any_run(day), 1..4),
    )
        .prop_map(|(key, once, within, runs)| Step::Arrive {
            key,
            once: once && key.is_none(),
            within,
            runs,
        });
    let seldom = if day == Day::Calm { 1 } else { 3 };
    prop_oneof![
        72 => arrive,
        9 => any::<prop::sample::Index>().prop_map(|at| Step::Drop(at.index(64))),
        36 => prop_oneof![1_u64..10, 10_u64..60].prop_map(Step::Pass),
        3 => Just(Step::Jump),
        2 * seldom => prop::collection::vec(any::<u8>(), 48).prop_map(Step::Reload),
        seldom => prop::sample::select(vec![Mode::Observe, Mode::Isolate, Mode::Off]).prop_map(Step::Mode),
        2 * seldom => Just(Step::Mode(Mode::Enforce)),
        seldom => Just(Step::Trip),
        seldom => Just(Step::Reset),
    ]
}

fn any_run(day: Day) -> impl Strategy<Value = Run> {
    let kinds = vec![
        FailureKind::Timeout,
        FailureKind::Connect,
        FailureKind::Protocol,
        FailureKind::Other,
    ];
    let waits = prop::sample::select(vec![5_u64, 20, 100]);
    let (well, takes) = match day {
        Day::Calm => (60, vec![0_u64, 0, 0, 1, 4]),
        Day::Stormy => (8, vec![0, 0, 1, 4, 6, 10, 13, 40]),
    };
    let answer = prop_oneof![
        well => Just(Answer::Success),
        1 => Just(Answer::Business),
        3 => Just(Answer::Failed(FailureKind::Server)),
        1 => prop::sample::select(kinds).prop_map(Answer::Failed),
        1 => prop::option::of(waits).prop_map(Answer::Throttled),
        1 => Just(Answer::Ignored),
        1 => Just(Answer::Panic),
        1 => Just(Answer::Never),
    ];
    (answer, prop::sample::select(takes)).prop_map(|(answer, takes)| Run { answer, takes })
}

/// A day's worth of a hand, so that it never ends by itself.
const HAND: u64 = 86_400;

pub(crate) async fn run(first: &Numbers, steps: &[Step], ledger: Option<&Ledger>) {
    let mut model = Model::new(first);
    let mut real = Real::new(first);
    let (mut ids, mut spent) = (0, 0);
    for (number, step) in steps.iter().enumerate() {
        let told = format!(
            "step {number}, {step:?}, at {} ms, with\n{}",
            model.now,
            model.numbers().text()
        );
        let ((ours, theirs), events) = record(one(&mut model, &mut real, step, &mut ids, &mut spent)).await;
        let mut plain = model.look(ours);
        let (mut seen, more) = record(async { real.look(theirs, ledger) }).await;
        if ledger.is_none() {
            plain.shown.clear();
        }
        seen.available = real.is_available().await;
        let events = events.iter().chain(&more);
        (seen.transitions, seen.samples, seen.told) = facts(events);
        plain.ends.sort_by_key(|(id, _)| *id);
        seen.ends.sort_by_key(|(id, _)| *id);
        assert_eq!(seen, plain, "real against plain after {told}\n{model:#?}");
    }
}

type Ends = Vec<(usize, String)>;

/// The stretch of the budget is cut into slices, so that the last second of it is nobody's business.
const SHORT_OF_STRETCH: u64 = 9_000;

async fn one(model: &mut Model, real: &mut Real, step: &Step, ids: &mut usize, spent: &mut u64) -> (Ends, Ends) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    match step {
        Step::Arrive {
            key,
            once,
            within,
            runs,
        } => {
            model.arrive(*ids, *key, *once, *within, runs);
            real.arrive(*ids, *key, *once, *within, runs);
            *ids += 1;
        }
        Step::Drop(at) => {
            let live = model.live();
            if let Some(id) = at.checked_rem(live.len()).map(|at| live[at]) {
                model.cancel(id);
                real.cancel(id);
            }
        }
        Step::Pass(time) if *spent + time < SHORT_OF_STRETCH => {
            *spent += time;
            for _ in 0..*time {
                model.now += 1;
                tokio::time::advance(Duration::from_millis(1)).await;
                ours.extend(model.settle());
                theirs.extend(real.settle().await);
            }
        }
        Step::Jump if model.live().is_empty() => {
            *spent = 0;
            model.now += 11_000;
            tokio::time::advance(Duration::from_secs(11)).await;
        }
        Step::Reload(bytes) => {
            let numbers = model.numbers().reloaded(&mut Source::new(bytes));
            model.reload(&numbers);
            real.reload(&numbers);
        }
        Step::Mode(Mode::Enforce) => {
            model.set_mode(Mode::Enforce, 0);
            real.clear_mode();
        }
        Step::Mode(mode) => {
            model.set_mode(*mode, HAND);
            real.set_mode(*mode, HAND);
        }
        Step::Trip if model.numbers().breaker.is_some() && !model.is_open() => {
            model.trip();
            real.trip().await;
        }
        Step::Pass(_) | Step::Jump | Step::Trip => {}
        Step::Reset => {
            model.reset();
            real.reset().await;
        }
    }
    ours.extend(model.settle());
    theirs.extend(real.settle().await);
    (ours, theirs)
}

/// Transitions, samples and rejections among events.
fn facts<'e>(events: impl Iterator<Item = &'e Event>) -> (Vec<String>, Vec<String>, Vec<String>) {
    let (mut transitions, mut samples, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for event in events {
        let field = |name: &str| event.field(name).unwrap();
        match event.name() {
            "breaker.transition" => transitions.push(format!("{}>{} {}", field("from"), field("to"), field("cause"))),
            "breaker.sample" => samples.push(format!("slow {}", field("slow"))),
            "call.rejected" if field("observed") == "true" => told.push(format!("would {}", field("reason"))),
            "call.rejected" => told.push(field("reason").to_owned()),
            _ => {}
        }
    }
    (transitions, samples, told)
}
