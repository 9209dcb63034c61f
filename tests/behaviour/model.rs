//! The breaker against a second, plain telling of what it is to do.

use std::collections::VecDeque;

use proptest::prelude::*;

use crate::kit::ms;
use crate::stand::Stand;

#[derive(Debug, Clone)]
struct Numbers {
    window: usize,
    minimum: usize,
    rate: f64,
    run: Option<u32>,
    cooldown: u64,
    factor: f64,
    longest: u64,
    needed: u32,
    /// One of so many is admitted at each step.
    ramp: Vec<u64>,
}

impl Numbers {
    fn lines(&self) -> String {
        let ramp: Vec<_> = self
            .ramp
            .iter()
            .map(|one_of| format!("{:?}", 1.0 / one_of.to_f64()))
            .collect();
        let run = self
            .run
            .map(|run| format!("consecutive_failures = {run}, "))
            .unwrap_or_default();
        format!(
            "timeout = \"9s\"\nbreaker = {{ window = \"{} calls\", minimum_calls = {}, failure_rate = {:?}, {run}\
             cooldown = \"{}ms\", cooldown_factor = {:?}, cooldown_max = \"{}ms\", cooldown_jitter = 0.0, \
             probes = 1, probe_successes = {}, ramp = [{}] }}",
            self.window,
            self.minimum,
            self.rate,
            self.cooldown,
            self.factor,
            self.longest,
            self.needed,
            ramp.join(", ")
        )
    }
}

trait ToF64 {
    fn to_f64(&self) -> f64;
}

impl ToF64 for u64 {
    #[allow(clippy::cast_precision_loss)] // small numbers
    fn to_f64(&self) -> f64 {
        *self as f64
    }
}

#[derive(Debug)]
enum State {
    Closed,
    Open { until: u64 },
    HalfOpen { successes: u32, step: usize, arrivals: u64 },
}

#[derive(Debug)]
struct Model {
    numbers: Numbers,
    state: State,
    window: VecDeque<bool>,
    run: u32,
    openings: i32,
}

impl Model {
    fn new(numbers: Numbers) -> Self {
        Self {
            numbers,
            state: State::Closed,
            window: VecDeque::new(),
            run: 0,
            openings: 0,
        }
    }

    fn state(&self) -> &'static str {
        match self.state {
            State::Closed => "closed",
            State::Open { .. } => "open",
            State::HalfOpen { .. } => "half_open",
        }
    }

    fn tick(&mut self, now: u64) {
        if let State::Open { until } = self.state
            && now >= until
        {
            // Step 0 is that of the probes; the ramp's begin at 1.
            self.state = State::HalfOpen {
                successes: 0,
                step: 0,
                arrivals: 0,
            };
        }
    }

    /// Why a call is rejected, if it is.
    fn refuses(&mut self, now: u64) -> Option<&'static str> {
        self.tick(now);
        match &mut self.state {
            State::Open { .. } => Some("open"),
            State::HalfOpen { step, arrivals, .. } if *step > 0 => {
                let turn = *arrivals % self.numbers.ramp[*step - 1] == 0;
                *arrivals += 1;
                (!turn).then_some("probes_busy")
            }
            _ => None,
        }
    }

    fn result(&mut self, failed: bool, now: u64) {
        match &mut self.state {
            State::Open { .. } => unreachable!("nothing runs while open"),
            State::Closed => {
                self.window.push_back(failed);
                if self.window.len() > self.numbers.window {
                    self.window.pop_front();
                }
                self.run = if failed { self.run + 1 } else { 0 };
                let failures = self.window.iter().filter(|failed| **failed).count();
                let share = (failures as u64).to_f64() / (self.window.len() as u64).to_f64();
                let enough = self.window.len() >= self.numbers.minimum;
                if enough && share >= self.numbers.rate || self.numbers.run.is_some_and(|run| self.run >= run) {
                    self.open(now);
                }
            }
            State::HalfOpen { .. } if failed => self.open(now),
            State::HalfOpen { successes, step, .. } => {
                *successes += 1;
                if *successes < self.numbers.needed {
                    return;
                }
                let next = *step + 1;
                if next <= self.numbers.ramp.len() {
                    self.state = State::HalfOpen {
                        successes: 0,
                        step: next,
                        arrivals: 0,
                    };
                } else {
                    *self = Self::new(self.numbers.clone());
                }
            }
        }
    }

    fn open(&mut self, now: u64) {
        let grown = self.numbers.cooldown.to_f64() * self.numbers.factor.powi(self.openings);
        self.openings += 1;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole milliseconds
        let cooldown = grown.min(self.numbers.longest.to_f64()) as u64;
        self.state = State::Open { until: now + cooldown };
    }
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let counts = (
        1_usize..9,
        1_usize..9,
        prop::sample::select(vec![0.2, 0.5, 0.75, 1.0]),
        prop::option::of(1_u32..5),
    );
    let times = (
        prop::sample::select(vec![100_u64, 1_000]),
        prop::sample::select(vec![1.0, 2.0, 3.0]),
        1_u64..40,
    );
    let back = (
        1_u32..4,
        prop::collection::vec(prop::sample::select(vec![1_u64, 2, 4, 5]), 0..3),
    );
    (counts, times, back).prop_map(
        |((window, minimum, rate, run), (cooldown, factor, times), (needed, mut ramp))| {
            // A ramp rises.
            ramp.sort_by(|one, other| other.cmp(one));
            ramp.dedup();
            let (minimum, longest) = (minimum.min(window), cooldown * times);
            Numbers {
                window,
                minimum,
                rate,
                run,
                cooldown,
                factor,
                longest,
                needed,
                ramp,
            }
        },
    )
}

fn step() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["S", "S", "S", "F", "F", "B", "I", "Q"])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn the_breaker_does_as_the_plain_telling_says(
        numbers in numbers(),
        steps in prop::collection::vec((step(), 0_u64..400), 1..300),
    ) {
        let alone = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        alone.block_on(async {
            let far = Stand::new(&numbers.lines());
            let mut model = Model::new(numbers);
            let mut now = 0;
            for (step, pause) in steps {
                now += pause;
                tokio::time::advance(ms(pause)).await;
                let refused = model.refuses(now);
                let seen = far.one(step).await;
                if let Some(reason) = refused {
                    assert_eq!(seen, reason, "at {now} ms: {model:?}");
                } else {
                    assert!(!["open", "probes_busy"].contains(&seen), "{seen} at {now} ms: {model:?}");
                    if !["I", "Q"].contains(&step) {
                        model.result(step == "F", now);
                    }
                }
                model.tick(now);
                assert_eq!(far.state(), model.state(), "at {now} ms: {model:?}");
                assert_eq!(far.window() as usize, model.window.len(), "at {now} ms: {model:?}");
            }
        });
    }
}
