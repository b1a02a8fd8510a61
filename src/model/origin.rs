//! Origins of the web.

/// Whether a text is an origin, such as `https://app.example.com` or `http://localhost:3000`. It may end in a slash.
pub fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let host = host.strip_suffix('/').unwrap_or(host);
    let is_of = |part: &str, marks: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
    };
    is_of(scheme, "+-.") && is_of(host, "-._:[]")
}
