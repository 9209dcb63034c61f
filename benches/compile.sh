#!/usr/bin/env bash
# What users pay at compile time, as Markdown: clean builds of a hello-world with us and with each peer, `cargo check` of
# a thousand annotated functions beside plain ones, and what one of them adds to a binary.
#
#   benches/compile.sh            all of it, some minutes
#   benches/compile.sh hello      the hello-worlds only
#   benches/compile.sh thousand   the functions only
#   benches/compile.sh counted    instructions of rustc for one function more, which no load of the machine moves; needs valgrind
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
# Every build is clean, and in its own folder.
unset CARGO_TARGET_DIR RUSTFLAGS CARGO_PROFILE_DEV_DEBUG

# Runs a command in a folder; leaves wall and CPU seconds in `wall` and `cpu`.
timed() {
    local folder=$1 times
    shift
    times=$( (
        cd "$folder"
        TIMEFORMAT='%R %U %S'
        time "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    ) 2>&1) || { printf '%s\n' "$times" >&2; exit 1; }
    read -r wall cpu < <(tail -n 1 <<<"$times" | awk '{ printf "%.2f %.2f\n", $1, $2 + $3 }')
}

least() {
    awk -v a="$1" -v b="$2" 'BEGIN { print (a < b) ? a : b }'
}

# A package of its own: name, dependencies, main.rs.
package() {
    mkdir -p "$work/$1/src"
    printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s\n' "$1" "$2" \
        >"$work/$1/Cargo.toml"
    printf '%s\n' "$3" >"$work/$1/src/main.rs"
    # The versions that the benchmarks run with, where they have the crate.
    cp "$here/benches/Cargo.lock" "$work/$1/Cargo.lock"
    (cd "$work/$1" && cargo fetch >/dev/null 2>&1)
}

ours="resilience-runtime = { path = \"$here/resilience-runtime\", default-features = false }"
tokio='tokio = { version = "1", default-features = false, features = ["rt", "time"] }'
policy='version = 1
[dependency.far]
fail = "open"
timeout = "1s"
[dependency.far.breaker]
slow_after = "400ms"
slow_rate = 0.5
[dependency.far.bulkhead]
max_concurrent = 20
[dependency.far.retry]'

# Everything in the tree but the package itself.
crates() {
    (cd "$work/$1" && cargo tree --edges normal,build --prefix none --no-dedupe | sed 's/ (.*//' | sort -u | tail -n +2 | wc -l)
}

hello() {
    local name=$1 label=$2
    package "$name" "$3" "$4"
    [ "$name" != ours ] || printf '%s\n' "$policy" >"$work/$name/resilience.toml"
    local best= least=
    for _ in 1 2 3; do
        rm -rf "$work/$name/target"
        timed "$work/$name" cargo build
        best=$(least "${best:-1e9}" "$cpu")
        least=$(least "${least:-1e9}" "$wall")
    done
    printf '| %s | %s | %s | %s |\n' "$label" "$(crates "$name")" "$least" "$best"
    rm -rf "$work/$name/target"
}

hellos() {
    printf '\n## Clean build of a hello-world\n\n`cargo build`, sources fetched, the least of three; our own crates count.\n\n'
    printf '| with | crates | wall s | CPU s |\n| --- | ---: | ---: | ---: |\n'
    local empty='fn main() { println!("hello"); }'
    hello empty '(nothing)' '' "$empty"
    hello plain tokio "$tokio" "$empty"
    hello ours '**ours**: macros, all layers, tokio' "$ours
$tokio" '
use resilience_runtime::{Failure, breaker, bulkhead, fallback, retry};

#[breaker("far")]
#[bulkhead]
#[retry]
#[fallback(value = "nobody".to_owned())]
async fn name(id: u32) -> Result<String, Failure<std::io::Error>> {
    if id == 0 { Err(std::io::Error::other("no such id").into()) } else { Ok(format!("number {id}")) }
}

fn main() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("it is possible");
    println!("hello, {}", tokio.block_on(name(7)).expect("there is a fallback"));
}'
    hello recloser recloser 'recloser = "1.4"' "$empty"
    hello failsafe failsafe 'failsafe = "1.3"' "$empty"
    hello seatbelt 'seatbelt: breaker, timeout, retry, fallback' \
        'seatbelt = { version = "0.11", features = ["breaker", "timeout", "retry", "fallback"] }' "$empty"
    hello tower 'tower: limit, load-shed, timeout, retry' \
        'tower = { version = "0.5", features = ["limit", "load-shed", "timeout", "retry"] }' "$empty"
    hello tower-resilience 'tower-resilience: breaker, bulkhead, timelimiter' \
        'tower-resilience-circuitbreaker = "0.14"
tower-resilience-bulkhead = "0.14"
tower-resilience-timelimiter = "0.14"' "$empty"
    hello sentinel 'sentinel-core: async, macros' \
        'sentinel-core = { version = "0.1.3", features = ["async", "macros"] }' "$empty"
}

# A program with $2 functions, each called once; $1 stands above each of them. With `client` as $3 they await a request
# and its answer, as those that are guarded do; with `small` they await nothing.
functions() {
    local number body
    case $3 in
        client) body='let response = client.send(id).await?;
    let id = response.read().await?;' ;;
        small) body='let _ = client;' ;;
    esac
    cat <<'HEAD'
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use resilience_runtime::{Classify, FailureKind, Outcome, Rejection};
#[allow(unused_imports)]
use resilience_runtime::{breaker, bulkhead, fallback};

#[derive(Debug)]
pub struct Failed;

impl Classify for Failed {
    fn classify(&self) -> Outcome {
        Outcome::Failure(FailureKind::Server)
    }
}

impl From<Rejection> for Failed {
    fn from(_: Rejection) -> Self {
        Self
    }
}

pub struct Client {
    base: u32,
}

pub struct Response {
    id: u32,
}

impl Client {
    pub async fn send(&self, id: u32) -> Result<Response, Failed> {
        if id == u32::MAX { Err(Failed) } else { Ok(Response { id: self.base + id }) }
    }
}

impl Response {
    pub async fn read(self) -> Result<u32, Failed> {
        Ok(self.id)
    }
}

fn finish(future: impl Future<Output = Result<u32, Failed>>) -> u32 {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(value)) => value,
        _ => 0,
    }
}
HEAD
    for number in $(seq "$2"); do
        printf '\n%s\nasync fn function_%s(client: &Client, id: u32) -> Result<u32, Failed> {\n    %s\n' "$1" "$number" "$body"
        printf '    if id == %s { Err(Failed) } else { Ok(id + 1) }\n}\n' "$number"
        # A function of its own: one that calls a thousand inlined ones keeps the optimiser busy for minutes.
        printf '\n#[inline(never)]\nfn call_%s(client: &Client, id: u32) -> u32 {\n    finish(function_%s(client, id))\n}\n' \
            "$number" "$number"
    done
    printf '\nfn main() {\n    let client = Client { base: 1 };\n    let mut id = std::env::args().count() as u32;\n'
    for number in $(seq "$2"); do
        printf '    id = id.wrapping_add(call_%s(&client, id));\n' "$number"
    done
    printf '    println!("{id}");\n}\n'
}

# Seconds of CPU for `cargo check` of the package alone, the least of three.
checked() {
    local best=
    timed "$work/$1" cargo check
    for _ in 1 2 3; do
        touch "$work/$1/src/main.rs"
        timed "$work/$1" cargo check
        best=$(least "${best:-1e9}" "$cpu")
    done
    printf '%s' "$best"
}

size() {
    timed "$work/$1" env CARGO_PROFILE_RELEASE_STRIP=symbols cargo build --release
    stat -c %s "$CARGO_TARGET_DIR/release/$1"
}

thousand() {
    printf '\n## A thousand functions\n\n`cargo check` of the package alone (the least of three), and what a function adds to a stripped release binary.\n'
    # What they depend on is built once for all of them.
    export CARGO_TARGET_DIR="$work/thousand"
    thousand_of client 'Functions that await a request and its answer, as those that are guarded do'
    thousand_of small 'Functions that await nothing: what the attributes cost by themselves'
}

thousand_of() {
    printf '\n%s:\n\n' "$2"
    printf '| each of them | CPU s | against plain | bytes of binary, a function |\n| --- | ---: | ---: | ---: |\n'
    local plain plain_size name label attributes seconds bytes
    while IFS='|' read -r name label attributes; do
        name="$1-$name"
        attributes=$(printf '%b' "$attributes")
        package "$name" "$ours" "$(functions "$attributes" 1000 "$1")"
        printf '%s\n' "$policy" >"$work/$name/resilience.toml"
        seconds=$(checked "$name")
        # A hundred are enough to see what one adds.
        functions "$attributes" 100 "$1" >"$work/$name/src/main.rs"
        bytes=$(size "$name")
        if [ "$name" = "$1-bare" ]; then
            plain=$seconds plain_size=$bytes
            printf '| %s | %s | 1.0 | – |\n' "$label" "$seconds"
        else
            awk -v l="$label" -v s="$seconds" -v p="$plain" -v b="$bytes" -v q="$plain_size" \
                'BEGIN { printf "| %s | %s | %.1f | %.0f |\n", l, s, s / p, (b - q) / 100 }'
        fi
    done <<<"$rows"
}

# Runs the compiler of the package at hand under Valgrind; its busiest thread is the one that compiles.
counted() {
    local rustc name label attributes few many
    rustc="$(rustc --print sysroot)/bin/rustc"
    printf '#!/bin/sh\nshift\nexec valgrind --tool=exp-bbv --bb-out-file=/dev/null --log-file="%s" "%s" "$@"\n' \
        "$work/counts" "$rustc" >"$work/wrapper"
    chmod +x "$work/wrapper"
    export CARGO_TARGET_DIR="$work/counted"
    printf '\n## Instructions of rustc for one function more\n\n`cargo check`, in millions, by 20 and by 60 functions that await a request and its answer.\n\n'
    printf '| each of them | millions |\n| --- | ---: |\n'
    while IFS='|' read -r name label attributes; do
        attributes=$(printf '%b' "$attributes")
        few=$(instructions "$name" "$attributes" 20)
        many=$(instructions "$name" "$attributes" 60)
        awk -v l="$label" -v f="$few" -v m="$many" 'BEGIN { printf "| %s | %.1f |\n", l, (m - f) / 40 / 1e6 }'
    done <<<"$rows"
}

instructions() {
    package "counted-$1" "$ours" "$(functions "$2" "$3" client)"
    printf '%s\n' "$policy" >"$work/counted-$1/resilience.toml"
    timed "$work/counted-$1" cargo check
    touch "$work/counted-$1/src/main.rs"
    timed "$work/counted-$1" env RUSTC_WORKSPACE_WRAPPER="$work/wrapper" cargo check
    awk '/Total instructions/ && $NF > most { most = $NF } END { print most }' "$work/counts"
}

rows='bare|plain|
one|`#[breaker]`, `#[fallback(none)]`|#[breaker("far")]\n#[fallback(none = "counted, not kept")]
two|`#[breaker]`, `#[bulkhead]`, `#[fallback(value)]`|#[breaker("far")]\n#[bulkhead]\n#[fallback(value = 0)]'

printf '# Compile time\n\nWritten by `benches/compile.sh` on %s, %s cores, %s, load %s.\n' \
    "$(date -u +%F)" "$(nproc)" "$(rustc --version)" "$(cut -d' ' -f1 /proc/loadavg)"
case ${1:-all} in
    hello) hellos ;;
    thousand) thousand ;;
    counted) counted ;;
    all)
        hellos
        thousand
        ;;
    *)
        printf 'unknown part `%s`: known are `hello`, `thousand` and `counted`\n' "$1" >&2
        exit 2
        ;;
esac
