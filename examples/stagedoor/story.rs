//! What the run is meant to show, as claims that can fail. `main` turns them into the exit code.

use std::time::Duration;

use crate::book::{Refused, Source, Stage, percentile};
use crate::guards::Guards;
use crate::incident::Phase;
use crate::live::millis;
use crate::service::{Order, Orders, Route, Twin};
use crate::watch::{Transition, Watch};

/// A claim, and what was seen.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) text: &'static str,
    pub(crate) held: bool,
    pub(crate) seen: String,
    /// It did not hold in a phase in which the machine was too busy with other things to say why.
    pub(crate) unjudged: bool,
}

impl Claim {
    /// Whether the story is broken by it.
    pub(crate) fn broken(&self) -> bool {
        !self.held && !self.unjudged
    }
}

/// When even an answer that needs nothing takes this long, half of the time, the processor belongs to somebody else, and
/// what a phase shows of times and shares is theirs.
const TOO_BUSY: Duration = Duration::from_millis(15);

/// "About a millisecond", with room for a slow machine. What a busy one takes for any answer at all comes on top.
const AT_ONCE: Duration = Duration::from_millis(20);
/// What nobody waits for but in vain.
const TIMED_OUT: Duration = Duration::from_millis(500);
/// How much the seat map's slowest reads may differ from those of a healthy phase, again on top of what the machine
/// takes. Payrail's slowness would add eight times as much.
const UNMOVED: Duration = Duration::from_millis(100);
/// Calls that are inside for a moment only, on their way to a refusal.
const PASSING: usize = 12;

/// Judges what was run; claims about phases that were not are left out.
pub(crate) fn judge(stages: &[Stage], watch: &Watch, guards: &Guards, orders: &Orders) -> Vec<Claim> {
    let story = Story {
        stages,
        transitions: watch.transitions(),
        watch,
        guards,
        orders,
    };
    let mut claims = Vec::new();
    for (number, stage) in (1..).zip(stages) {
        let seen = match stage.phase {
            Phase::Healthy => story.healthy(number, stage),
            Phase::Slow => story.slow(stage),
            Phase::Dead => story.dead(number, stage),
            Phase::Declining => story.declining(number, stage),
            Phase::Throttling => story.throttling(number, stage),
            Phase::Back => Story::back(stage),
        };
        let unjudged = stage.machine(50) > TOO_BUSY;
        claims.extend(seen.into_iter().map(|claim| Claim { unjudged, ..claim }));
    }
    claims.push(story.quiet());
    claims
}

struct Story<'a> {
    stages: &'a [Stage],
    transitions: Vec<Transition>,
    watch: &'a Watch,
    guards: &'a Guards,
    orders: &'a Orders,
}

impl Story<'_> {
    fn healthy(&self, number: usize, stage: &Stage) -> Vec<Claim> {
        let served = |route| share(stage.cell(Twin::Guarded, route).from(Source::Primary), stage, route);
        let [checkouts, seats, reports] = Route::ALL.map(served);
        let errors: u64 = Route::ALL
            .map(|route| stage.cell(Twin::Guarded, route).from(Source::Error))
            .iter()
            .sum();
        let opened = self.openings(number).count();
        vec![Claim {
            unjudged: false,
            text: "healthy: the guards are not noticed",
            held: opened == 0 && errors < 20 && checkouts > 0.9 && seats > 0.9 && reports > 0.9,
            seen: format!(
                "served by the primary: {:.1} % of checkouts, {:.1} % of seat maps, {:.1} % of reports; \
                 {errors} errors, {opened} openings",
                checkouts * 1e2,
                seats * 1e2,
                reports * 1e2
            ),
        }]
    }

    fn slow(&self, stage: &Stage) -> Vec<Claim> {
        let p99 = |stage: &Stage, twin| stage.cell(twin, Route::Seats).percentile(99).unwrap_or_default();
        let slow = [Twin::Guarded, Twin::Unguarded].map(|twin| p99(stage, twin));
        let healthy = self
            .stages
            .iter()
            .find(|stage| stage.phase == Phase::Healthy)
            .map(|stage| p99(stage, Twin::Guarded));
        let healthy = healthy.unwrap_or_default();
        let sold = stage.cell(Twin::Guarded, Route::Checkout).status(201);
        let held = stage.noticed[Twin::Guarded as usize].held[Route::Checkout as usize];
        let limit = self
            .guards
            .of(Route::Checkout)
            .and_then(|guard| guard.limit)
            .unwrap_or_default() as usize;
        vec![
            Claim {
                unjudged: false,
                text: "slow: the seat map's p99 does not move, and without guards it does",
                held: slow[0] <= healthy + UNMOVED + stage.machine(99) && slow[1] > slow[0] * 3,
                seen: format!(
                    "p99 {} in health, {} now, {} without",
                    show(healthy),
                    show(slow[0]),
                    show(slow[1])
                ),
            },
            Claim {
                unjudged: false,
                text: "slow: Payrail holds no more tasks than its slots, and goes on selling through them",
                held: held <= limit + PASSING && sold > 0,
                seen: format!("{limit} slots, at most {held} checkouts inside at once, {sold} sold"),
            },
        ]
    }

    fn dead(&self, number: usize, stage: &Stage) -> Vec<Claim> {
        let cell = stage.cell(Twin::Guarded, Route::Checkout);
        let refused: Vec<_> = cell.refused.iter().map(|refused| refused.took).collect();
        let (refusals, p50) = (refused.len(), percentile(refused, 50));
        let without = stage.cell(Twin::Unguarded, Route::Checkout).percentile(50);
        let machine = stage.machine(50);
        let pending = cell.refused.iter().filter_map(|refused| refused.order);
        let settled = pending
            .filter(|order| self.orders.get(*order) != Some(Order::Pending))
            .count();
        let seats = stage.cell(Twin::Guarded, Route::Seats);
        let (read, old) = (seats.from(Source::Fallback), seats.from(Source::Stale));
        let peak = stage.noticed[Twin::Guarded as usize].database_peak;
        let report = stage.cell(Twin::Guarded, Route::Report);
        let marked = share(report.from(Source::Fallback), stage, Route::Report);
        vec![
            Claim {
                unjudged: false,
                text: "dead: a buyer is answered at once instead of after a time-out",
                held: p50.is_some_and(|p50| p50 < AT_ONCE + machine) && without.is_some_and(|p50| p50 > TIMED_OUT),
                seen: format!(
                    "{refusals} refused, p50 {} (the machine alone {}); without guards {}",
                    millis(p50),
                    show(machine),
                    millis(without)
                ),
            },
            self.true_to_its_word(number, stage, &cell.refused),
            Claim {
                unjudged: false,
                text: "dead: a refused order stays pending",
                held: refusals > 0 && settled == 0,
                seen: format!("{} of {refusals}", refusals - settled),
            },
            Claim {
                unjudged: false,
                text: "dead: seat maps come from the database, behind its limiter",
                held: read > 0 && peak <= LIMITER,
                seen: format!("{read} read there, at most {peak} at once; {old} some seconds old"),
            },
            Claim {
                unjudged: false,
                text: "dead: reports come from the primary, marked",
                held: marked > 0.9,
                seen: format!("{} of {}", report.from(Source::Fallback), report.calls),
            },
        ]
    }

    /// A buyer who comes back when he was told to meets a breaker that has left open, and not a second late.
    fn true_to_its_word(&self, number: usize, stage: &Stage, refused: &[Refused]) -> Claim {
        let payrail: Vec<_> = self.changes(Route::Checkout).collect();
        let slack = AT_ONCE + stage.machine(99);
        let (mut told, mut early, mut late) = (0, 0, 0);
        for open in payrail
            .windows(2)
            .filter(|pair| pair[0].stage == number && pair[0].to == "open")
        {
            // Begun after the opening and answered before its end: it was the open breaker that spoke. A full bulkhead
            // cannot know, and a probe may end earlier than it has time for.
            let of_it = |refused: &&Refused| refused.at > open[0].at + refused.took && refused.at < open[1].at;
            for refused in refused.iter().filter(of_it) {
                let back = refused.at + Duration::from_secs(refused.retry_after.unwrap_or_default());
                told += 1;
                early += u32::from(back + slack < open[1].at);
                late += u32::from(back > open[1].at + Duration::from_secs(1) + slack);
            }
        }
        Claim {
            unjudged: false,
            text: "dead: Retry-After is true",
            held: told > 0 && (early + late) * 50 <= told,
            seen: format!("of {told} told by the open breaker, {early} would come too early and {late} too late"),
        }
    }

    fn declining(&self, number: usize, stage: &Stage) -> Vec<Claim> {
        let declined = stage.cell(Twin::Guarded, Route::Checkout).status(402);
        let opened: Vec<_> = self.openings(number).filter(|change| change.from == "closed").collect();
        vec![Claim {
            unjudged: false,
            text: "declining: 402s reach the buyer and open nothing",
            held: declined > 0 && opened.is_empty() && stage.states[Route::Checkout as usize] == "closed",
            seen: format!("{declined} declined, {} openings", opened.len()),
        }]
    }

    fn throttling(&self, number: usize, stage: &Stage) -> Vec<Claim> {
        let [reached, without] = [0, 1].map(|twin: usize| stage.noticed[twin].charges);
        let held = self
            .watch
            .rejections(number, Route::Checkout.dependency())
            .get("held")
            .copied()
            .unwrap_or(0);
        let opened = self.openings(number).filter(|change| change.from == "closed").count();
        let sold = [Twin::Guarded, Twin::Unguarded].map(|twin| stage.cell(twin, Route::Checkout).status(201));
        vec![Claim {
            unjudged: false,
            text: "throttling: Payrail is left alone for as long as it asked, without an opening",
            held: held > 0 && opened == 0 && reached * 2 < without && sold[0] > 0,
            seen: format!(
                "{reached} charges reached it and {} were taken, {held} held back; without guards {without} and {}",
                sold[0], sold[1]
            ),
        }]
    }

    fn back(stage: &Stage) -> Vec<Claim> {
        let shares =
            Route::ALL.map(|route| share(stage.cell(Twin::Guarded, route).from(Source::Primary), stage, route));
        vec![Claim {
            unjudged: false,
            text: "back: everything closes and is served by the primary again",
            held: shares.iter().all(|share| *share > 0.7) && stage.states.iter().all(|state| *state == "closed"),
            seen: format!("states {}", stage.states.join(", ")),
        }]
    }

    fn quiet(&self) -> Claim {
        let told = self
            .stages
            .iter()
            .flat_map(|stage| Route::ALL.map(|route| stage.cell(Twin::Guarded, route).names_internals));
        let told: u64 = told.sum();
        Claim {
            unjudged: false,
            text: "always: no answer names what is inside",
            held: told == 0,
            seen: format!("{told} answers with a name of ours"),
        }
    }

    fn changes(&self, route: Route) -> impl Iterator<Item = &Transition> {
        self.transitions
            .iter()
            .filter(move |change| change.dependency == route.dependency())
    }

    /// Of Payrail's breaker.
    fn openings(&self, stage: usize) -> impl Iterator<Item = &Transition> {
        self.changes(Route::Checkout)
            .filter(move |change| change.stage == stage && change.to == "open")
    }
}

/// `fallback.max_concurrent` of the seat map, which the snapshot does not show, and one read whose caller just left.
const LIMITER: u64 = 2 + 1;

#[expect(clippy::cast_precision_loss, reason = "a few thousand calls")]
fn share(part: u64, stage: &Stage, route: Route) -> f64 {
    let all = stage.cell(Twin::Guarded, route).calls;
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

fn show(took: Duration) -> String {
    millis(Some(took))
}
