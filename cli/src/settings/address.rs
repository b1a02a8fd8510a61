//! Where a server is.

use std::fmt;

use ureq::http::Uri;

use crate::failure::{Failure, Result};

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    base: String,
    /// The host in small letters, and the port.
    host: (String, u16),
    is_encrypted: bool,
    is_loopback: bool,
}

impl Address {
    /// Reads an address, `http` or `https`, with a path or without.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| {
            // What is wrong with it may be that there is a password in it.
            let message = format!("The address {why}.");
            Failure::invalid("ADDRESS_INVALID", message, "Give one such as https://snapshotter.example.workers.dev")
        };
        let uri: Uri = text.trim().parse().map_err(|_| refuse("can't be read"))?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(refuse("does not begin with https:// or http:// and a host"));
        };
        if authority.as_str().contains('@') {
            return Err(refuse("has a user or a password in it"));
        }
        let port = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        if !port.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(refuse("has a port that is none: they go from 1 to 65535"));
        }
        if uri.query().is_some() {
            return Err(refuse("has a query in it"));
        }
        let usual = if scheme == "https" { 443 } else { 80 };
        let path = uri.path().trim_end_matches('/');
        Ok(Self {
            base: format!("{scheme}://{authority}{path}"),
            host: (authority.host().to_lowercase(), authority.port_u16().unwrap_or(usual)),
            is_encrypted: scheme == "https",
            is_loopback: is_loopback(authority.host()),
        })
    }

    /// The URL of a path on the server.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Whether it is the same server, on whatever path.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        (&self.host, self.is_encrypted) == (&other.host, other.is_encrypted)
    }

    /// Whether nobody in between can read what is sent.
    pub const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Whether it is this machine.
    pub const fn is_loopback(&self) -> bool {
        self.is_loopback
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

/// Whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_url_without_secrets() {
        for text in ["", "far", "ftp://far", "https://", "https://user:word@far", "https://far/?x=1", "https://fa r"] {
            let refused = Address::parse(text).err();
            assert_eq!(refused.as_ref().and_then(Failure::code), Some("ADDRESS_INVALID"), "{text}");
        }
    }

    #[test]
    fn a_port_that_is_none_is_refused_and_never_left_out() {
        for port in ["99999", "65536", "0", "", "-1", "8o"] {
            let refused = Address::parse(&format!("http://127.0.0.1:{port}")).err();
            assert_eq!(refused.as_ref().and_then(Failure::code), Some("ADDRESS_INVALID"), "{port}");
        }
        assert_eq!(Address::parse("http://[::1]:65535").unwrap().url("/"), "http://[::1]:65535/");
    }

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        let is_same = |one, other| Address::parse(one).unwrap().is_same_origin(&Address::parse(other).unwrap());
        assert!(is_same("https://Far/a", "https://far:443/b"));
        for other in ["http://far", "https://far:444", "https://far.example"] {
            assert!(!is_same("https://far", other), "{other}");
        }
    }

    #[test]
    fn paths_follow_the_one_that_it_has() {
        let address = Address::parse(" https://far/prefix/ \n").unwrap();
        assert_eq!(address.url("/v1/list"), "https://far/prefix/v1/list");
    }
}
