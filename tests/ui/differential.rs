//! Every shape twice, with our attributes and with attributes that do nothing, in each edition: the same results, the
//! same order of drops and count of clones (the shapes' own tests look at those), futures that are as good as the bare
//! ones and hardly larger, and the same lints about the user's code.

mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use workspace::{HERE, Workspace, messages, policy, rendered};

const EDITIONS: [&str; 3] = ["2018", "2021", "2024"];

/// What a guarded future may add to the bare one, in bytes.
const ROOM: usize = 512;

/// Places that see several guarded futures at once, one in the other or side by side.
const SEVERAL: [(&str, usize); 5] = [
    ("bodies.rs:", 2),
    ("forms.rs:", 3),
    ("places.rs:", 3),
    ("s10.rs:", 2),
    ("s39.rs:", 3),
];

/// Tests of what the policy adds: rejections and their fallbacks, further attempts, slots, counts.
const BY_THE_POLICY: [&str; 24] = [
    "arguments::generics_and_opaque_types_are_run_again",
    "arguments::patterns_are_unpacked_for_each_attempt_and_passed_on_whole",
    "arguments::receivers_of_every_kind_are_there_again",
    "arguments::s16_parameters_under_cfg_are_cloned_and_passed_on_only_where_they_exist",
    "arguments::s29_a_parameter_may_be_named_like_the_fallback",
    "arguments::s36_an_argument_by_value_is_cloned_only_where_the_body_could_have_used_it_up",
    "arguments::send_is_kept_for_arguments_that_are_not_sync",
    "boxed::a_boxed_body_is_run_again_with_its_receiver_and_its_arguments",
    "boxed::s12_a_fallback_method_under_async_trait_gets_the_receiver",
    "decided::lo_27_lo_30_what_fails_closed_refuses_in_every_state",
    "decided::rt_r15_what_fails_open_answers_with_something_lesser",
    "forms::a_key_has_slots_of_its_own",
    "forms::each_form_gives_what_it_says",
    "hygiene::raw_names_are_kept",
    "hygiene::s27_fragments_of_expressions_stay_grouped",
    "order::s19_every_order_of_the_attributes_means_the_same",
    "s08::s08_a_pinned_receiver_is_lent_to_each_attempt_and_to_the_fallback",
    "s09::s09_fallback_as_a_free_function_a_path_in_another_module_an_associated_function_a_method",
    "s11::s11_inside_async_trait",
    "s13::s13_stacked_with_tracing_instrument_above_and_below",
    "s17::s17_imports_renamed_attribute_written_as_a_path",
    "s34::s34_cancelled_panicked_and_never_polled_calls_give_their_slot_back",
    "s35::s35_owned_argument_consumed_by_the_body_called_again_by_a_retry",
    "s37::s37_mut_self_with_a_retry_and_a_fallback_method",
];

/// Attributes that give their item back.
const IDLE: &str = "
use proc_macro::TokenStream;
#[proc_macro_attribute] pub fn breaker(_: TokenStream, item: TokenStream) -> TokenStream { item }
#[proc_macro_attribute] pub fn bulkhead(_: TokenStream, item: TokenStream) -> TokenStream { item }
#[proc_macro_attribute] pub fn retry(_: TokenStream, item: TokenStream) -> TokenStream { item }
#[proc_macro_attribute] pub fn timeout(_: TokenStream, item: TokenStream) -> TokenStream { item }
#[proc_macro_attribute] pub fn fallback(_: TokenStream, item: TokenStream) -> TokenStream { item }
";

/// The runtime with those attributes.
const BARE: &str = "
pub use resilience_runtime::*;
pub use idle::{breaker, bulkhead, fallback, retry, timeout};
";

/// Says how large a future is, and where in the source it stands.
const SIZED: &str = "
#[track_caller]
fn sized<T>(value: &T) {
    println!(\"size {} {}\", std::panic::Location::caller(), std::mem::size_of_val(value));
}
";

/// A workspace with the shapes as packages `guarded-EDITION` and `bare-EDITION`.
fn shapes() -> Workspace {
    let names = EDITIONS
        .iter()
        .flat_map(|edition| [package("guarded", edition), package("bare", edition)]);
    let mut members: Vec<String> = names.collect();
    members.extend(["idle".to_owned(), "bare".to_owned()]);
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let workspace = Workspace::new("shapes", &members);
    workspace.write("resilience.toml", &policy());
    workspace.write(
        "idle/Cargo.toml",
        "[package]\nname = \"idle\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n",
    );
    workspace.write("idle/src/lib.rs", IDLE);
    workspace.member("bare", "2024", "resilience-runtime", "idle = { path = \"../idle\" }\n");
    workspace.write("bare/src/lib.rs", BARE);
    let extra = "async-trait = \"0.1\"\n\
         tokio = { version = \"1\", features = [\"rt\", \"time\", \"macros\", \"test-util\"] }\n\
         tracing = { version = \"0.1\", features = [\"attributes\"] }\n";
    for edition in EDITIONS {
        let guarded = package("guarded", edition);
        workspace.member(&guarded, edition, "resilience-runtime", extra);
        let bare = package("bare", edition);
        workspace.write(
            &format!("{bare}/Cargo.toml"),
            &format!(
                "[package]\nname = {bare:?}\nversion = \"0.0.0\"\nedition = {edition:?}\n[dependencies]\n\
                 resilience-runtime = {{ package = \"bare\", path = \"../bare\" }}\n{extra}"
            ),
        );
        write_shapes(&workspace, &guarded);
        write_shapes(&workspace, &bare);
    }
    workspace
}

fn package(kind: &str, edition: &str) -> String {
    format!("{kind}-{edition}")
}

fn write_shapes(workspace: &Workspace, package: &str) {
    for entry in fs::read_dir(Path::new(HERE).join("shapes")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = fs::read_to_string(&path).unwrap();
        let source = match name.as_str() {
            // Without what the shapes are allowed: here the lints are compared.
            "main.rs" => source.lines().filter(|line| line.starts_with("mod ")).fold(
                String::from("fn main() {}\n"),
                |all, line| {
                    if line == "mod kit;" {
                        all + "pub mod kit;\n"
                    } else {
                        all + line + "\n"
                    }
                },
            ),
            "kit.rs" => with_sizes(&source),
            // What is unused without us must not stop the bare ones.
            _ => source.replace("#![deny(", "#![warn("),
        };
        workspace.write(&format!("{package}/src/{name}"), &source);
    }
}

fn with_sizes(kit: &str) -> String {
    let kit = kit.replace("../resilience.toml", "../../resilience.toml");
    let (block_on, is_send) = (
        "pub fn block_on<F: Future>(future: F) -> F::Output {\n",
        "pub fn is_send<T: Send>(value: T) -> T {\n",
    );
    assert!(
        kit.contains(block_on) && kit.contains(is_send),
        "the kit is as expected"
    );
    let kit = kit.replace(block_on, &format!("#[track_caller]\n{block_on}    sized(&future);\n"));
    let kit = kit.replace(is_send, &format!("#[track_caller]\n{is_send}    sized(&value);\n"));
    kit + SIZED
}

/// What the tests of a package did.
#[derive(Default)]
struct Ran {
    /// Whether each test passed.
    passed: BTreeMap<String, bool>,
    /// The largest future that was seen at each place.
    sizes: BTreeMap<String, usize>,
    /// What the shapes tell of what they drop, clone and return, by test.
    told: Vec<String>,
}

/// Compiles the tests of all packages together, so that no core waits for a single one.
fn build(workspace: &Workspace, packages: &[String]) {
    let mut arguments = vec!["test", "--quiet", "--no-run"];
    arguments.extend(packages.iter().flat_map(|package| ["-p", package]));
    let output = workspace.cargo(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn run(workspace: &Workspace, package: &str) -> Ran {
    let output = workspace.cargo(&[
        "test",
        "--quiet",
        "-p",
        package,
        "--no-fail-fast",
        "--",
        "--show-output",
        "--format=pretty",
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    let mut ran = Ran::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["test", name, "...", result] => {
                ran.passed.insert(name.to_owned(), result == "ok");
            }
            ["size", place, bytes] => {
                let place = place.split_once("/src/").map_or(place, |(_, place)| place);
                let most = ran.sizes.entry(place.to_owned()).or_default();
                *most = bytes.parse::<usize>().expect("the kit prints a number").max(*most);
            }
            ["told", ..] => ran.told.push(line.to_owned()),
            _ => {}
        }
    }
    ran.told.sort();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!ran.passed.is_empty(), "{package}: {text}\n{error}");
    ran
}

/// `lint file:line:column` of each warning that clippy and rustc have, by package.
fn lints(workspace: &Workspace, packages: &[String]) -> BTreeMap<String, BTreeSet<String>> {
    let mut arguments = vec!["clippy", "--quiet", "--tests", "--message-format=json"];
    arguments.extend(packages.iter().flat_map(|package| ["-p", package]));
    arguments.extend(["--", "-Wclippy::pedantic", "-Wclippy::nursery"]);
    let output = workspace.cargo(&arguments);
    assert!(output.status.success(), "{}", rendered(&output));
    let mut found = BTreeMap::<_, BTreeSet<_>>::new();
    for message in messages(&output) {
        let id = message["package_id"].as_str().unwrap_or_default();
        let package = packages.iter().find(|package| id.contains(&format!("/{package}#")));
        let message = &message["message"];
        let (Some(package), Some(code)) = (package, message["code"]["code"].as_str()) else {
            continue;
        };
        let of_package = found.entry(package.clone()).or_default();
        let spans = message["spans"].as_array().into_iter().flatten();
        for span in spans.filter(|span| span["is_primary"] == true) {
            let file = span["file_name"].as_str().and_then(|file| file.rsplit('/').next());
            let file = file.unwrap_or_default();
            of_package.insert(format!("{code} {file}:{}:{}", span["line_start"], span["column_start"]));
        }
    }
    found
}

/// Whether a lint is about an expression of the user's that stands in one of our attributes, where nobody else reads it.
fn is_in_an_attribute(lint: &str) -> bool {
    let place = lint.split(' ').nth(1).unwrap_or_default();
    let mut parts = place.split(':');
    let (Some(file), Some(Ok(number))) = (parts.next(), parts.next().map(str::parse::<usize>)) else {
        return false;
    };
    let source = fs::read_to_string(Path::new(HERE).join("shapes").join(file)).unwrap_or_default();
    let text = source.lines().nth(number - 1).unwrap_or_default().trim_start();
    text.starts_with("#[fallback(") || text.starts_with("#[bulkhead(")
}

fn compare_runs(guarded: &Ran, bare: &Ran, edition: &str) {
    let failed = |ran: &Ran| -> BTreeSet<String> {
        let failed = ran.passed.iter().filter(|(_, passed)| !**passed);
        failed.map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(failed(guarded), BTreeSet::new(), "{edition}");
    let by_the_policy: BTreeSet<String> = BY_THE_POLICY.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(
        failed(bare),
        by_the_policy,
        "{edition}: what differs has to differ by the policy"
    );
    assert!(!guarded.told.is_empty());
    assert_eq!(guarded.told, bare.told, "{edition}");
    let mut large = Vec::new();
    for (place, bare) in &bare.sizes {
        let guards = SEVERAL
            .iter()
            .find(|(several, _)| place.starts_with(several))
            .map_or(1, |(_, guards)| *guards);
        let guarded = guarded.sizes[place];
        if guarded > bare + guards * ROOM {
            large.push(format!("{place}: {guarded} bytes instead of {bare}"));
        }
    }
    assert!(large.is_empty(), "{edition}: {large:#?}");
}

fn compare_lints(guarded: &BTreeSet<String>, bare: &BTreeSet<String>, edition: &str) {
    let more: Vec<_> = guarded
        .difference(bare)
        .filter(|lint| !is_in_an_attribute(lint))
        .collect();
    assert!(more.is_empty(), "{edition}: {more:#?}");
    // What a fallback uses is used, a guarded function awaits its guard, and clippy looks for needless lifetimes only
    // where a body names none, as our static does, and for a needless `?` only at the end of the outermost block.
    let silenced = [
        "dead_code",
        "unused_variables",
        "unused_imports",
        "clippy::unused_async",
        "clippy::needless_lifetimes",
        "clippy::needless_question_mark",
    ];
    let less: Vec<_> = bare
        .difference(guarded)
        .filter(|lint| !silenced.contains(&lint.split(' ').next().unwrap_or_default()))
        .collect();
    assert!(less.is_empty(), "{edition}: {less:#?}");
    assert!(!guarded.is_empty(), "the shapes are no models of style");
}

#[test]
fn every_shape_is_what_it_is_without_us_in_every_edition() {
    let workspace = shapes();
    let pairs = EDITIONS.map(|edition| [package("guarded", edition), package("bare", edition)]);
    let packages = pairs.concat();
    build(&workspace, &packages);
    let lints = lints(&workspace, &packages);
    for (edition, pair) in EDITIONS.iter().zip(&pairs) {
        let [guarded, bare] = pair.each_ref().map(|package| run(&workspace, package));
        compare_runs(&guarded, &bare, edition);
        let [guarded, bare] = pair.each_ref().map(|package| &lints[package]);
        compare_lints(guarded, bare, edition);
    }
}
