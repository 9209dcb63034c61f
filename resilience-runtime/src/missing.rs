//! What annotated functions need and a policy lacks.

use std::fmt;

use resilience_policy::{Dependency, Fail, Policy};

use crate::private::Form;
use crate::site::{self, Site};

/// One function whose dependency, or a table of it, a policy lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    dependency: String,
    table: Option<&'static str>,
    function: Option<String>,
    place: Option<String>,
    nearest: Option<String>,
    plain: bool,
}

impl Missing {
    /// The dependency that the function names.
    #[inline]
    pub fn dependency(&self) -> &str {
        &self.dependency
    }

    /// The table or key that is missing in it; `None` if the dependency itself is.
    #[inline]
    pub fn table(&self) -> Option<&str> {
        self.table
    }

    /// The path of the function; `None` for a guard that was made by name.
    #[inline]
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }
}

impl fmt::Display for Missing {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(function) => write!(f, "function `{function}`")?,
            None => f.write_str("a guard in use")?,
        }
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        let name = &self.dependency;
        if self.plain {
            return write!(
                f,
                " returns no `Result` and only its fallback can answer, but `{name}` has fail = \"closed\"; set fail = \"open\" or give the function a `Result`"
            );
        }
        match self.table {
            Some("timeout") => write!(f, " needs `timeout` in [dependency.{name}]"),
            Some(table) => write!(f, " needs the table [dependency.{name}.{table}]"),
            None => {
                write!(f, " names `{name}`, which the policy lacks")?;
                match &self.nearest {
                    Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
                    None => write!(f, "; add [dependency.{name}]"),
                }
            }
        }
    }
}

/// What the linked functions need.
#[inline]
pub(crate) fn for_install(policy: &Policy) -> Vec<Missing> {
    site::all().flat_map(|site| for_site(policy, site)).collect()
}

/// What guards and functions that are in use need.
#[inline]
pub(crate) fn for_names<'a>(policy: &Policy, names: impl Iterator<Item = &'a str>) -> Vec<Missing> {
    names
        .filter(|name| policy.dependency(name).is_none())
        .map(|name| Missing {
            dependency: name.to_owned(),
            table: None,
            function: None,
            place: None,
            nearest: policy.nearest(name).map(str::to_owned),
            plain: false,
        })
        .collect()
}

#[inline]
fn for_site(policy: &Policy, site: &'static Site) -> Vec<Missing> {
    let spec = site.spec();
    let lacks = |table: Option<&'static str>, plain: bool| Missing {
        dependency: spec.dependency.to_owned(),
        table,
        function: Some(site.path()),
        place: Some(format!("{}:{}", spec.file, spec.line)),
        nearest: policy.nearest(spec.dependency).map(str::to_owned),
        plain,
    };
    let Some(settings) = policy.dependency(spec.dependency) else {
        return vec![lacks(None, false)];
    };
    let mut missing: Vec<_> = site
        .needs()
        .filter(|table| !has(settings, table))
        .map(|table| lacks(Some(table), false))
        .collect();
    let must_answer = spec.plain && spec.forms.last() == Some(&Form::Value);
    if must_answer && settings.fail == Fail::Closed {
        missing.push(lacks(None, true));
    }
    missing
}

#[inline]
fn has(settings: &Dependency, table: &str) -> bool {
    match table {
        "breaker" => settings.breaker.is_some(),
        "bulkhead" => settings.bulkhead.is_some(),
        "retry" => settings.retry.is_some(),
        _ => settings.timeout.is_some(),
    }
}
