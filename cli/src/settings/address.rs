//! Where a server is.

use std::fmt;

use ureq::http::Uri;

use crate::failure::{Failure, Result};

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    base: String,
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
        if uri.query().is_some() {
            return Err(refuse("has a query in it"));
        }
        let path = uri.path().trim_end_matches('/');
        Ok(Self {
            base: format!("{scheme}://{authority}{path}"),
            is_encrypted: scheme == "https",
            is_loopback: is_loopback(authority.host()),
        })
    }

    /// The URL of a path on the server.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
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
    fn paths_follow_the_one_that_it_has() {
        let address = Address::parse(" https://far/prefix/ \n").unwrap();
        assert_eq!(address.at("/v1/list"), "https://far/prefix/v1/list");
    }
}
