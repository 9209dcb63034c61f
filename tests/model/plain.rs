//! The plain telling of one dependency. No task, no lock, no clock: whoever holds it says what time it is, and asks each
//! call in the order of arrival whether something is due.

mod books;
mod breaker;

use std::collections::VecDeque;
use std::rc::Rc;

use resilience_runtime::{FailureKind, Mode};

use crate::far::{Answer, Run};
use crate::ledger::{Shown, value_of};
use crate::numbers::Numbers;
use books::{Books, outcome, seconds};
use breaker::{Breaker, Permit, Verdict};

/// The stretch over which retries are weighed against calls.
const STRETCH: u64 = 10_000;

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) now: u64,
    numbers: Rc<Numbers>,
    mode: Mode,
    /// When the operator's hand is lifted.
    hand_until: u64,
    breaker: Breaker,
    held_until: u64,
    begun: Vec<u64>,
    repeated: Vec<u64>,
    calls: Vec<Call>,
    line: VecDeque<usize>,
    /// Rejections that were told, and would-be ones.
    told: Vec<String>,
    books: Books,
}

#[derive(Debug)]
struct Call {
    id: usize,
    key: Option<u32>,
    /// Whether it is that of an annotated function.
    woven: bool,
    /// A call ends on the numbers it began with.
    numbers: Rc<Numbers>,
    mode: Mode,
    runs: Vec<Run>,
    deadline: Option<u64>,
    starts: usize,
    slot: bool,
    /// What it has come to, if it ends now.
    outcome: &'static str,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    New,
    Waiting { until: u64 },
    Pausing { until: u64 },
    Running(Attempt),
    Over,
}

#[derive(Debug, Clone, Copy)]
struct Attempt {
    began: u64,
    run: Run,
    limit: Option<u64>,
    permit: Option<Permit>,
}

/// What is seen from outside, after every step.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    /// Ends since the step before: whose, and how.
    pub(crate) ends: Vec<(usize, String)>,
    /// Bodies begun by each call that is not over.
    pub(crate) starts: Vec<(usize, usize)>,
    /// Transitions, samples, and rejections with the would-be ones of `observe`, each in its order.
    pub(crate) transitions: Vec<String>,
    pub(crate) samples: Vec<String>,
    pub(crate) told: Vec<String>,
    pub(crate) available: bool,
    pub(crate) cause: Option<String>,
    pub(crate) state: Option<&'static str>,
    pub(crate) calls: usize,
    pub(crate) failure_rate: Option<String>,
    pub(crate) slow_rate: Option<String>,
    /// What hold and breaker would tell now.
    pub(crate) retry_after: Option<u64>,
    pub(crate) in_flight: usize,
    pub(crate) waiting: usize,
    pub(crate) budget: Option<String>,
    /// What a scrape shows.
    pub(crate) shown: Shown,
}

impl Model {
    pub(crate) fn new(numbers: &Numbers) -> Self {
        Self {
            now: 0,
            numbers: Rc::new(numbers.clone()),
            mode: Mode::Enforce,
            hand_until: 0,
            breaker: Breaker::default(),
            held_until: 0,
            begun: Vec::new(),
            repeated: Vec::new(),
            calls: Vec::new(),
            line: VecDeque::new(),
            told: Vec::new(),
            books: Books::default(),
        }
    }

    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    pub(crate) fn arrive(&mut self, id: usize, key: Option<u32>, once: bool, within: Option<u64>, runs: &[Run]) {
        let deadlines = [self.numbers.deadline, within];
        let alone = self.numbers.keyed && key.is_some();
        self.calls.push(Call {
            id,
            key: key.filter(|_| self.numbers.keyed),
            woven: key.is_some(),
            numbers: match (alone, once) {
                (true, _) => Rc::new(self.numbers.slots_alone()),
                (_, true) => Rc::new(self.numbers.one_attempt()),
                _ => Rc::clone(&self.numbers),
            },
            mode: self.mode,
            runs: runs.to_vec(),
            deadline: deadlines
                .into_iter()
                .flatten()
                .min()
                .filter(|_| self.mode == Mode::Enforce)
                .map(|left| self.now + left),
            starts: 0,
            slot: false,
            outcome: "rejected",
            phase: Phase::New,
        });
    }

    pub(crate) fn cancel(&mut self, id: usize) {
        let at = self.place(id);
        let call = self.calls.remove(at);
        self.line.retain(|waiting| *waiting != id);
        if let Phase::Running(attempt) = call.phase {
            self.books.dropped(attempt.permit.is_some_and(Permit::is_probe));
            self.breaker.give_back(id, attempt.permit);
        }
        self.books.call("cancelled");
        self.serve();
    }

    pub(crate) fn reload(&mut self, numbers: &Numbers) {
        self.books.reload();
        let old = std::mem::replace(&mut self.numbers, Rc::new(numbers.clone()));
        if let (Some(old), Some(new)) = (&old.breaker, &self.numbers.breaker) {
            self.breaker.reload(old, new, self.now);
        }
        self.serve();
    }

    pub(crate) fn set_mode(&mut self, mode: Mode, seconds: u64) {
        self.mode = mode;
        self.hand_until = self.now + seconds * 1_000;
    }

    pub(crate) fn reset(&mut self) {
        if let Some(numbers) = &self.numbers.breaker {
            self.breaker.reset(numbers, self.now);
        }
        self.held_until = 0;
        self.begun.clear();
        self.repeated.clear();
    }

    pub(crate) fn trip(&mut self) {
        if let Some(numbers) = &self.numbers.breaker {
            self.breaker.trip(numbers, self.now);
        }
    }

    /// Calls that are not over, in order of arrival.
    pub(crate) fn live(&self) -> Vec<usize> {
        self.calls.iter().map(|call| call.id).collect()
    }

    pub(crate) fn is_open(&mut self) -> bool {
        self.tick();
        self.breaker.word() == "open"
    }

    /// Does what is due now; gives the calls that ended.
    pub(crate) fn settle(&mut self) -> Vec<(usize, String)> {
        let mut ends = Vec::new();
        loop {
            let before = ends.len();
            for id in self.live() {
                if let Some(end) = self.poll(id) {
                    let at = self.place(id);
                    let call = self.calls.remove(at);
                    self.books.call(call.outcome);
                    if REASONS.contains(&reason(&end)) {
                        self.told.push(reason(&end).to_owned());
                        self.books.rejection(reason(&end));
                    }
                    if call.woven && !["success", "business", "panicked"].contains(&call.outcome) {
                        self.books.fallback(reason(&end));
                    }
                    self.serve();
                    ends.push((id, end));
                }
            }
            if ends.len() == before {
                return ends;
            }
        }
    }

    pub(crate) fn look(&mut self, ends: Vec<(usize, String)>) -> Seen {
        self.tick();
        let numbers = Rc::clone(&self.numbers);
        let breaker = numbers.breaker.as_ref();
        let (calls, failed, slow) = breaker.map_or((0, 0, 0), |numbers| self.breaker.counts(numbers, self.now));
        let enough = breaker.is_some_and(|numbers| calls >= numbers.minimum);
        // Slots taken, and without slots the calls that run.
        let inside = |call: &&Call| call.slot || numbers.bulkhead.is_none();
        let transitions = std::mem::take(&mut self.breaker.made);
        for told in &transitions {
            self.books.transition(told);
        }
        let mut seen = Seen {
            ends,
            starts: self.calls.iter().map(|call| (call.id, call.starts)).collect(),
            transitions,
            samples: std::mem::take(&mut self.breaker.samples),
            told: std::mem::take(&mut self.told),
            available: self.is_available(),
            cause: self.breaker.cause.clone(),
            state: breaker.map(|_| self.breaker.word()),
            calls,
            failure_rate: enough.then(|| share(failed, calls)),
            slow_rate: enough.then(|| share(slow, calls)),
            retry_after: self.refusal(),
            in_flight: self.calls.iter().filter(inside).count(),
            waiting: self.line.len(),
            budget: numbers.retry.as_ref().map(|_| {
                let (allowed, taken) = self.budget(&numbers);
                format!("{:.3}", (allowed - taken).max(0.0))
            }),
            shown: self.books.shown(),
        };
        self.gauges(&mut seen);
        seen
    }

    /// What stands in no book but is so now.
    fn gauges(&self, seen: &mut Seen) {
        let shown = &mut seen.shown;
        let mut gauge = |name: &str, value: f64| value_of(shown, name, value);
        let number = |count: usize| f64::from(u32::try_from(count).expect("a test makes few calls"));
        let read = |share: &Option<String>| share.as_ref().map_or(0.0, |share| share.parse().expect("a number"));
        if let Some(state) = seen.state {
            gauge(&format!("breaker_state state={state}"), 1.0);
            gauge("breaker_open_seconds", seconds(self.breaker.away(self.now)));
            gauge("failure_rate", read(&seen.failure_rate));
            gauge("slow_rate", read(&seen.slow_rate));
        }
        gauge("bulkhead_in_flight", number(seen.in_flight));
        gauge("bulkhead_waiting", number(seen.waiting));
        gauge(
            "bulkhead_limit",
            number(self.numbers.bulkhead.as_ref().map_or(0, |it| it.slots)),
        );
        gauge("retry_budget", read(&seen.budget));
        gauge(&format!("mode mode={}", self.mode.as_str()), 1.0);
        gauge(
            "override_left_seconds",
            seconds(self.hand_until.saturating_sub(self.now)),
        );
    }

    fn tick(&mut self) {
        if let Some(numbers) = &self.numbers.breaker {
            self.breaker.tick(numbers, self.now);
        }
    }

    fn place(&self, id: usize) -> usize {
        let found = self.calls.iter().position(|call| call.id == id);
        found.expect("only calls that are not over are asked for")
    }

    /// What is due for one call now: its end, if that is what is due.
    fn poll(&mut self, id: usize) -> Option<String> {
        loop {
            let now = self.now;
            let at = self.place(id);
            let call = &mut self.calls[at];
            match std::mem::replace(&mut call.phase, Phase::Over) {
                Phase::New => {
                    if let Some(end) = self.begin(at) {
                        return Some(end);
                    }
                }
                Phase::Waiting { until } => {
                    if call.slot {
                        if let Some(end) = self.attempt(at) {
                            return Some(end);
                        }
                    } else if call
                        .deadline
                        .is_some_and(|deadline| deadline <= now && deadline < until)
                    {
                        self.line.retain(|waiting| *waiting != id);
                        return Some("deadline_exceeded".into());
                    } else if until <= now {
                        self.line.retain(|waiting| *waiting != id);
                        return Some(no_slot("wait_timed_out", &call.numbers));
                    } else {
                        call.phase = Phase::Waiting { until };
                        return None;
                    }
                }
                Phase::Pausing { until } if until > now => {
                    call.phase = Phase::Pausing { until };
                    return None;
                }
                Phase::Pausing { .. } => {
                    if let Some(end) = self.attempt(at) {
                        return Some(end);
                    }
                }
                Phase::Running(attempt) => {
                    let over = attempt.began + attempt.run.takes;
                    let ends = attempt.run.answer != Answer::Never && over <= now;
                    if ends && attempt.limit.is_none_or(|limit| over <= limit) {
                        if let Some(end) = self.ended(at, attempt, Some(attempt.run.answer)) {
                            return Some(end);
                        }
                    } else if attempt.limit.is_some_and(|limit| limit <= now) {
                        if let Some(end) = self.ended(at, attempt, None) {
                            return Some(end);
                        }
                    } else {
                        call.phase = Phase::Running(attempt);
                        return None;
                    }
                }
                Phase::Over => unreachable!("a call that is over is not asked again"),
            }
        }
    }

    fn begin(&mut self, at: usize) -> Option<String> {
        let now = self.now;
        let call = &self.calls[at];
        let numbers = Rc::clone(&call.numbers);
        match call.mode {
            Mode::Isolate => return Some(format!("isolated {}", self.hand_until - now)),
            Mode::Off => {
                self.run(at, None, None);
                return None;
            }
            Mode::Enforce | Mode::Observe => {}
        }
        if numbers.retry.is_some() && call.mode == Mode::Enforce {
            self.begun.push(now);
        }
        let Some(bulkhead) = &numbers.bulkhead else {
            return self.attempt(at);
        };
        if self.is_free(call.key) {
            self.calls[at].slot = true;
            return self.attempt(at);
        }
        if self.calls[at].mode == Mode::Observe {
            // Whoever would have had to wait is not known to be rejected.
            if self.line.len() >= bulkhead.waiters {
                self.told.push("would bulkhead_full".into());
            }
            return self.attempt(at);
        }
        if bulkhead.waiters == 0 {
            return Some(no_slot("bulkhead_full", &numbers));
        }
        if let (Some(_), Some(breaker)) = (&numbers.breaker, &self.numbers.breaker)
            && let Some(left) = self.breaker.refuses(breaker, now)
        {
            return Some(format!("open {left}"));
        }
        if self.line.len() >= bulkhead.waiters {
            return Some(no_slot("bulkhead_full", &numbers));
        }
        let until = now + bulkhead.max_wait;
        self.calls[at].phase = Phase::Waiting { until };
        self.line.push_back(self.calls[at].id);
        None
    }

    fn attempt(&mut self, at: usize) -> Option<String> {
        let (now, id) = (self.now, self.calls[at].id);
        let call = &self.calls[at];
        let numbers = Rc::clone(&call.numbers);
        if call.deadline.is_some_and(|deadline| deadline <= now) {
            return Some("deadline_exceeded".into());
        }
        let observed = call.mode == Mode::Observe;
        if now < self.held_until {
            if !observed {
                return Some(format!("held {}", self.held_until - now));
            }
            self.told.push("would held".into());
        }
        let limits = [numbers.timeout.map(|timeout| now + timeout), call.deadline];
        let limit = limits.into_iter().flatten().min();
        let mut permit = None;
        // The breaker is everybody's: it decides on the numbers in force.
        if let (Some(_), Some(breaker)) = (&numbers.breaker, &Rc::clone(&self.numbers).breaker) {
            let limit = limit.expect("a breaker has a timeout");
            match self.breaker.admit(breaker, id, limit, now) {
                Ok(admitted) => permit = Some(admitted),
                Err(rejected) if observed => self.told.push(format!("would {}", reason(&rejected))),
                Err(rejected) => return Some(rejected),
            }
        }
        self.run(at, limit.filter(|_| !observed), permit);
        None
    }

    fn run(&mut self, at: usize, limit: Option<u64>, permit: Option<Permit>) {
        let began = self.now;
        let call = &mut self.calls[at];
        let run = call.runs[call.starts.min(call.runs.len() - 1)];
        call.starts += 1;
        call.phase = Phase::Running(Attempt {
            began,
            run,
            limit,
            permit,
        });
    }

    /// An attempt is over, with its answer or cut: the end of its call, or a pause before the next one.
    fn ended(&mut self, at: usize, attempt: Attempt, answer: Option<Answer>) -> Option<String> {
        let now = self.now;
        let call = &self.calls[at];
        let numbers = Rc::clone(&call.numbers);
        let (id, deadline, starts) = (call.id, call.deadline, call.starts);
        let probe = attempt.permit.is_some_and(Permit::is_probe);
        self.books.attempt(answer, probe, now - attempt.began);
        let call = &mut self.calls[at];
        call.outcome = outcome(answer);
        if call.mode == Mode::Off {
            return answer.map(Answer::word);
        }
        let observed = call.mode == Mode::Observe;
        // What is only observed runs on, and counts as what it would have been.
        let late = observed && numbers.timeout.is_some_and(|timeout| now - attempt.began > timeout);
        if late {
            self.told.push("would timed_out".into());
        }
        // A panic is always counted as one.
        let cut = answer.is_none() || late && answer != Some(Answer::Panic);
        let listed = |kind: FailureKind| numbers.failures.contains(&kind);
        let (verdict, repeat) = match answer.filter(|_| !cut) {
            Some(Answer::Success | Answer::Business) => (Verdict::Good, false),
            Some(Answer::Failed(kind)) if listed(kind) => (Verdict::Bad, true),
            None if listed(FailureKind::Timeout) => (Verdict::Bad, true),
            Some(Answer::Panic) => (Verdict::Bad, false),
            Some(Answer::Throttled(_)) => (Verdict::Neither, true),
            _ => (Verdict::Neither, false),
        };
        let wait = match answer {
            Some(Answer::Throttled(Some(wait))) => Some(wait.min(numbers.max_hold)),
            _ => None,
        };
        if let (Some(own), Some(permit)) = (&numbers.breaker, attempt.permit) {
            // What is cut is slow, where there is such a thing.
            let slow = own.slow_after.is_some_and(|after| cut || now - attempt.began > after);
            let shared = Rc::clone(&self.numbers);
            let breaker = shared.breaker.as_ref().expect("a reload keeps the tables");
            self.breaker.settle(breaker, id, permit, (verdict, cut, slow), now);
        }
        if let Some(wait) = wait
            && numbers.everybody
            && !observed
        {
            self.held_until = self.held_until.max(now + wait);
        }
        let end = match answer {
            Some(answer) => answer.word(),
            None if attempt.limit != numbers.timeout.map(|timeout| attempt.began + timeout) => {
                "deadline_exceeded".into()
            }
            None => "timed_out".into(),
        };
        let Some(retry) = numbers.retry.as_ref().filter(|_| repeat && !observed) else {
            return Some(end);
        };
        let doubled = retry.backoff << (starts - 1).min(30);
        let until = now + wait.unwrap_or(doubled.min(retry.backoff_max));
        let (allowed, taken) = self.budget(&numbers);
        if starts >= retry.attempts || deadline.is_some_and(|deadline| until >= deadline) || taken >= allowed {
            return Some(end);
        }
        self.repeated.push(now);
        self.books.retry();
        self.calls[at].outcome = "rejected";
        self.calls[at].phase = Phase::Pausing { until };
        None
    }

    /// Retries that may be made in ten seconds, and those that were.
    fn budget(&self, numbers: &Numbers) -> (f64, f64) {
        let Some(retry) = &numbers.retry else {
            return (0.0, 0.0);
        };
        let lately = |moments: &[u64]| {
            let count = moments.iter().filter(|moment| self.now - **moment < STRETCH).count();
            f64::from(u32::try_from(count).expect("a test makes few calls"))
        };
        (
            retry.budget * lately(&self.begun) + 10.0 * retry.floor,
            lately(&self.repeated),
        )
    }

    /// What hold and breaker would tell now, the longer of both; slots and the operator's hand have figures of their own.
    fn refusal(&self) -> Option<u64> {
        let breaker = self.numbers.breaker.as_ref();
        let breaker = breaker.and_then(|numbers| self.breaker.would_refuse(numbers, self.now));
        let held = self.held_until.checked_sub(self.now).filter(|left| *left > 0);
        breaker.max(held)
    }

    /// Whether a call without a key would be admitted now, if need be after a wait.
    fn is_available(&self) -> bool {
        let line = self
            .numbers
            .bulkhead
            .as_ref()
            .is_some_and(|it| self.line.len() < it.waiters);
        match self.mode {
            Mode::Isolate => false,
            Mode::Off | Mode::Observe => true,
            Mode::Enforce => self.refusal().is_none() && (line || self.is_free(None)),
        }
    }

    fn is_free(&self, key: Option<u32>) -> bool {
        let Some(bulkhead) = &self.numbers.bulkhead else {
            return true;
        };
        let taken = |of: &dyn Fn(&Call) -> bool| self.calls.iter().filter(|call| call.slot && of(call)).count();
        let key_is_free = match (bulkhead.per_key, key) {
            (Some(slots), Some(_)) => taken(&|call| call.key == key) < slots,
            _ => true,
        };
        key_is_free && taken(&|_| true) < bulkhead.slots
    }

    /// Gives free slots to those who wait, in order of arrival.
    fn serve(&mut self) {
        while let Some(at) = self
            .line
            .iter()
            .position(|id| self.is_free(self.calls[self.place(*id)].key))
        {
            let id = self.line.remove(at).expect("it was just found");
            let at = self.place(id);
            self.calls[at].slot = true;
        }
    }
}

/// Words that no answer of a body has.
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

fn reason(end: &str) -> &str {
    end.split(' ').next().unwrap_or(end)
}

fn no_slot(reason: &str, numbers: &Numbers) -> String {
    let after = numbers.bulkhead.as_ref().map_or(0, |bulkhead| bulkhead.retry_after);
    format!("{reason} {after}")
}

pub(crate) fn share(of: usize, all: usize) -> String {
    #[allow(clippy::cast_precision_loss)] // a few calls
    let share = of as f64 / all as f64;
    format!("{share:.6}")
}
