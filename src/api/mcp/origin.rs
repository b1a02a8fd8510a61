//! Which web pages may ask.
//!
//! A browser says of which page a request is. A page that somebody happens to look at must not reach a server that listens on
//! their own machine, whatever name it has given to that.

/// The origins that may, apart from the server's own.
#[derive(Clone, Debug, Default)]
pub struct Origins(Vec<String>);

impl Origins {
    /// Reads a list of origins such as `https://app.example.com`, with commas between them.
    pub fn parse(list: Option<&str>) -> Self {
        let origins = list.unwrap_or_default().split(',').map(|origin| origin.trim().trim_end_matches('/'));
        Self(origins.filter(|origin| !origin.is_empty()).map(str::to_ascii_lowercase).collect())
    }

    /// Whether a page of `origin` may send a request to `url`.
    pub fn allow(&self, origin: &str, url: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        self.0.contains(&origin) || (is_own(&origin, &url.to_ascii_lowercase()))
    }
}

/// Whether a page is this server's own. Without TLS anybody can give a name of theirs to somebody else's machine, so there it
/// has to be that machine's own name.
fn is_own(origin: &str, url: &str) -> bool {
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
