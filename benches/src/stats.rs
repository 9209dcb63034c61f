//! Samples, and what is read from them.

/// The samples of a row, in nanoseconds a call.
#[derive(Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds one.
    pub fn add(&mut self, nanos: f64) {
        self.0.push(nanos);
    }

    /// The value that a tenth of the samples stay below: what the work costs when the machine leaves it alone.
    pub fn p10(&self) -> f64 {
        self.at(0.1)
    }

    /// The value in the middle.
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// Each of them.
    pub fn all(&self) -> &[f64] {
        &self.0
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // some hundred samples
    fn at(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let place = ((sorted.len() as f64 - 1.0) * share).round().max(0.0) as usize;
        sorted.get(place).copied().unwrap_or(f64::NAN)
    }
}

/// A number with as many digits as it can carry.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        "–".to_owned()
    } else if value >= 99.95 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}
