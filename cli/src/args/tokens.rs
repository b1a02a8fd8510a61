//! The commands for access tokens.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use sandbox_snapshotter_client::model::request::CreateTokenRequest;
use sandbox_snapshotter_client::model::token::Permission;

use super::duration::DurationArg;

/// The commands for access tokens.
#[derive(Subcommand)]
pub enum Tokens {
    /// Create a token with permissions, for all workspaces of a tenant or for some of them
    ///
    /// The token is printed only now: the deployment stores a hash. A token for some workspaces also permits what was made
    /// from them: forks, restores and branches.
    #[command(after_help = "\
Examples:
  snapshotter tokens create --permission read --label dashboard
  snapshotter tokens create --permission snapshot,work --workspace notebook
  snapshotter tokens create --permission work --expires 8h --quiet > token")]
    Create(Create),
    /// List the tokens of a tenant, without their secrets
    #[command(after_help = "\
Example:
  snapshotter tokens list")]
    List(Tenant),
    /// Revoke a token. The deployment refuses it at most 30 seconds later
    #[command(after_help = "\
Examples:
  snapshotter tokens revoke k3f9x2ab7q0w
  snapshotter tokens revoke dashboard")]
    Revoke(Revoke),
    /// Show what the token of this program permits
    #[command(after_help = "\
Example:
  snapshotter tokens current")]
    Current,
}

/// `tokens create`
#[derive(Args)]
pub struct Create {
    /// A permission. `read`: snapshots and descriptions; `snapshot`: create, change and delete snapshots and workspaces; `work`:
    /// run commands and write files; `admin`: tokens, keys, and everything else. Each includes `read`. Repeat the option, or
    /// separate several with commas
    #[arg(long = "permission", value_name = "PERMISSION", required = true, value_delimiter = ',', value_parser = permission())]
    pub permissions: Vec<Permission>,
    /// A workspace that the token permits. Repeat the option for several [default: all workspaces of the tenant]
    #[arg(long = "workspace", value_name = "NAME")]
    pub workspaces: Vec<String>,
    /// The lifetime of the token, 1m to 365d: a token always expires
    #[arg(long, value_name = "TIME", default_value = "30d")]
    pub expires: Lifetime,
    /// A label for people
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// The tenant.
    #[command(flatten)]
    pub tenant: Tenant,
}

/// `tokens revoke`
#[derive(Args)]
pub struct Revoke {
    /// The id or the label of the token, as `tokens list` prints it
    #[arg(value_name = "ID|LABEL")]
    pub id: String,
    /// The tenant.
    #[command(flatten)]
    pub tenant: Tenant,
}

/// The tenant of tokens.
#[derive(Args)]
pub struct Tenant {
    /// The tenant [default: the default tenant]
    #[arg(long, value_name = "TENANT")]
    pub tenant: Option<String>,
}

/// The lifetime of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime(pub DurationArg);

impl FromStr for Lifetime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = CreateTokenRequest::MIN_EXPIRATION..=CreateTokenRequest::MAX_EXPIRATION;
        match text.parse() {
            Ok(DurationArg(0)) => Err("a token always expires: pass 1m to 365d".to_owned()),
            Ok(lifetime @ DurationArg(seconds)) if range.contains(&seconds) => Ok(Self(lifetime)),
            Ok(_) => Err("pass 1m to 365d".to_owned()),
            Err(_) => Err("pass a number with a unit, 1m to 365d, such as 12h or 30d".to_owned()),
        }
    }
}

/// Returns the parser of the names of permissions.
fn permission() -> impl TypedValueParser<Value = Permission> {
    PossibleValuesParser::new(Permission::ALL.map(Permission::as_str)).try_map(|name| Permission::parse(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_a_lifetime_of_1m_to_365d() {
        for (text, seconds) in [("1m", 60), ("60s", 60), ("8h", 28_800), ("365d", 31_536_000)] {
            assert_eq!(text.parse(), Ok(Lifetime(DurationArg(seconds))), "{text}");
        }
        for (text, why) in [
            ("never", "always expires"),
            ("0", "always expires"),
            ("0s", "always expires"),
            ("59s", "1m to 365d"),
            ("366d", "1m to 365d"),
            ("31536000", "unit"),
        ] {
            let refused: Result<Lifetime, _> = text.parse();
            assert!(refused.is_err_and(|message| message.contains(why)), "{text}");
        }
    }
}
