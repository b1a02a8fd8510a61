//! What a caller may do: tokens with permissions, for all workspaces of a tenant or for some of them.
//!
//! - [`tokens`]: creates, lists and revokes tokens, and stores their hashes
//! - [`authenticate`]: finds the token of a request
//! - [`authorize`]: verifies the permissions of a call, and the objects that it reaches
//! - [`reach`]: the objects that a request reaches
//! - [`scope`]: the sandboxes and workspaces that a token permits
//! - [`list`]: the list of the workspaces that a token permits
//! - [`similar`]: the suggestion of a workspace, after a name that none has
//! - [`filter`]: removes what a token does not permit from other answers
//!
//! The entrypoint does all of this, before and after it calls the object of an operation. It trusts callers over RPC,
//! and with the API token: their [`Access`] is [`Access::Everything`].

pub mod authenticate;
pub mod authorize;
pub mod filter;
pub mod list;
mod reach;
mod scope;
pub mod similar;
pub mod tokens;

use std::rc::Rc;

use crate::model::token::{CurrentToken, Permission, Token, TokenId};

/// What a caller may do.
#[derive(Clone, Debug)]
pub enum Access {
    /// Everything, in all tenants.
    Everything,
    /// What a token permits.
    Token(Rc<Token>),
}

impl Access {
    /// Returns the id of the caller's token.
    pub fn token_id(&self) -> Option<&TokenId> {
        match self {
            Self::Everything => None,
            Self::Token(token) => Some(&token.id),
        }
    }

    /// Describes the access to the caller.
    pub fn describe(&self) -> CurrentToken {
        let permits = |permission: &Permission| match self {
            Self::Everything => true,
            Self::Token(token) => token.permits(*permission),
        };
        let token = match self {
            Self::Everything => None,
            Self::Token(token) => Some((**token).clone()),
        };
        CurrentToken { permissions: Permission::ALL.into_iter().filter(permits).collect(), token }
    }
}
