//! Who may act: the one who has the token, and no page of another site on his behalf.

use std::fmt;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use subtle::{Choice, ConstantTimeEq};

const SHORTEST: usize = 16;
const LONGEST: usize = 256;

#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) token: Option<Token>,
    pub(crate) origins: Vec<String>,
}

impl Gate {
    /// Whether a request may act.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let token = self.token.as_ref().ok_or(Refused::ReadOnly)?;
        if !self.is_of_this_site(headers) {
            return Err(Refused::OtherSite);
        }
        let given = headers
            .get(AUTHORIZATION)
            .map(HeaderValue::as_bytes)
            .and_then(|value| value.strip_prefix(b"Bearer "))
            .unwrap_or_default();
        if token.is(given) { Ok(()) } else { Err(Refused::Token) }
    }

    /// Whether a request may read what costs the service something: as everything here, but behind the token where there
    /// is one.
    #[cfg(feature = "record")]
    pub(crate) fn admit_reader(&self, headers: &HeaderMap) -> Result<(), Refused> {
        match self.admit(headers) {
            Err(Refused::ReadOnly) if self.is_of_this_site(headers) => Ok(()),
            Err(Refused::ReadOnly) => Err(Refused::OtherSite),
            admitted => admitted,
        }
    }

    /// Browsers say where a request comes from; what is no browser says nothing, and has no reader to be tricked. The
    /// token is in a header that no other site can set without asking first, and nobody ever answers such a question:
    /// this is the second lock on the door.
    fn is_of_this_site(&self, headers: &HeaderMap) -> bool {
        let said = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let origin = said(ORIGIN.as_str());
        if origin.is_some_and(|origin| self.origins.iter().any(|known| known == origin)) {
            return true;
        }
        let fetched = said("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none");
        let here = origin.is_none_or(|origin| {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some() && host == said(HOST.as_str())
        });
        fetched && here
    }
}

/// A token, and how it is compared.
pub(crate) struct Token {
    bytes: [u8; LONGEST],
    length: u16,
}

impl Token {
    pub(crate) fn new(token: &str) -> Result<Self, WeakToken> {
        let length = token.len();
        if !(SHORTEST..=LONGEST).contains(&length) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(WeakToken(()));
        }
        Ok(Self::padded(token.as_bytes()))
    }

    fn padded(token: &[u8]) -> Self {
        let mut bytes = [0; LONGEST];
        for (place, byte) in bytes.iter_mut().zip(token) {
            *place = *byte;
        }
        Self {
            bytes,
            // One that is longer than any allowed is cut, and its length tells.
            length: u16::try_from(token.len()).unwrap_or(u16::MAX),
        }
    }

    /// In the same time whatever is given, its length included.
    fn is(&self, given: &[u8]) -> bool {
        let given = Self::padded(given);
        let same: Choice = self.bytes.ct_eq(&given.bytes) & self.length.ct_eq(&given.length);
        same.into()
    }
}

/// Why an act is refused before it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    ReadOnly,
    OtherSite,
    Token,
}

impl Refused {
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::ReadOnly => {
                "this page only shows: the service was started without an admin token; use the overrides file"
            }
            Self::OtherSite => "the request came from another site's page",
            Self::Token => "the token is missing or wrong",
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::ReadOnly | Self::OtherSite => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }
}

/// A token that was refused because it could be guessed or could not be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakToken(());

impl fmt::Display for WeakToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an admin token has {SHORTEST} to {LONGEST} visible ASCII characters; `openssl rand -hex 24` makes one"
        )
    }
}

impl std::error::Error for WeakToken {}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123";

    fn gate() -> Gate {
        Gate {
            token: Some(Token::new(TOKEN).expect("long enough")),
            origins: vec!["https://ops.example".to_owned()],
        }
    }

    fn answer(headers: &[(&'static str, &str)]) -> Result<(), Refused> {
        let headers = headers.iter().map(|(name, value)| {
            let name = axum::http::HeaderName::from_static(name);
            (name, HeaderValue::from_str(value).expect("a header's value"))
        });
        gate().admit(&headers.collect())
    }

    fn bearer() -> String {
        format!("Bearer {TOKEN}")
    }

    #[test]
    fn the_token_alone_is_enough_for_a_tool() {
        assert_eq!(answer(&[("authorization", &bearer())]), Ok(()));
    }

    #[test]
    fn a_wrong_short_long_or_missing_token_is_refused() {
        let long = format!("Bearer {}", "0".repeat(300));
        for given in [
            "Bearer 0123456789abcdef0124",
            "Bearer 0123456789abcdef",
            "Bearer ",
            "",
            &long,
        ] {
            assert_eq!(answer(&[("authorization", given)]), Err(Refused::Token), "{given}");
        }
        assert_eq!(answer(&[]), Err(Refused::Token));
        // Padding is no part of a token.
        let padded = format!("{}\u{0}", bearer());
        assert!(HeaderValue::from_str(&padded).is_err());
    }

    #[test]
    fn another_sites_page_is_refused_even_with_the_token() {
        let token = bearer();
        for headers in [
            [("origin", "https://evil.example"), ("host", "ops.internal:9000")],
            [("origin", "null"), ("host", "null")],
            [("sec-fetch-site", "cross-site"), ("host", "ops.internal:9000")],
            [("sec-fetch-site", "same-site"), ("host", "ops.internal:9000")],
        ] {
            let mut all = vec![("authorization", token.as_str())];
            all.extend(headers);
            assert_eq!(answer(&all), Err(Refused::OtherSite), "{headers:?}");
        }
    }

    #[test]
    fn its_own_page_and_a_named_origin_may_act() {
        let token = bearer();
        let own = [
            ("authorization", token.as_str()),
            ("origin", "http://ops.internal:9000"),
            ("host", "ops.internal:9000"),
            ("sec-fetch-site", "same-origin"),
        ];
        assert_eq!(answer(&own), Ok(()));
        let named = [
            ("authorization", token.as_str()),
            ("origin", "https://ops.example"),
            ("host", "10.0.0.7:9000"),
            ("sec-fetch-site", "same-site"),
        ];
        assert_eq!(answer(&named), Ok(()));
    }

    #[test]
    fn without_a_token_nobody_may_act() {
        let nobody = Gate::default().admit(&HeaderMap::new());
        assert_eq!(nobody, Err(Refused::ReadOnly));
    }

    #[test]
    #[cfg(feature = "record")]
    fn where_there_is_no_token_its_own_readers_may_record_and_other_sites_pages_may_not() {
        let asked = |headers: &[(&'static str, &'static str)]| {
            let headers = headers.iter().map(|(name, value)| {
                (
                    axum::http::HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            });
            headers.collect::<HeaderMap>()
        };
        let open = Gate::default();
        assert_eq!(open.admit_reader(&asked(&[])), Ok(()));
        let other = asked(&[("sec-fetch-site", "cross-site")]);
        assert_eq!(open.admit_reader(&other), Err(Refused::OtherSite));
        assert_eq!(gate().admit_reader(&asked(&[])), Err(Refused::Token));
    }

    #[test]
    fn a_token_that_could_be_guessed_is_refused() {
        for weak in [
            "",
            "hunter2",
            "fifteen chars!!",
            "spaces are not sent well",
            "umlauts are nö good",
        ] {
            assert!(Token::new(weak).is_err(), "{weak}");
        }
    }
}
