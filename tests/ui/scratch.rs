//! What needs a workspace of its own: mistakes that rustc reports, policy files that are edited, renamed crates and other
//! editions. One workspace and one target folder for all of it.

mod workspace;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use workspace::{HERE, Workspace, messages, policy, rendered};

/// `file:line code text` of each error's primary place.
fn errors(output: &Output) -> Vec<String> {
    let mut found = Vec::new();
    for message in messages(output) {
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        let spans = message["spans"].as_array().cloned().unwrap_or_default();
        for span in spans.iter().filter(|span| span["is_primary"] == true) {
            let file = Path::new(span["file_name"].as_str().unwrap_or(""))
                .file_name()
                .unwrap_or_default();
            let line = &span["text"][0];
            let at = |key: &str| usize::try_from(line[key].as_u64().unwrap_or(1)).unwrap() - 1;
            let text = line["text"].as_str().unwrap_or("");
            let text: String = text
                .chars()
                .skip(at("highlight_start"))
                .take(at("highlight_end") - at("highlight_start"))
                .collect();
            let code = message["code"]["code"].as_str().unwrap_or("-");
            found.push(format!("{}:{} {code} `{text}`", file.display(), span["line_start"]));
        }
    }
    found
}

/// The same as a source file expects it: `//~ code text`, several in one line.
fn expected(file: &str, source: &str) -> Vec<String> {
    let mut expected = Vec::new();
    for (at, line) in source.lines().enumerate() {
        let Some((_, notes)) = line.split_once("//~ ") else {
            continue;
        };
        let mut parts = notes.split('`');
        while let (Some(code), Some(text)) = (parts.next(), parts.next()) {
            expected.push(format!("{file}:{} {} `{text}`", at + 1, code.trim()));
        }
    }
    expected
}

#[test]
fn mistakes_that_rustc_reports_stand_where_the_user_made_them() {
    let workspace = Workspace::new("mistakes", &["mistakes"]);
    workspace.member("mistakes", "2021", "resilience-runtime", "");
    workspace.write("resilience.toml", &policy());
    let mut wanted = BTreeSet::new();
    for entry in fs::read_dir(Path::new(HERE).join("scratch")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = fs::read_to_string(&path).unwrap();
        wanted.extend(expected(&name, &source));
        let source = source.replace("mod kit;", &format!("#[path = \"{HERE}/misuse/kit/mod.rs\"]\nmod kit;"));
        // The line that names the kit's place must not move the others.
        let source = source.replacen("mod kit;\nuse kit::*;", "mod kit; use kit::*;", 1);
        workspace.write(&format!("mistakes/src/bin/{name}"), &source);
    }
    let output = workspace.check("mistakes");
    let found = errors(&output);
    assert_eq!(
        found.iter().cloned().collect::<BTreeSet<_>>(),
        wanted,
        "{}",
        rendered(&output)
    );
    assert_eq!(found.len(), wanted.len(), "each of them once");
}

const GUARDED: &str = "
use resilience_runtime::{Rejection, breaker, fallback};

#[breaker(\"payrail\")]
#[fallback(none = \"none\")]
async fn a(n: u32) -> Result<u32, Rejection> { Ok(n) }
#[breaker(\"payrail\")]
#[fallback(none = \"none\")]
async fn b(n: u32) -> Result<u32, Rejection> { Ok(n) }
fn main() { let _ = (a(1), b(1)); }
";

#[test]
fn s59_s60_the_policy_file_is_looked_for_judged_and_watched() {
    let workspace = Workspace::new("policies", &["crates/one"]);
    workspace.member("crates/one", "2024", "resilience-runtime", "");
    let manifest = fs::read_to_string(workspace.0.join("crates/one/Cargo.toml")).unwrap();
    workspace.write("crates/one/Cargo.toml", &manifest.replace("crates/one", "one"));
    workspace.write("crates/one/src/main.rs", GUARDED);

    // (i) No file: both places, and how to name another.
    let text = rendered(&workspace.check("one"));
    let root = workspace.0.display();
    assert!(text.contains(&format!("{root}/crates/one/resilience.toml")), "{text}");
    assert!(text.contains(&format!("{root}/resilience.toml")), "{text}");
    assert!(text.contains("RESILIENCE_POLICY"), "{text}");
    assert!(!text.contains("cannot find function"), "{text}");

    // (iii) A folder of that name.
    fs::create_dir(workspace.0.join("resilience.toml")).unwrap();
    let text = rendered(&workspace.check("one"));
    assert!(text.contains(&format!("{root}/resilience.toml")), "{text}");
    fs::remove_dir(workspace.0.join("resilience.toml")).unwrap();

    // (ii) A broken one.
    workspace.write("resilience.toml", "version = 1\n[dependency.payrail]\nretries = = 2\n");
    let text = rendered(&workspace.check("one"));
    assert!(text.contains(&format!("{root}/resilience.toml:3:11")), "{text}");

    // Mended, with no source touched.
    workspace.write("resilience.toml", &policy());
    let output = workspace.check("one");
    assert!(output.status.success(), "{}", rendered(&output));

    // S60: an edit is noticed, and is not noticed twice.
    let fresh = |output: &Output| {
        messages(output).iter().any(|message| {
            message["reason"] == "compiler-artifact" && message["target"]["name"] == "one" && message["fresh"] == true
        })
    };
    assert!(fresh(&workspace.check("one")));
    workspace.write("resilience.toml", &(policy() + "\n# Agreed.\n"));
    assert!(!fresh(&workspace.check("one")));
    assert!(fresh(&workspace.check("one")));
    workspace.write("resilience.toml", &policy().replace("payrail", "payrial"));
    let text = rendered(&workspace.check("one"));
    assert!(text.contains("did you mean `payrial`?"), "{text}");

    // (iv) A byte order mark and CRLF.
    workspace.write(
        "resilience.toml",
        &format!("\u{feff}{}", policy().replace('\n', "\r\n")),
    );
    let output = workspace.check("one");
    assert!(output.status.success(), "{}", rendered(&output));

    // The package's own file comes first.
    workspace.write("crates/one/resilience.toml", "version = 1\n");
    workspace.write("crates/one/src/main.rs", &format!("{GUARDED}\n"));
    let text = rendered(&workspace.check("one"));
    assert!(text.contains("no dependency yet: add `[dependency.payrail]`"), "{text}");
}

#[test]
fn renamed_and_re_exported_runtimes_and_older_editions_work() {
    let workspace = Workspace::new("places", &["renamed", "facade", "behind", "old", "older"]);
    workspace.write("resilience.toml", &policy());
    let renamed = GUARDED.replace("resilience_runtime::", "rr::");
    workspace.member("renamed", "2024", "rr", "");
    workspace.write(
        "renamed/src/main.rs",
        &(renamed + "#[derive(rr::Classify)]\n#[classify(server)]\npub struct E;\n"),
    );

    workspace.member("facade", "2024", "resilience-runtime", "");
    workspace.write(
        "facade/src/lib.rs",
        "pub mod deep { pub use resilience_runtime as rt; }\n",
    );
    workspace.write(
        "behind/Cargo.toml",
        "[package]\nname = \"behind\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\nfacade = { path = \"../facade\" }\n",
    );
    let behind = "
use facade::deep::rt::{Classify, Rejection, breaker, fallback, retry};

#[fallback(none = \"none\")]
#[breaker(\"payrail\")]
#[retry(crate = facade::deep::rt)]
async fn a(n: u32) -> Result<u32, Rejection> { Ok(n) }

#[derive(Classify)]
#[classify(crate = facade::deep::rt)]
pub enum E {
    #[classify(server)]
    Down,
}

fn main() { let _ = (a(1), E::Down); }
";
    workspace.write("behind/src/main.rs", behind);

    let shape = fs::read_to_string(Path::new(HERE).join("shapes/s23.rs")).unwrap();
    let shape = shape.replace("#[test]\n", "").replace(
        "fn s23_no_prelude_shadowed_crates_types_and_macros_no_unsafe",
        "fn main",
    );
    for (name, edition) in [("old", "2021"), ("older", "2018")] {
        workspace.member(name, edition, "resilience-runtime", "");
        workspace.write(&format!("{name}/src/main.rs"), &shape);
    }
    for package in ["renamed", "behind", "old", "older"] {
        let output = workspace.check(package);
        let text = rendered(&output);
        assert!(
            output.status.success() && !text.contains("warning"),
            "{package}: {text}"
        );
    }
}
