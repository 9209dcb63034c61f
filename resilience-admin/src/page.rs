//! The page's files, and the headers that protect it.

use axum::extract::OriginalUri;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// Nothing inline, nothing from elsewhere, no frame around it, and no text that a script could make into markup.
const CONTENT_SECURITY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

pub(crate) struct Asset {
    pub(crate) path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($path:literal, $file:literal, $kind:expr) => {
        Asset {
            path: $path,
            kind: $kind,
            text: include_str!(concat!("../page/", $file)),
        }
    };
}

pub(crate) static ASSETS: [Asset; 12] = [
    asset!("/page", "page.html", "text/html; charset=utf-8"),
    asset!("/card.css", "card.css", "text/css; charset=utf-8"),
    asset!("/page.css", "page.css", "text/css; charset=utf-8"),
    asset!("/icon.svg", "icon.svg", "image/svg+xml"),
    asset!("/page.js", "page.js", SCRIPT),
    asset!("/stream.js", "stream.js", SCRIPT),
    asset!("/words.js", "words.js", SCRIPT),
    asset!("/dom.js", "dom.js", SCRIPT),
    asset!("/card.js", "card.js", SCRIPT),
    asset!("/chart.js", "chart.js", SCRIPT),
    asset!("/detail.js", "detail.js", SCRIPT),
    asset!("/hand.js", "hand.js", SCRIPT),
];

pub(crate) fn serve(asset: &'static Asset) -> impl IntoResponse {
    ([(CONTENT_TYPE, asset.kind)], asset.text)
}

/// Leads from the mount, which may or may not end in a slash, to the page, beside which everything else lies.
pub(crate) async fn lead(OriginalUri(uri): OriginalUri) -> impl IntoResponse {
    let last = uri.path().rsplit('/').next().unwrap_or_default();
    let to = if last.is_empty() {
        "page".to_owned()
    } else {
        // Relative, because nobody knows what a proxy in front has taken off; `./` so that no colon makes it a scheme.
        format!("./{last}/page")
    };
    (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to)])
}

/// On every answer: nothing is kept, framed, sniffed or told to others.
pub(crate) async fn protect(mut response: Response) -> Response {
    const HEADERS: [(HeaderName, &str); 6] = [
        (CONTENT_SECURITY_POLICY, CONTENT_SECURITY),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
