//! Where the policy file is looked for.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::check::bytes_of;
use crate::error::PolicyError;

/// The file's name.
pub const FILE: &str = "resilience.toml";
/// The variable that names another file.
pub const VARIABLE: &str = "RESILIENCE_POLICY";

/// No policy file was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotFound {
    /// The files that were looked for, in order.
    pub looked_at: Vec<PathBuf>,
}

impl fmt::Display for NotFound {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no policy file was found; looked for ")?;
        for (at, path) in self.looked_at.iter().enumerate() {
            write!(f, "{}`{}`", if at > 0 { ", " } else { "" }, path.display())?;
        }
        write!(f, "; write one, or name it in the variable `{VARIABLE}`")
    }
}

impl std::error::Error for NotFound {}

/// The file that the macros read: what the variable `RESILIENCE_POLICY` says, relative to the package; else
/// `resilience.toml` in the package's folder; else in its workspace's root, and no further up.
///
/// # Errors
///
/// None of these is there.
#[inline]
pub fn at_compile_time(package: &Path, variable: Option<&OsStr>) -> Result<PathBuf, NotFound> {
    if let Some(named) = variable.filter(|named| !named.is_empty()) {
        let path = package.join(named);
        return if path.exists() {
            Ok(path)
        } else {
            Err(NotFound { looked_at: vec![path] })
        };
    }
    let mut looked_at = Vec::new();
    let root = workspace_root(package);
    for folder in std::iter::once(package).chain(root.filter(|root| *root != package)) {
        let path = folder.join(FILE);
        if path.exists() {
            return Ok(path);
        }
        looked_at.push(path);
    }
    Err(NotFound { looked_at })
}

/// The bytes of a policy file.
///
/// # Errors
///
/// The file is too large, not a regular file, unreadable or missing.
#[inline]
pub fn bytes(file: &Path) -> Result<Vec<u8>, PolicyError> {
    bytes_of(file).map_err(|fault| PolicyError::one(*fault))
}

/// The nearest folder, the package's own included, whose `Cargo.toml` has a `[workspace]` table.
#[inline]
fn workspace_root(package: &Path) -> Option<&Path> {
    package.ancestors().find(|folder| {
        std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|manifest| {
            let (tree, _) = toml::de::DeTable::parse_recoverable(&manifest);
            tree.get_ref()
                .get("workspace")
                .is_some_and(|value| value.get_ref().is_table())
        })
    })
}

/// The file that a process reads: the argument; else what `RESILIENCE_POLICY` says, relative to the working
/// directory; else `resilience.toml` in the working directory; `None` where there is none of these.
///
/// # Errors
///
/// The argument or the variable names a file that cannot be read.
#[inline]
pub fn at_run_time(argument: Option<&Path>) -> Result<Option<PathBuf>, PolicyError> {
    let variable = std::env::var_os(VARIABLE)
        .filter(|named| !named.is_empty())
        .map(PathBuf::from);
    let named = argument.map(Path::to_path_buf).or(variable);
    if let Some(path) = named {
        bytes_of(&path).map_err(|fault| PolicyError::one(*fault))?;
        return Ok(Some(path));
    }
    let path = PathBuf::from(FILE);
    Ok(path.exists().then_some(path))
}
