//! Fallbacks that lead back to the dependency that failed: found when a runtime is installed, among the functions that
//! were linked.
//!
//! A fallback's path is a text here, and it is read as rustc would read it as far as that needs no `use` lines: a bare
//! name, `Self::`, `self::`, `super::`, `crate::`, a path from the module on, or a path in full. What is imported is left
//! to `resilience audit`, which reads the source: a start that is refused for a name that only looks alike would be worse
//! than a circle that is found a step later.

use std::fmt;

use resilience_policy::Policy;
use resilience_policy::names::sorted;

use crate::private::Form;
use crate::site::{self, Site};

/// A function whose fallback calls, itself or by a further fallback, the dependency that it stands in for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Circle {
    dependencies: Vec<String>,
    functions: Vec<String>,
    place: String,
}

impl Circle {
    /// The dependencies on the way, the first and the last of which are one.
    #[inline]
    pub fn dependencies(&self) -> &[String] {
        &self.dependencies
    }

    /// The functions on the way.
    #[inline]
    pub fn functions(&self) -> &[String] {
        &self.functions
    }
}

impl fmt::Display for Circle {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the fallback of function `{}` ({}) leads back to what failed: {} (by {}); let it end in something else, or in `none`",
            self.functions.first().map_or("", String::as_str),
            self.place,
            self.dependencies.join(" → "),
            self.functions.join(" → ")
        )
    }
}

/// Every circle, one a function: the shortest.
#[inline]
pub(crate) fn find(policy: &Policy) -> Vec<Circle> {
    let sites: Vec<_> = site::all().map(Function::of).collect();
    let circles = sites
        .iter()
        .filter_map(|function| from(function, &sites, policy))
        .collect();
    sorted(circles, |one, other| one.functions.cmp(&other.functions))
}

/// The shortest way from the fallbacks of `first` to its own dependency.
#[inline]
fn from(first: &Function, all: &[Function], policy: &Policy) -> Option<Circle> {
    let goal = breaker_of(policy, first.dependency);
    let mut ways: Vec<Vec<&Function>> = vec![vec![first]];
    let mut seen: Vec<&Function> = Vec::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in &ways {
            let last = way[way.len() - 1];
            for next in last.fallbacks(all) {
                let mut way = way.clone();
                way.push(next);
                if breaker_of(policy, next.dependency) == goal {
                    return Some(circle(&way));
                }
                if !seen.iter().any(|known| std::ptr::eq(*known, next)) {
                    seen.push(next);
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    None
}

#[inline]
fn circle(way: &[&Function]) -> Circle {
    let first = way[0];
    Circle {
        dependencies: way.iter().map(|function| function.dependency.to_owned()).collect(),
        functions: way.iter().map(|function| function.shown()).collect(),
        place: first.place.clone(),
    }
}

/// An operation fails with its dependency unless it has a breaker of its own.
#[inline]
fn breaker_of<'a>(policy: &'a Policy, name: &'a str) -> &'a str {
    match policy.dependency(name) {
        Some(settings) if settings.breaker_shared => settings.parent.as_deref().unwrap_or(name),
        _ => name,
    }
}

/// A linked function, and where its name is found.
struct Function {
    dependency: &'static str,
    name: &'static str,
    module: &'static str,
    /// What encloses it: its module, the function it stands in, or the type whose method it is.
    scope: String,
    /// Whether that is a type.
    of_type: bool,
    called: Vec<&'static str>,
    place: String,
}

impl Function {
    #[inline]
    fn of(site: &'static Site) -> Self {
        let spec = site.spec();
        let called = spec.forms.iter().filter_map(|form| match form {
            Form::Path(path) | Form::With(path) => Some(*path),
            _ => None,
        });
        Self::new(
            spec.dependency,
            spec.function,
            spec.module,
            (spec.here)(),
            called.collect(),
            format!("{}:{}", spec.file, spec.line),
        )
    }

    /// `here` is the name that rustc gives to something inside the function.
    #[inline]
    fn new(
        dependency: &'static str,
        name: &'static str,
        module: &'static str,
        here: &str,
        called: Vec<&'static str>,
        place: String,
    ) -> Self {
        let (scope, of_type) = enclosing(here, name).unwrap_or_else(|| (module.to_owned(), false));
        Self {
            dependency,
            name,
            module,
            scope,
            of_type,
            called,
            place,
        }
    }

    #[inline]
    fn shown(&self) -> String {
        format!("{}::{}", self.scope, self.name)
    }

    #[inline]
    fn fallbacks<'a>(&self, all: &'a [Self]) -> impl Iterator<Item = &'a Self> {
        self.called.iter().filter_map(|path| self.resolve(path, all))
    }

    /// The linked function that `path` names here.
    #[inline]
    fn resolve<'a>(&self, path: &str, all: &'a [Self]) -> Option<&'a Self> {
        let find = |scope: &str, name: &str| all.iter().find(|other| other.scope == scope && other.name == name);
        let path = path.trim_start_matches("::");
        let Some((scope, name)) = path.rsplit_once("::") else {
            // An associated function is not found by its bare name, so a type is no place to look.
            let inner = (!self.of_type).then(|| find(&self.scope, path)).flatten();
            return inner.or_else(|| find(self.module, path));
        };
        if scope == "Self" {
            return self.of_type.then(|| find(&self.scope, name)).flatten();
        }
        let root = self.module.split("::").next().unwrap_or_default();
        let mut from = match scope.split("::").next() {
            Some("crate") => root,
            Some("self" | "super") => self.module,
            _ => return find(&format!("{}::{scope}", self.module), name).or_else(|| find(scope, name)),
        };
        let mut rest = scope;
        while let Some((first, further)) = head(rest) {
            match first {
                "crate" | "self" => {}
                "super" => from = from.rsplit_once("::")?.0,
                _ => return find(&format!("{from}::{rest}"), name),
            }
            rest = further;
        }
        find(from, name)
    }
}

#[inline]
fn head(path: &str) -> Option<(&str, &str)> {
    if path.is_empty() {
        return None;
    }
    Some(path.split_once("::").unwrap_or((path, "")))
}

/// The scope in `app::shop::seats::{{closure}}::__ResilienceHere`, and whether it is a type.
#[inline]
fn enclosing(here: &str, function: &str) -> Option<(String, bool)> {
    let mut path = here.split("::__ResilienceHere").next()?;
    while let Some(outer) = path.strip_suffix("::{{closure}}") {
        path = outer;
    }
    let scope = path.strip_suffix(function)?.strip_suffix("::")?;
    // A method of the type's own is `app::Shop::f`; `<app::Shop as app::Sells>::f` and `app::shop::<impl app::Shop>::f`
    // are of `app::Shop` too.
    let inner = scope
        .rsplit_once("<impl ")
        .map(|(_, inner)| inner)
        .or_else(|| scope.strip_prefix('<'));
    let Some(inner) = inner else {
        // A function that encloses another is the other thing that is no module, and is not written like a type.
        let last = scope.rsplit("::").next().unwrap_or_default();
        let of_type = last.starts_with(|first: char| first.is_uppercase());
        return Some((scope.to_owned(), of_type));
    };
    let inner = inner.strip_suffix('>')?;
    let of = inner.rsplit_once(" for ").map_or(inner, |(_, of)| of);
    let of = of.split_once(" as ").map_or(of, |(of, _)| of);
    Some((of.to_owned(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(module: &'static str, here: &str, name: &'static str, called: &[&'static str]) -> Function {
        let here = format!("{here}::{name}::{{{{closure}}}}::__ResilienceHere");
        Function::new("redis", name, module, &here, called.to_vec(), String::new())
    }

    fn resolved(from: &Function, path: &str, all: &[Function]) -> Option<String> {
        from.resolve(path, all).map(Function::shown)
    }

    #[test]
    fn what_encloses_a_function_is_read_from_its_full_name() {
        let of = |here: &str| enclosing(&format!("{here}::f::{{{{closure}}}}::__ResilienceHere"), "f").unwrap();
        assert_eq!(of("app::shop"), ("app::shop".to_owned(), false));
        assert_eq!(
            of("app::shop::outer::{{closure}}"),
            ("app::shop::outer::{{closure}}".to_owned(), false)
        );
        for method in [
            "app::Shop",
            "<app::Shop>",
            "<app::Shop as app::Sells>",
            "app::shop::<impl app::Shop>",
            "app::shop::<impl app::Sells for app::Shop>",
        ] {
            assert_eq!(of(method), ("app::Shop".to_owned(), true), "{method}");
        }
        assert_eq!(enclosing("app::g::__ResilienceHere", "f"), None);
    }

    #[test]
    fn a_path_is_read_from_where_it_stands() {
        let all = [
            function("app::shop", "app::shop", "seats", &[]),
            function("app::shop", "app::shop", "spare", &[]),
            function("app", "app", "top", &[]),
            function("app::shop::deep", "app::shop::deep", "low", &[]),
            function("app::shop", "<app::shop::Shop as app::Sells>", "sell", &[]),
            function("app::shop", "app::shop::Shop", "lend", &[]),
            function("app::shop", "app::shop::outer::{{closure}}", "local", &[]),
        ];
        let (seats, sell, local) = (&all[0], &all[4], &all[6]);
        for (path, found) in [
            ("spare", Some("app::shop::spare")),
            ("self::spare", Some("app::shop::spare")),
            ("crate::shop::spare", Some("app::shop::spare")),
            ("::app::shop::spare", Some("app::shop::spare")),
            ("super::top", Some("app::top")),
            ("super::shop::spare", Some("app::shop::spare")),
            ("crate::top", Some("app::top")),
            ("deep::low", Some("app::shop::deep::low")),
            ("Shop::lend", Some("app::shop::Shop::lend")),
            // Imported, or of a type that is not known here: not for us to say.
            ("top", None),
            ("low", None),
            ("lend", None),
            ("Self::lend", None),
            ("super::super::top", None),
            ("<Shop as Sells>::sell", None),
        ] {
            assert_eq!(resolved(seats, path, &all).as_deref(), found, "{path}");
        }
        assert_eq!(
            resolved(sell, "Self::lend", &all).as_deref(),
            Some("app::shop::Shop::lend")
        );
        assert_eq!(resolved(sell, "lend", &all), None);
        assert_eq!(resolved(sell, "spare", &all).as_deref(), Some("app::shop::spare"));
        assert_eq!(resolved(local, "spare", &all).as_deref(), Some("app::shop::spare"));
        assert_eq!(
            resolved(local, "local", &all).as_deref(),
            Some("app::shop::outer::{{closure}}::local")
        );
    }

    #[test]
    fn an_operation_without_a_breaker_of_its_own_fails_with_its_dependency() {
        let text = "version = 1\n[dependency.redis]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker = {}\n\
                    [dependency.redis.operation.scan]\ntimeout = \"2s\"\n\
                    [dependency.redis.operation.get]\nbreaker.failure_rate = 0.1\n";
        let policy = Policy::from_toml(text).unwrap();
        assert_eq!(breaker_of(&policy, "redis.scan"), "redis");
        assert_eq!(breaker_of(&policy, "redis.get"), "redis.get");
        assert_eq!(breaker_of(&policy, "unknown"), "unknown");
    }

    #[test]
    fn the_shortest_way_back_is_told_and_a_chain_without_one_ends() {
        let policy = Policy::from_toml("version = 1\n").unwrap();
        let at = |dependency: &'static str, name: &'static str, called: &[&'static str]| Function {
            dependency,
            ..function("app", "app", name, called)
        };
        let all = [
            at("a", "first", &["long", "short"]),
            at("b", "long", &["longer"]),
            at("c", "longer", &["back"]),
            at("d", "short", &["back"]),
            at("a", "back", &[]),
            at("e", "ends", &["longest"]),
            at("f", "longest", &["circling"]),
            at("g", "circling", &["longest"]),
        ];
        let circle = from(&all[0], &all, &policy).unwrap();
        assert_eq!(circle.functions(), ["app::first", "app::short", "app::back"]);
        assert_eq!(circle.dependencies(), ["a", "d", "a"]);
        assert!(
            circle.to_string().contains("leads back to what failed: a → d → a"),
            "{circle}"
        );
        assert!(from(&all[5], &all, &policy).is_none());
        assert!(from(&all[6], &all, &policy).is_some(), "its own way leads back to it");
    }
}
