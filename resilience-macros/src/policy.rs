//! The policy file of the package at work: found, read and checked once per content, tracked by the build.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use proc_macro2::{Literal, Span, TokenStream};
use quote::quote_spanned;
use resilience_policy::{Policy, lookup};

/// A checked policy and how the user's crate names its file.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) policy: Policy,
    place: Place,
}

/// The file, as the emitted code names it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// Below or above the package: a path from its folder, which stays right when the whole tree is moved.
    Relative(String),
    Absolute(String),
}

impl Source {
    /// The policy of the package at work.
    ///
    /// # Errors
    /// What to tell the user: no file, or all its faults.
    pub(crate) fn find() -> Result<Self, String> {
        // Never the working directory: an editor's server has another one, and cargo the workspace's.
        let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else {
            return Err(
                "`CARGO_MANIFEST_DIR` is not set, so the policy file cannot be looked for: build with cargo".to_owned(),
            );
        };
        Self::find_from(&package, std::env::var_os(lookup::VARIABLE).as_deref())
    }

    fn find_from(package: &Path, variable: Option<&OsStr>) -> Result<Self, String> {
        let file = lookup::at_compile_time(package, variable)
            .map_err(|error| format!("{error}, as a path from the package's folder"))?;
        let policy = read(&file)?;
        Ok(Self {
            policy,
            place: Place::of(&file, package),
        })
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        let policy = Policy::from_toml(text).expect("the test's own policy");
        Self {
            policy,
            place: Place::Relative("/resilience.toml".to_owned()),
        }
    }

    /// The file as messages name it.
    pub(crate) fn file(&self) -> String {
        self.policy.file().display().to_string()
    }

    /// The file as the runtime's site names it.
    pub(crate) fn name(&self) -> &str {
        match &self.place {
            Place::Relative(path) => path.trim_start_matches('/'),
            Place::Absolute(path) => path,
        }
    }

    /// The text as an expression. `include_str!` is also what makes cargo rebuild after an edit of the file.
    pub(crate) fn text(&self) -> TokenStream {
        let span = Span::mixed_site();
        match &self.place {
            Place::Relative(path) => {
                let path = Literal::string(path);
                quote_spanned!(span=> ::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #path)))
            }
            Place::Absolute(path) => {
                let path = Literal::string(path);
                quote_spanned!(span=> ::core::include_str!(#path))
            }
        }
    }
}

impl Place {
    fn of(file: &Path, package: &Path) -> Self {
        let file = plain(file);
        let package = plain(package);
        let folder = file.parent().unwrap_or(&file);
        // The nearest folder that both are in, if one of them is that folder.
        let up = package.ancestors().position(|above| above == folder);
        let below = folder.strip_prefix(&package).ok();
        let name = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy();
        match (up, below) {
            (Some(up), _) => Self::Relative(format!("{}/{name}", "/..".repeat(up))),
            (None, Some(below)) => {
                // With `/` on every system: the path becomes part of the source.
                let mut path = String::from("/");
                for part in below {
                    path.push_str(&part.to_string_lossy());
                    path.push('/');
                }
                Self::Relative(path + &name)
            }
            (None, None) => Self::Absolute(file.to_string_lossy().into_owned()),
        }
    }
}

/// Without `.` and `..`, by the letters alone: `RESILIENCE_POLICY = "../resilience.toml"` lies above the package.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// What is kept of a file between two attributes.
struct Kept {
    modified: Option<SystemTime>,
    length: u64,
    verdict: Result<Policy, String>,
}

/// One read and one check per content and process, for a thousand attributes of one crate. An editor's server lives
/// through many edits, so a file that changed is read again.
fn read(file: &Path) -> Result<Policy, String> {
    static KEPT: LazyLock<Mutex<HashMap<PathBuf, Kept>>> = LazyLock::new(Mutex::default);

    let stamp = std::fs::metadata(file)
        .ok()
        .map(|data| (data.modified().ok(), data.len()));
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some(known), Some((modified, length))) = (kept.get(file), stamp)
        && known.length == length
        && known.modified == modified
        && modified.is_some()
    {
        return known.verdict.clone();
    }
    let verdict = Policy::read(file).map_err(|error| error.to_string());
    let (modified, length) = stamp.unwrap_or((None, 0));
    kept.insert(
        file.to_owned(),
        Kept {
            modified,
            length,
            verdict: verdict.clone(),
        },
    );
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, package: &str) -> Place {
        Place::of(Path::new(file), Path::new(package))
    }

    #[test]
    fn a_file_in_or_above_the_package_is_named_from_the_package() {
        assert_eq!(
            place("/w/a/resilience.toml", "/w/a"),
            Place::Relative("/resilience.toml".to_owned())
        );
        assert_eq!(
            place("/w/resilience.toml", "/w/crates/a"),
            Place::Relative("/../../resilience.toml".to_owned())
        );
        assert_eq!(
            place("/w/a/conf/x/p.toml", "/w/a"),
            Place::Relative("/conf/x/p.toml".to_owned())
        );
        assert_eq!(
            place("/w/a/../p.toml", "/w/a"),
            Place::Relative("/../p.toml".to_owned())
        );
    }

    #[test]
    fn a_file_elsewhere_is_named_in_full() {
        assert_eq!(place("/etc/p.toml", "/w/a"), Place::Absolute("/etc/p.toml".to_owned()));
        assert_eq!(place("/w/b/p.toml", "/w/a"), Place::Absolute("/w/b/p.toml".to_owned()));
    }
}
