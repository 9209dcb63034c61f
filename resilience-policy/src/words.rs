//! The words that the file, the runtime, metrics and events share. One enum each, one spelling each.

use std::fmt;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used in the file, in JSON, labels and events.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value that this word stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
        }
    };
}

words! {
    /// What the operator lets the guards of a dependency do.
    Mode {
        /// Every layer acts.
        Enforce = "enforce",
        /// Every call is let through; what would have happened is reported.
        Observe = "observe",
        /// Every call is rejected, which exercises the fallback.
        Isolate = "isolate",
        /// The bare function, counted.
        Off = "off",
    }
}

words! {
    /// The decision of the dependency: may a caller get something lesser instead of an error?
    Fail {
        /// A fallback may only refuse, with an error.
        Closed = "closed",
        /// A fallback may answer with something lesser.
        Open = "open",
    }
}

words! {
    /// What kind of failure an attempt ended with.
    #[non_exhaustive]
    FailureKind {
        /// No answer in time.
        Timeout = "timeout",
        /// No connection.
        Connect = "connect",
        /// The far side said that it failed.
        Server = "server",
        /// The answer could not be understood.
        Protocol = "protocol",
        /// Anything else, panics included.
        Other = "other",
    }
}

words! {
    /// How a pause between attempts is spread.
    Jitter {
        /// Uniform from nothing to the whole pause.
        Full = "full",
        /// Half the pause, and up to half of it more.
        Equal = "equal",
        /// The pause as computed.
        None = "none",
    }
}

words! {
    /// Whom an answer of the kind "not now" binds.
    Throttle {
        /// The call that got it.
        Call = "call",
        /// Every new attempt of the dependency.
        Dependency = "dependency",
    }
}

words! {
    /// What an instance makes of what the others of its fleet counted.
    Evidence {
        /// It is shown who differs; nothing is decided by it.
        View = "view",
        /// Breakers too quiet to judge alone judge on what all instances counted.
        Pooled = "pooled",
    }
}

/// The failure kinds that a dependency counts and retries, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureKinds(u8);

impl FailureKinds {
    /// All five.
    pub const ALL: Self = Self(0b1_1111);
    /// None of them.
    pub const NONE: Self = Self(0);

    /// The same set with `kind` in it.
    #[must_use]
    pub const fn with(self, kind: FailureKind) -> Self {
        Self(self.0 | (1 << kind as u8))
    }

    /// Whether `kind` is in the set.
    pub const fn contains(self, kind: FailureKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// The members, in the order of the documentation.
    pub fn iter(self) -> impl Iterator<Item = FailureKind> {
        FailureKind::ALL
            .iter()
            .copied()
            .filter(move |kind| self.contains(*kind))
    }
}
