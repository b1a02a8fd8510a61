//! Web origins.

/// Whether a text is a web origin, such as `https://app.example.com` or `http://localhost:3000`. It may end in a slash.
pub fn is_web_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let host = host.strip_suffix('/').unwrap_or(host);
    let consists_of = |part: &str, punctuation: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || punctuation.contains(c))
    };
    consists_of(scheme, "+-.") && consists_of(host, "-._:[]")
}
