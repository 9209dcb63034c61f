//! By which path the user's crate reaches the runtime.
//!
//! There is no `$crate` for procedural macros: the path is what `crate = path` says, else the name under which the
//! user's manifest depends on the runtime, else `::resilience_runtime`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use toml::de::{DeTable, DeValue};

/// The package, as a manifest names it.
const PACKAGE: &str = "resilience-runtime";
/// The crate, as source names it.
const CRATE: &str = "resilience_runtime";

/// The path after `crate =`, if one of the attributes' arguments has it.
pub(crate) fn written(args: impl Iterator<Item = TokenStream>) -> Option<TokenStream> {
    args.into_iter().find_map(path_of)
}

/// `::resilience_runtime`, or what the manifest calls it.
pub(crate) fn default() -> TokenStream {
    let name = renamed().unwrap_or_else(|| CRATE.to_owned());
    let span = Span::mixed_site();
    let name = Ident::new(&name, span);
    quote_spanned!(span=> ::#name)
}

/// The tokens after `crate =` up to the next comma. A literal is somebody else's option of that name.
fn path_of(args: TokenStream) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = args.into_iter().collect();
    let starts = |at: usize| at == 0 || is_punct(&tokens[at - 1], ',');
    let at = (0..tokens.len()).find(|at| {
        starts(*at)
            && matches!(&tokens[*at], TokenTree::Ident(name) if name == "crate")
            && tokens.get(at + 1).is_some_and(|token| is_punct(token, '='))
    })?;
    let path: Vec<TokenTree> = tokens[at + 2..]
        .iter()
        .take_while(|token| !is_punct(token, ','))
        .cloned()
        .collect();
    let literal = path.iter().any(|token| matches!(token, TokenTree::Literal(_)));
    (!path.is_empty() && !literal).then(|| path.into_iter().collect())
}

fn is_punct(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

/// The other name that the manifest of the package at work gives to the runtime.
fn renamed() -> Option<String> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Option<String>>>> = LazyLock::new(Mutex::default);

    let folder = std::env::var("CARGO_MANIFEST_DIR").ok()?;
    // One compiler process serves one package, an editor's server many for long: the text is compared, not the time.
    let text = std::fs::read_to_string(Path::new(&folder).join("Cargo.toml")).ok()?;
    if !text.contains(PACKAGE) && !text.contains("workspace") {
        return None;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .entry(text)
        .or_insert_with_key(|text| alias(text, || workspace_of(Path::new(&folder))))
        .clone()
}

/// The text of the nearest manifest above with a `[workspace]`.
fn workspace_of(package: &Path) -> Option<String> {
    package.ancestors().find_map(|folder| {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        let root = DeTable::parse(&text).ok()?.get_ref().contains_key("workspace");
        root.then_some(text)
    })
}

/// The name under which a manifest has the package, unless that is its own.
fn alias(manifest: &str, workspace: impl Fn() -> Option<String>) -> Option<String> {
    let manifest = DeTable::parse(manifest).ok()?;
    let mut inherited = Vec::new();
    let mut found = None;
    each_dependency(manifest.get_ref(), &mut |key, dependency| match dependency {
        DeValue::Table(table) if text_of(table, "package") == Some(PACKAGE) => found = Some(key.to_owned()),
        DeValue::Table(table) if table.contains_key("workspace") => inherited.push(key.to_owned()),
        _ if key == PACKAGE => found = Some(CRATE.to_owned()),
        _ => {}
    });
    if found.is_none() && !inherited.is_empty() {
        let text = workspace()?;
        let root = DeTable::parse(&text).ok()?;
        let DeValue::Table(workspace) = root.get_ref().get("workspace")?.get_ref() else {
            return None;
        };
        let DeValue::Table(dependencies) = workspace.get("dependencies")?.get_ref() else {
            return None;
        };
        found = inherited.into_iter().find(|key| {
            dependencies.get(key.as_str()).is_some_and(
                |value| matches!(value.get_ref(), DeValue::Table(table) if text_of(table, "package") == Some(PACKAGE)),
            )
        });
    }
    found
        .map(|name| name.replace('-', "_"))
        .filter(|name| name != CRATE && syn::parse_str::<Ident>(name).is_ok())
}

fn text_of<'t>(table: &'t DeTable<'_>, key: &str) -> Option<&'t str> {
    match table.get(key)?.get_ref() {
        DeValue::String(text) => Some(text),
        _ => None,
    }
}

fn each_dependency<'t>(manifest: &'t DeTable<'_>, visit: &mut impl FnMut(&'t str, &'t DeValue<'_>)) {
    for (name, value) in manifest {
        let DeValue::Table(table) = value.get_ref() else {
            continue;
        };
        match name.get_ref().as_ref() {
            "dependencies" | "dev-dependencies" | "build-dependencies" => {
                for (key, dependency) in table {
                    visit(key.get_ref(), dependency.get_ref());
                }
            }
            "target" => {
                for target in table.values() {
                    if let DeValue::Table(target) = target.get_ref() {
                        each_dependency(target, visit);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_without_a_rename_needs_no_other_path() {
        assert_eq!(alias("[dependencies]\nresilience-runtime = \"0.1\"", || None), None);
    }

    #[test]
    fn a_rename_is_found_in_every_kind_of_dependency() {
        for table in ["dependencies", "dev-dependencies", "target.'cfg(unix)'.dependencies"] {
            let text = format!("[{table}]\nguard-rail = {{ package = \"resilience-runtime\", version = \"0.1\" }}");
            assert_eq!(alias(&text, || None).as_deref(), Some("guard_rail"), "{table}");
        }
    }

    #[test]
    fn a_rename_is_inherited_from_the_workspace() {
        let root = "[workspace.dependencies]\nrr = { package = \"resilience-runtime\", version = \"0.1\" }";
        let member = "[dependencies]\nserde.workspace = true\nrr.workspace = true";
        assert_eq!(alias(member, || Some(root.to_owned())).as_deref(), Some("rr"));
    }

    #[test]
    fn a_workspace_that_does_not_say_it_renames_nothing() {
        let member = "[dependencies]\nrr.workspace = true";
        for root in [
            None,
            Some("not TOML"),
            Some("[package]"),
            Some("workspace = 1"),
            Some("[workspace]"),
            Some("[workspace]\ndependencies = 1"),
            Some("[workspace.dependencies]\nrr = \"0.1\""),
            Some("[workspace.dependencies]\nrr = { package = 1 }"),
            Some("[workspace.dependencies]\nother = { package = \"resilience-runtime\" }"),
        ] {
            assert_eq!(alias(member, || root.map(str::to_owned)), None, "{root:?}");
        }
        for manifest in [
            "not TOML",
            "dependencies = 1",
            "[target]\nx = 1",
            "[dependencies]\n1st = { package = \"resilience-runtime\" }",
        ] {
            assert_eq!(alias(manifest, || None), None, "{manifest}");
        }
    }

    #[test]
    fn a_crate_path_is_read_and_a_literal_is_not_ours() {
        let path = |text: &str| path_of(text.parse().expect("the test's own tokens")).map(|path| path.to_string());
        assert_eq!(
            path("\"payrail\", crate = facade::rt, key = n").as_deref(),
            Some("facade :: rt")
        );
        assert_eq!(path("crate = \"tokio\""), None);
        assert_eq!(path("skip(crate = x)"), None);
    }
}
