//! What both programs of this package share: claims about a run that can fail.

use std::fmt;

/// Something that the run was meant to show, and what was seen.
pub struct Claim {
    text: &'static str,
    seen: String,
    held: bool,
}

impl Claim {
    /// A claim that held or did not.
    pub fn new(text: &'static str, held: bool, seen: impl fmt::Display) -> Self {
        Self {
            text,
            seen: seen.to_string(),
            held,
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.held { "held  " } else { "BROKEN" };
        write!(f, "{verdict}  {}: {}", self.text, self.seen)
    }
}

/// Prints the claims and how many held; whether all did.
pub fn tell(claims: &[Claim]) -> bool {
    for claim in claims {
        println!("{claim}");
    }
    let held = claims.iter().filter(|claim| claim.held).count();
    println!("\n{held} of {} claims held", claims.len());
    held == claims.len()
}
