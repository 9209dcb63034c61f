//! The whole interface of the macros. Not for people: it changes with them, version by version.

pub use inventory;

pub use crate::classify::RetryAfter;
pub use crate::fallback::{Chain, StaleKey, stale_key};
pub use crate::guard::{Attempt, Call, Only, Whole, none, refuse, value};
pub use crate::ops::{
    Answers, End, Guarded, GuardedRefusing, MarkNone, Marker, Ops, Pick, PickPlain, PlainOps, Refuses, ResultOps, Turn,
    ops, ops_of, ops_refusing, ops_refusing_of, pick, pick_of, served, served_of,
};
pub use crate::site::{Site, SiteRef};

/// `#[breaker]` stands on the function.
pub const LAYER_BREAKER: u8 = 1;
/// `#[bulkhead]` stands on the function.
pub const LAYER_BULKHEAD: u8 = 2;
/// `#[retry]` stands on the function.
pub const LAYER_RETRY: u8 = 4;
/// `#[timeout]` stands on the function.
pub const LAYER_TIMEOUT: u8 = 8;

/// An annotated function, as its attributes describe it.
#[derive(Debug)]
pub struct Spec {
    /// `payrail`, or `payrail.refund`.
    pub dependency: &'static str,
    /// The function's bare name.
    pub function: &'static str,
    /// The module it stands in.
    pub module: &'static str,
    /// The name that rustc gives to something inside it, in full.
    pub here: fn() -> &'static str,
    /// The source file.
    pub file: &'static str,
    /// The line of the function.
    pub line: u32,
    /// The package that was compiled.
    pub package: &'static str,
    /// Where the policy was found at compile time.
    pub policy_file: &'static str,
    /// The policy's text as of the build.
    pub policy: &'static str,
    /// The layers that its attributes switch on.
    pub layers: u8,
    /// The fallback chain, as written.
    pub forms: &'static [Form],
    /// Whether it may be a function without `Result`, which nothing but an answer can satisfy.
    pub plain: bool,
}

/// The text of the policy. It depends on the file, and on the variable that says which file that is: who compiles has to
/// see both.
pub const fn text(policy: &'static str, _variable: Option<&'static str>) -> &'static str {
    policy
}

/// One form of a fallback chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `value = EXPR`
    Value,
    /// `path`, as written
    Path(&'static str),
    /// `with = path`, as written
    With(&'static str),
    /// `stale(…)`
    Stale,
    /// `refuse = path`, as written
    Refuse(&'static str),
    /// `none = "reason"`
    None(&'static str),
}

impl Form {
    /// The kind's word, as metrics and the snapshot have it.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Path(_) => "path",
            Self::With(_) => "with",
            Self::Stale => "stale",
            Self::Refuse(_) => "refuse",
            Self::None(_) => "none",
        }
    }

    /// What is called, as written.
    pub(crate) const fn path(&self) -> Option<&'static str> {
        match self {
            Self::Path(path) | Self::With(path) | Self::Refuse(path) => Some(path),
            Self::Value | Self::Stale | Self::None(_) => None,
        }
    }
}
