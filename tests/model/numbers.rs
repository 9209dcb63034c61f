//! A policy's numbers, drawn from bytes so that smaller bytes are a simpler policy.

use std::fmt::Write as _;

use resilience_runtime::FailureKind;

/// Times are milliseconds everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    /// Whether calls come with keys, see `real`.
    pub(crate) keyed: bool,
    pub(crate) timeout: Option<u64>,
    pub(crate) deadline: Option<u64>,
    /// Whether throttling binds everybody.
    pub(crate) everybody: bool,
    pub(crate) max_hold: u64,
    pub(crate) failures: Vec<FailureKind>,
    pub(crate) breaker: Option<Breaker>,
    pub(crate) bulkhead: Option<Bulkhead>,
    pub(crate) retry: Option<Retry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    Calls(usize),
    Time(u64),
}

#[derive(Debug, Clone)]
pub(crate) struct Breaker {
    pub(crate) window: Window,
    pub(crate) minimum: usize,
    pub(crate) failure_rate: Option<f64>,
    pub(crate) slow_after: Option<u64>,
    pub(crate) slow_rate: Option<f64>,
    pub(crate) bad_rate: Option<f64>,
    pub(crate) consecutive: Option<u32>,
    pub(crate) in_flight: Option<u32>,
    pub(crate) cooldown: u64,
    pub(crate) longest: u64,
    pub(crate) factor: u64,
    pub(crate) probes: u32,
    pub(crate) needed: u32,
    /// One of so many is admitted at each step.
    pub(crate) ramp: Vec<u32>,
    pub(crate) sample_every: Option<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Bulkhead {
    pub(crate) slots: usize,
    pub(crate) waiters: usize,
    pub(crate) max_wait: u64,
    pub(crate) per_key: Option<usize>,
    pub(crate) retry_after: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Retry {
    pub(crate) attempts: usize,
    pub(crate) backoff: u64,
    pub(crate) backoff_max: u64,
    pub(crate) budget: f64,
    pub(crate) floor: f64,
}

/// Bytes as choices; used up, it gives the simplest.
#[derive(Debug)]
pub(crate) struct Source<'b>(std::slice::Iter<'b, u8>);

impl<'b> Source<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self(bytes.iter())
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        let at = usize::from(self.0.next().copied().unwrap_or(0));
        of[at % of.len()].clone()
    }

    fn maybe<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        let wanted = self.one(&[false, true]);
        let drawn = self.one(of);
        wanted.then_some(drawn)
    }
}

const KINDS: [FailureKind; 5] = [
    FailureKind::Timeout,
    FailureKind::Connect,
    FailureKind::Server,
    FailureKind::Protocol,
    FailureKind::Other,
];

impl Numbers {
    pub(crate) fn draw(source: &mut Source<'_>) -> Self {
        let layers = source.one(&[1, 2, 4, 7, 3, 5, 6, 7, 1, 0]);
        let mut drawn = Self::with(source, layers);
        let per_key = source.maybe(&[1, 2]);
        drawn.keyed = drawn.bulkhead.is_some() && per_key.is_some();
        if let Some(bulkhead) = &mut drawn.bulkhead {
            bulkhead.per_key = per_key;
        }
        drawn
    }

    /// Other numbers for the same tables; the shape of half-open stays, since a reload amid a ramp has no written meaning.
    pub(crate) fn reloaded(&self, source: &mut Source<'_>) -> Self {
        let layers = u8::from(self.breaker.is_some())
            + 2 * u8::from(self.bulkhead.is_some())
            + 4 * u8::from(self.retry.is_some());
        let mut drawn = Self::with(source, layers);
        if let (Some(new), Some(old)) = (&mut drawn.breaker, &self.breaker) {
            (new.probes, new.needed) = (old.probes, old.needed);
            new.ramp.clone_from(&old.ramp);
            new.sample_every = old.sample_every;
            // Half the edits leave the window as it is.
            if source.one(&[true, false]) {
                (new.window, new.minimum) = (old.window, old.minimum);
            }
        }
        if let (Some(new), Some(old)) = (&mut drawn.bulkhead, &self.bulkhead) {
            new.per_key = old.per_key;
        }
        drawn.keyed = self.keyed;
        drawn
    }

    fn with(source: &mut Source<'_>, layers: u8) -> Self {
        let timeout = source.one(&[30, 10, 7, 100]);
        let deadline = source.maybe(&[60, 25, 12]);
        let everybody = source.one(&[false, true]);
        let max_hold = source.one(&[1_000, 40]);
        let left_out = source.maybe(&KINDS);
        Self {
            keyed: false,
            timeout: Some(timeout),
            deadline,
            everybody,
            max_hold,
            failures: KINDS.into_iter().filter(|kind| Some(*kind) != left_out).collect(),
            breaker: (layers & 1 != 0).then(|| Breaker::draw(source)),
            bulkhead: (layers & 2 != 0).then(|| Bulkhead::draw(source, deadline)),
            retry: (layers & 4 != 0).then(|| Retry::draw(source)),
        }
    }

    /// What `Guard::call_once` leaves.
    pub(crate) fn one_attempt(&self) -> Self {
        Self {
            retry: None,
            ..self.clone()
        }
    }

    /// What the attributes of `real::keyed` switch on.
    pub(crate) fn slots_alone(&self) -> Self {
        Self {
            timeout: None,
            breaker: None,
            retry: None,
            ..self.clone()
        }
    }

    pub(crate) fn dependency(&self) -> &'static str {
        if self.keyed { "farms" } else { "seatmap" }
    }

    /// The policy's text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "version = 1\n[dependency.{}]\nfail = \"open\"\ntimeout = \"{}ms\"\nthrottle = \"{}\"\nmax_hold = \"{}ms\"\n",
            self.dependency(),
            self.timeout.expect("every policy has one"),
            if self.everybody { "dependency" } else { "call" },
            self.max_hold
        );
        if let Some(deadline) = self.deadline {
            let _ = writeln!(text, "deadline = \"{deadline}ms\"");
        }
        let failures: Vec<_> = self.failures.iter().map(|kind| kind.as_str()).collect();
        let _ = writeln!(text, "failures = {failures:?}");
        if let Some(breaker) = &self.breaker {
            text += &breaker.text();
        }
        if let Some(it) = &self.bulkhead {
            let _ = writeln!(
                text,
                "bulkhead = {{ max_concurrent = {}, max_waiting = {}, max_wait = \"{}ms\", retry_after = \"{}ms\"{} }}",
                it.slots,
                it.waiters,
                it.max_wait,
                it.retry_after,
                it.per_key.map(|keys| format!(", per_key = {keys}")).unwrap_or_default(),
            );
        }
        if let Some(it) = &self.retry {
            let _ = writeln!(
                text,
                "retry = {{ max_attempts = {}, backoff = \"{}ms\", backoff_max = \"{}ms\", jitter = \"none\", budget = {:?}, budget_floor = {:?} }}",
                it.attempts, it.backoff, it.backoff_max, it.budget, it.floor
            );
        }
        text
    }
}

impl Breaker {
    fn draw(source: &mut Source<'_>) -> Self {
        let window = source.one(&[
            Window::Calls(4),
            Window::Calls(1),
            Window::Calls(7),
            Window::Time(100),
            Window::Time(30),
        ]);
        let minimum = source.one(&[1, 2, 3, 5]);
        let slow_after = source.maybe(&[5, 3, 12]);
        let (slow_rate, bad_rate) = source.one(&[(Some(0.5), None), (None, Some(0.5)), (Some(1.0), Some(0.6))]);
        let cooldown = source.one(&[20, 50]);
        let probes = source.one(&[1, 2, 3]);
        Self {
            window,
            minimum: match window {
                Window::Calls(calls) => minimum.min(calls),
                Window::Time(_) => minimum,
            },
            failure_rate: source.one(&[Some(0.5), Some(1.0), Some(0.3), None]),
            slow_after,
            slow_rate: slow_after.and(slow_rate),
            bad_rate: slow_after.and(bad_rate),
            consecutive: source.maybe(&[2, 3]),
            in_flight: source.one(&[None, None, Some(3), Some(5), Some(1)]),
            cooldown,
            longest: cooldown * source.one(&[3, 1, 8]),
            factor: source.one(&[2, 1, 3]),
            probes,
            needed: probes + source.one(&[0, 1, 2]),
            ramp: source.one(&[vec![], vec![2], vec![4, 2], vec![5, 1]]),
            sample_every: source.maybe(&[10, 7]),
        }
    }

    fn text(&self) -> String {
        let mut text = String::from("breaker = { ");
        match self.window {
            Window::Calls(calls) => write!(text, "window = \"{calls} calls\", "),
            Window::Time(time) => write!(text, "window = \"{time}ms\", "),
        }
        .expect("a string takes everything");
        let ramp: Vec<f64> = self.ramp.iter().map(|one_of| 1.0 / f64::from(*one_of)).collect();
        let rate = self.failure_rate.map_or("false".to_owned(), |rate| format!("{rate:?}"));
        let _ = write!(
            text,
            "minimum_calls = {}, failure_rate = {rate}, cooldown = \"{}ms\", cooldown_max = \"{}ms\", cooldown_factor = {}.0, \
             cooldown_jitter = 0.0, probes = {}, probe_successes = {}, ramp = {ramp:?}",
            self.minimum, self.cooldown, self.longest, self.factor, self.probes, self.needed,
        );
        let mut also = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = write!(text, ", {key} = {value}");
            }
        };
        let time = |time: u64| format!("\"{time}ms\"");
        also("slow_after", self.slow_after.map(time));
        also("slow_rate", self.slow_rate.map(|rate| format!("{rate:?}")));
        also("bad_rate", self.bad_rate.map(|rate| format!("{rate:?}")));
        also("consecutive_failures", self.consecutive.map(|count| count.to_string()));
        also("in_flight", self.in_flight.map(|count| count.to_string()));
        also("sample_every", self.sample_every.map(time));
        text + " }\n"
    }
}

impl Bulkhead {
    fn draw(source: &mut Source<'_>, deadline: Option<u64>) -> Self {
        let waiters = source.one(&[0, 1, 3, 5]);
        let max_wait = if waiters == 0 { 0 } else { source.one(&[50, 8, 12]) };
        Self {
            slots: source.one(&[1, 2, 3]),
            waiters,
            max_wait: max_wait.min(deadline.unwrap_or(max_wait)),
            per_key: None,
            retry_after: source.one(&[1_000, 70]),
        }
    }
}

impl Retry {
    fn draw(source: &mut Source<'_>) -> Self {
        let backoff = source.one(&[4, 0, 10]);
        Self {
            attempts: source.one(&[3, 2, 5, 1]),
            backoff,
            backoff_max: backoff.max(1) * source.one(&[3, 1]),
            budget: source.one(&[10.0, 0.1, 0.5, 0.0]),
            floor: source.one(&[1.0, 0.1, 0.3, 0.0]),
        }
    }
}
