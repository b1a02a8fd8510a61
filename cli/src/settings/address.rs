//! The address of a server.

use std::fmt;

use ureq::http::Uri;

use crate::failure::{Failure, Result};

/// Paths of the server that users copy with its address.
const PAGES: [&str; 6] = ["v1", "docs", "console", "healthz", "openapi.json", "mcp"];

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    base: String,
    /// The host in lower case, and the port.
    host: (String, u16),
    is_encrypted: bool,
    is_loopback: bool,
}

impl Address {
    /// Parses an address: `http` or `https`, with or without a path.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let refuse = |why: &str| {
            // A user, a password or a token must not be in the error.
            let may_be_secret = text.is_empty() || text.contains(['@', '?', '#']);
            let quoted = if may_be_secret { String::new() } else { format!(" {text:?}") };
            let message = format!("The address{quoted} {why}.");
            Failure::invalid(
                "ADDRESS_INVALID",
                message,
                match with_scheme(text).filter(|_| !may_be_secret) {
                    Some(whole) => format!("Pass {whole}"),
                    None => {
                        "Pass the address of the Worker, such as https://snapshotter.example.workers.dev".to_owned()
                    }
                },
            )
        };
        let uri: Uri = text.parse().map_err(|_| refuse("is not a URL"))?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(refuse("does not begin with https:// or http:// and a host"));
        };
        if authority.as_str().contains('@') {
            return Err(refuse("contains a user or a password"));
        }
        let port = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        if !port.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(refuse("has an invalid port: the port must be 1–65535"));
        }
        if uri.query().is_some() {
            return Err(refuse("contains a query"));
        }
        let default_port = if scheme == "https" { 443 } else { 80 };
        let path = uri.path().trim_end_matches('/');
        if let Some((base, page)) = path.rsplit_once('/').filter(|(_, page)| PAGES.contains(page)) {
            let message = format!(
                "The address {text:?} ends with /{page}, which is a path on the server and not a part of its address."
            );
            return Err(Failure::invalid("ADDRESS_INVALID", message, format!("Pass {scheme}://{authority}{base}")));
        }
        Ok(Self {
            base: format!("{scheme}://{authority}{path}"),
            host: (authority.host().to_lowercase(), authority.port_u16().unwrap_or(default_port)),
            is_encrypted: scheme == "https",
            is_loopback: is_loopback(authority.host()),
        })
    }

    /// Returns the URL of a path on the server.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Returns whether both addresses have the same scheme, host and port.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        (&self.host, self.is_encrypted) == (&other.host, other.is_encrypted)
    }

    /// Returns whether the connection is encrypted.
    pub const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Returns whether the host is this machine.
    pub const fn is_loopback(&self) -> bool {
        self.is_loopback
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

/// Returns an address without a scheme with the one that it likely has: `http` on this machine, and else `https`.
fn with_scheme(text: &str) -> Option<String> {
    let uri: Uri = format!("https://{text}").parse().ok().filter(|_| !text.contains("://"))?;
    let scheme = if is_loopback(uri.authority()?.host()) { "http" } else { "https" };
    Address::parse(&format!("{scheme}://{text}")).ok().map(|address| address.to_string())
}

/// Returns whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_url_without_secrets() {
        for text in [
            "",
            "far",
            "ftp://far",
            "https://",
            "https://user:word@far",
            "https://far/?x=1",
            "https://fa r",
            "https://far/v1",
            "https://far/v1/",
        ] {
            let refused = Address::parse(text).err();
            assert_eq!(refused.as_ref().and_then(Failure::code), Some("ADDRESS_INVALID"), "{text}");
        }
    }

    #[test]
    fn an_address_with_a_page_is_answered_with_the_one_without() {
        for (text, expected) in [
            ("https://far/v1/", "Pass https://far"),
            ("http://localhost:8787/docs", "Pass http://localhost:8787"),
            ("https://far/agents/console", "Pass https://far/agents"),
        ] {
            let Err(Failure::Reported(report)) = Address::parse(text) else { panic!("{text} is accepted") };
            assert_eq!(report.remediation, expected);
        }
    }

    #[test]
    fn an_address_without_a_scheme_is_answered_with_the_whole_one() {
        let refused = |text: &str| match Address::parse(text) {
            Err(Failure::Reported(report)) => (report.message, report.remediation),
            _ => panic!("{text}"),
        };
        let (message, remediation) = refused(" 127.0.0.1:8899 ");
        assert_eq!(message, "The address \"127.0.0.1:8899\" does not begin with https:// or http:// and a host.");
        assert_eq!(remediation, "Pass http://127.0.0.1:8899");
        assert_eq!(refused("localhost:8899").1, "Pass http://localhost:8899");
        assert_eq!(refused("far.example/prefix").1, "Pass https://far.example/prefix");
        for text in ["user:s3cret@far", "far?token=s3cret", "https://user:s3cret@far", "ftp://far", "", "far/v1"] {
            let (message, remediation) = refused(text);
            assert!(!message.contains("s3cret") && remediation.starts_with("Pass the address of the Worker"), "{text}");
        }
    }

    #[test]
    fn an_address_may_contain_v1_before_its_end() {
        for text in ["https://far/v1/snapshots", "https://far/apiv1", "https://v1"] {
            assert!(Address::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_invalid_port_is_refused_instead_of_ignored() {
        for port in ["99999", "65536", "0", "", "-1", "8o"] {
            let refused = Address::parse(&format!("http://127.0.0.1:{port}")).err();
            assert_eq!(refused.as_ref().and_then(Failure::code), Some("ADDRESS_INVALID"), "{port}");
        }
        assert_eq!(Address::parse("http://[::1]:65535").unwrap().url("/"), "http://[::1]:65535/");
    }

    #[test]
    fn the_origin_is_the_scheme_the_host_and_the_port() {
        let is_same = |one, other| Address::parse(one).unwrap().is_same_origin(&Address::parse(other).unwrap());
        assert!(is_same("https://Far/a", "https://far:443/b"));
        for other in ["http://far", "https://far:444", "https://far.example"] {
            assert!(!is_same("https://far", other), "{other}");
        }
    }

    #[test]
    fn paths_are_appended_to_the_path_of_the_address() {
        let address = Address::parse(" https://far/prefix/ \n").unwrap();
        assert_eq!(address.url("/v1/list"), "https://far/prefix/v1/list");
    }
}
