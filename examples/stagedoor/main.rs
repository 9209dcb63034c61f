//! Stagedoor sells tickets. It depends on Payrail for the money, on a store for its seat maps and on a replica for its
//! report, and this program drives it through an evening on which all of them fail, each in its own way.
//!
//! Everything is real: HTTP servers on loopback, a service in front of them, clients guarded by attributes under the
//! policy `resilience.toml`, and a steady load. A twin of the service without the attributes gets the same load beside
//! it. The program ends by saying whether the story held, and its exit code says the same.
//!
//! ```text
//! cargo run --example stagedoor                          the whole incident, under a minute
//! cargo run --example stagedoor -- --phase dead          one phase of it
//! cargo run --example stagedoor -- --hold                stays up afterwards: edit the policy and watch
//! cargo run --example stagedoor -- --json                one JSON document at the end
//! ```

mod book;
mod clients;
mod guards;
mod hold;
mod incident;
mod live;
mod load;
mod paint;
mod scrape;
mod service;
mod story;
mod summary;
mod watch;
mod world;

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Parser;
use resilience_admin::Admin;
use resilience_runtime::Runtime;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::book::{Book, Noticed};
use crate::clients::Clients;
use crate::guards::Guards;
use crate::incident::{Incident, Phase};
use crate::live::{Live, Second};
use crate::load::Load;
use crate::paint::Paint;
use crate::service::{Route, Service, Twin};
use crate::story::Claim;
use crate::summary::Run;
use crate::watch::Watch;
use crate::world::World;

#[derive(Debug, Parser)]
#[command(
    name = "stagedoor",
    about = "A ticket seller, its dependencies and an incident, with and without guards"
)]
struct Args {
    /// Run only this phase, after a short healthy one; may be repeated
    #[arg(long, value_name = "NAME")]
    phase: Vec<Phase>,
    /// Stay up when the story is told: edit the policy and watch, Ctrl-C ends it
    #[arg(long, conflicts_with = "json")]
    hold: bool,
    /// Print nothing but one JSON document at the end
    #[arg(long)]
    json: bool,
    /// Who sends this token may set modes on the admin page; without it the page only shows
    #[arg(long)]
    token: Option<String>,
}

impl Args {
    /// The phases to run and for how long. What is compared with health needs some health to compare with.
    fn script(&self) -> Vec<(Phase, Duration)> {
        if self.phase.is_empty() {
            return Phase::ALL.map(|phase| (phase, phase.length())).to_vec();
        }
        let mut phases = self.phase.clone();
        phases.sort_unstable();
        phases.dedup();
        let mut script: Vec<_> = phases.iter().map(|phase| (*phase, phase.length())).collect();
        if phases.first() != Some(&Phase::Healthy) {
            script.insert(0, (Phase::Healthy, Duration::from_secs(3)));
        }
        script
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("stagedoor: {error}");
            ExitCode::from(2)
        }
    }
}

/// Connections are made and caches filled before anything is measured.
const WARM_UP: Duration = Duration::from_millis(1_500);

async fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let start = Instant::now();
    let incident = Arc::new(Incident::default());
    let watch = Watch::install(start, Arc::clone(&incident))?;
    let scrape = scrape::install()?;
    let _resilience = resilience_runtime::init()?;

    let worlds = [World::start(&incident).await?, World::start(&incident).await?];
    let twins = [
        Service::start(Twin::Guarded, Clients::new(&worlds[0])?).await?,
        Service::start(Twin::Unguarded, Clients::new(&worlds[1])?).await?,
    ];
    let mut admin = Admin::new(Runtime::current())
        .ready(["payrail"])?
        .metrics(scrape)
        .record();
    if let Some(token) = &args.token {
        admin = admin.token(token)?;
    }
    let admin = world::serve(admin.router()).await?;
    let book = Arc::new(Book::new(start));
    let mut show = Show {
        start,
        live: Live::new(args.json),
        watch,
        book,
        twins,
        worlds,
        admin,
    };
    show.live.lines(&show.addresses())?;
    let load = Load::start(&show.book, &incident, &show.twins)?;
    sleep(WARM_UP).await;
    show.book.take_recent();

    for (phase, length) in args.script() {
        show.stage(&incident, phase, length).await?;
    }
    // The last calls belong to the last phase, and take as long as their callers' patience at most; what begins from
    // here on belongs to none.
    incident.enter(incident.phase());
    let load = args.hold.then_some(load);
    sleep(load::PATIENCE).await;
    let held = show.end(args.json)?;
    if load.is_some() {
        hold::until_interrupted(&mut show, &incident).await?;
    }
    Ok(held)
}

/// All that one run consists of.
pub(crate) struct Show {
    start: Instant,
    live: Live,
    watch: Watch,
    book: Arc<Book>,
    twins: [Service; 2],
    worlds: [World; 2],
    admin: SocketAddr,
}

impl Show {
    async fn stage(&mut self, incident: &Incident, phase: Phase, length: Duration) -> io::Result<()> {
        self.live.phase(phase)?;
        self.notice();
        self.book.open(phase);
        incident.enter(phase);
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        seconds.tick().await;
        for _ in 0..length.as_secs() {
            seconds.tick().await;
            self.second()?;
        }
        self.book.close(Guards::read().states(), self.notice());
        Ok(())
    }

    pub(crate) fn second(&mut self) -> io::Result<()> {
        self.live.lines(&self.watch.take_lines())?;
        let mut rejected = self.watch.take_rejections();
        self.live.second(&Second {
            at: self.start.elapsed(),
            guards: Guards::read(),
            cells: self.book.take_recent(),
            rejected: Route::ALL.map(|route| rejected.remove(route.dependency()).unwrap_or_default()),
            held: [0, 1].map(|twin: usize| Route::ALL.map(|route| self.twins[twin].held(route))),
        })
    }

    /// What was noticed since the last time.
    fn notice(&self) -> [Noticed; 2] {
        [0, 1].map(|twin| Noticed {
            held: Route::ALL.map(|route| self.twins[twin].take_peak(route)),
            charges: self.worlds[twin].seen.charges.swap(0, Ordering::Relaxed),
            database_peak: self.worlds[twin].seen.take_database_peak(),
        })
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        let guards = Guards::read();
        let policy = match Path::new(&guards.policy().file).canonicalize() {
            Ok(path) => path.display().to_string(),
            Err(_) => "compiled in; there is no file here to edit".to_owned(),
        };
        let ([guarded, unguarded], world) = (&self.twins, &self.worlds[0]);
        vec![
            format!("policy    {policy}"),
            format!("page      http://{}/", self.admin),
            format!("metrics   http://{}/metrics", self.admin),
            format!(
                "service   http://{}   without guards http://{}",
                guarded.address, unguarded.address
            ),
            format!("          POST /checkout/ORDER   GET /seats/SHOW   GET /report"),
            format!(
                "far side  Payrail http://{}   store http://{}   replica http://{}   database http://{}",
                world.payrail, world.store, world.replica, world.database
            ),
        ]
    }

    /// Prints the end of the story; whether it held.
    fn end(&mut self, json: bool) -> io::Result<bool> {
        self.live.lines(&self.watch.take_lines())?;
        let (stages, guards) = (self.book.stages(), Guards::read());
        let claims = story::judge(
            &stages,
            &self.watch,
            &guards,
            &self.twins[Twin::Guarded as usize].orders,
        );
        let held = !claims.iter().any(Claim::broken);
        let run = Run {
            stages: &stages,
            watch: &self.watch,
            guards: &guards,
            claims: &claims,
            took: self.start.elapsed(),
        };
        // Written, not printed: `| head` may close the pipe before everything is said.
        let mut out = io::stdout().lock();
        if json {
            writeln!(out, "{:#}", summary::document(&run))?;
        } else {
            writeln!(out, "\n{}\n", summary::table(&run))?;
            tell(&mut out, &claims, run.took)?;
        }
        for claim in claims.iter().filter(|claim| claim.broken()) {
            eprintln!("stagedoor: the story did not hold: {}: {}", claim.text, claim.seen);
        }
        Ok(held)
    }
}

fn tell(out: &mut impl Write, claims: &[Claim], took: Duration) -> io::Result<()> {
    let paint = Paint::of_stdout();
    for claim in claims {
        writeln!(out, "{}  {}: {}", paint.verdict(claim), claim.text, claim.seen)?;
    }
    let held = claims.iter().filter(|claim| claim.held).count();
    let verdict = if claims.iter().any(Claim::broken) {
        "the story did not hold"
    } else if held < claims.len() {
        "the story held as far as this machine lets one see: it was busy with other things"
    } else {
        "the story held"
    };
    writeln!(
        out,
        "\n{verdict}: {held} of {} claims, in {:.0} s",
        claims.len(),
        took.as_secs_f64()
    )
}
