//! For the button, before the card number is typed.

use crate::runtime::Runtime;

/// Whether a call of `dependency` would be admitted now. Takes nothing, so that it can be asked for every page; false for
/// a name that the policy does not have, with a warning in the log.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use resilience_runtime::{Policy, Runtime, available};
///
/// let policy = Policy::from_toml("version = 1\n[dependency.payrail]\nfail = \"closed\"\nmode = \"isolate\"\n")?;
/// let runtime = Runtime::new(policy);
/// assert!(!runtime.scope(async { available("payrail") }).await);
/// # Ok(()) }
/// ```
pub fn available(dependency: &str) -> bool {
    Runtime::current().available(dependency)
}
