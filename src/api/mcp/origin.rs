//! The web pages that may send requests.
//!
//! A browser sends the origin of the page with a request. A web page must not reach a server on its visitor's machine
//! through a DNS name that the owner of the page controls (DNS rebinding).

/// The permitted origins, besides the server's own.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// Reads a list of origins such as `https://app.example.com`, separated by commas.
    pub fn parse(list: Option<&str>) -> Self {
        let origins = list.unwrap_or_default().split(',').map(|origin| origin.trim().trim_end_matches('/'));
        Self(origins.filter(|origin| !origin.is_empty()).map(str::to_ascii_lowercase).collect())
    }

    /// Returns whether a page of `origin` may send a request to `url`.
    pub fn allows(&self, origin: &str, url: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        self.0.contains(&origin) || (is_same_origin(&origin, &url.to_ascii_lowercase()))
    }
}

/// Returns whether a page belongs to this server. Without TLS, any domain can resolve to the machine of another person,
/// so the host must then be `localhost` or a loopback address.
fn is_same_origin(origin: &str, url: &str) -> bool {
    let Some(rest) = url.strip_prefix(origin) else { return false };
    if !(rest.is_empty() || rest.starts_with('/') || rest.starts_with('?')) {
        return false;
    }
    let Some(host) = origin.strip_prefix("http://") else { return origin.starts_with("https://") };
    let name = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    matches!(name, "localhost" | "127.0.0.1" | "::1")
}
