//! Finding the policy, putting it in force for the process, watching it.

use std::fmt;
use std::path::{Path, PathBuf};

use resilience_policy::{Fault, Policy, PolicyError, lookup};

use crate::circle::Circle;
use crate::missing::Missing;
use crate::runtime::{self, Runtime};
use crate::watch::Watch;

/// Where a policy file is looked for, and waited for, at run time.
const FILE: &str = "resilience.toml";

/// Keeps the policy file watched; dropping it ends the watching and leaves the policy in force.
#[derive(Debug)]
#[must_use = "dropping it stops the watching of the policy file"]
pub struct Resilience {
    runtime: Runtime,
    _watch: Watch,
}

impl Resilience {
    /// The runtime of the process.
    #[inline]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

/// Finds the policy file, loads it, installs it for the process and watches it.
///
/// Looked for in this order: the file named by the variable `RESILIENCE_POLICY`, `resilience.toml` in the working
/// directory, the policy compiled into the binary. Variables like `RESILIENCE__PAYRAIL__TIMEOUT` override single
/// keys. Works outside of tokio too. Where there is no file, the place in the working directory is watched: one that
/// appears there is taken, and so is an overrides file beside it.
///
/// # Errors
///
/// When the file that is named cannot be read, when it has faults, when it lacks a dependency or a table that an
/// annotated function names, when a fallback leads back to the dependency that failed, and when the process has a runtime
/// already.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let _resilience = resilience_runtime::init()?;
/// # Ok(()) }
/// ```
#[inline]
pub fn init() -> Result<Resilience, InitError> {
    if let Some(file) = lookup::at_run_time(None)? {
        return from_file(&file);
    }
    let environment = resilience_policy::environment();
    let policy = runtime::compiled_in_policy(&environment)?;
    let runtime = Runtime::new(policy);
    runtime.install()?;
    let watch = Watch::start(runtime.clone(), PathBuf::from(FILE), None, environment);
    Ok(Resilience { runtime, _watch: watch })
}

/// The same with the file at `path`.
///
/// # Errors
///
/// As [`init`].
#[inline]
pub fn init_from(path: impl AsRef<Path>) -> Result<Resilience, InitError> {
    match lookup::at_run_time(Some(path.as_ref()))? {
        Some(file) => from_file(&file),
        None => from_file(path.as_ref()),
    }
}

#[inline]
fn from_file(file: &Path) -> Result<Resilience, InitError> {
    let environment = resilience_policy::environment();
    let (bytes, policy) = Policy::read_with(file, &environment)?;
    let runtime = Runtime::new(policy);
    runtime.install()?;
    let watch = Watch::start(runtime.clone(), file.to_owned(), Some(bytes), environment);
    Ok(Resilience { runtime, _watch: watch })
}

/// Why the process has no runtime of its own.
pub struct InitError {
    kind: Kind,
}

enum Kind {
    Policy(PolicyError),
    Refused {
        file: String,
        missing: Vec<Missing>,
        circles: Vec<Circle>,
    },
    Second,
}

impl InitError {
    #[inline]
    pub(crate) fn refused(file: &Path, missing: Vec<Missing>, circles: Vec<Circle>) -> Self {
        Self {
            kind: Kind::Refused {
                file: file.display().to_string(),
                missing,
                circles,
            },
        }
    }

    #[inline]
    pub(crate) fn second() -> Self {
        Self { kind: Kind::Second }
    }

    /// The faults of the policy, if it could not be loaded.
    #[inline]
    pub fn faults(&self) -> &[Fault] {
        match &self.kind {
            Kind::Policy(error) => error.faults(),
            _ => &[],
        }
    }

    /// The functions whose dependency or table the policy lacks.
    #[inline]
    pub fn functions(&self) -> &[Missing] {
        match &self.kind {
            Kind::Refused { missing, .. } => missing,
            _ => &[],
        }
    }

    /// The functions whose fallback leads back to the dependency that failed.
    #[inline]
    pub fn circles(&self) -> &[Circle] {
        match &self.kind {
            Kind::Refused { circles, .. } => circles,
            _ => &[],
        }
    }
}

impl From<PolicyError> for InitError {
    #[inline]
    fn from(error: PolicyError) -> Self {
        Self {
            kind: Kind::Policy(error),
        }
    }
}

impl fmt::Display for InitError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Policy(error) => error.fmt(f),
            Kind::Refused { file, missing, circles } => {
                let mut between = "";
                if !missing.is_empty() {
                    write!(f, "{file}: the policy lacks what annotated functions name")?;
                    for missing in missing {
                        write!(f, "\n  {missing}")?;
                    }
                    between = "\n";
                }
                for circle in circles {
                    write!(f, "{between}{circle}")?;
                    between = "\n";
                }
                Ok(())
            }
            Kind::Second => f.write_str(
                "the process has a resilience runtime already; call `init` or `install` once, and use `Runtime::scope` for further ones",
            ),
        }
    }
}

impl fmt::Debug for InitError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for InitError {}
