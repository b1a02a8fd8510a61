//! Tokens: what their bearers may do, and what they cannot.

mod health;
mod names;
mod permissions;
mod scope;
mod similar;
mod tokens;

use std::rc::Rc;

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::model::Result;
use sandbox_snapshotter::model::token::Token;
use sandbox_snapshotter::service::access::Access;
use sandbox_snapshotter::service::access::authenticate::{TokenCache, authenticate};
use serde_json::{Value, json};

use crate::support::{Fixture, workspace_args};

impl Fixture {
    /// Creates a token, and returns the answer.
    fn create_token(&self, options: &Value) -> Value {
        self.run(Operation::CreateToken, options).unwrap()
    }

    /// Returns the access of a new token with these permissions, for all workspaces of the default tenant.
    fn access(&self, permissions: &[&str]) -> Access {
        self.access_of(&json!({ "permissions": permissions }))
    }

    /// Returns the access of a new token with all permissions except `admin`, for some workspaces of the default tenant.
    fn access_to(&self, workspaces: &[&str]) -> Access {
        self.access_of(&json!({ "permissions": ["snapshot", "work"], "workspaces": workspaces }))
    }

    fn access_of(&self, options: &Value) -> Access {
        let created = self.create_token(options);
        Access::Token(self.authenticate(&TokenCache::default(), created["token"].as_str().unwrap()).unwrap())
    }

    /// Verifies a token as an entrypoint with this cache does.
    fn authenticate(&self, cache: &TokenCache, token: &str) -> Result<Rc<Token>> {
        block_on(authenticate(&self.entrypoint(), cache, token))
    }

    /// Verifies that a caller may send a request.
    fn authorize(&self, access: &Access, operation: Operation, arguments: &Value) -> Result<()> {
        block_on(access.authorize(&self.entrypoint(), &Request::decode(operation, arguments)?))
    }

    /// Runs an operation on a named workspace.
    fn run_on(&self, access: &Access, operation: Operation, name: &str, options: &Value) -> Result<Value> {
        self.run_as(access, operation, &workspace_args(name, options))
    }
}
