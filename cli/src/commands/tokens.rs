//! The commands for access tokens.

use sandbox_snapshotter_client::model::Label;
use sandbox_snapshotter_client::model::named::{self, WorkspaceName};
use sandbox_snapshotter_client::model::request::{
    CreateTokenRequest, CurrentTokenRequest, ListTokensRequest, RevokeTokenRequest,
};
use sandbox_snapshotter_client::model::token::{CreatedToken, CurrentToken, RevokedToken, TokenId, TokenList};

use super::context::Context;
use crate::args::tokens::{Create, Revoke, Tenant, Tokens};
use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// `tokens`
pub fn run(context: &Context, command: Tokens) -> Result<Exit> {
    match command {
        Tokens::Create(command) => create(context, command),
        Tokens::List(tenant) => {
            let request = ListTokensRequest { tenant: parse_tenant(&tenant)? };
            context.show::<TokenList>(&context.call_read_only("tokens/list", &request)?)
        }
        Tokens::Revoke(Revoke { id, tenant }) => {
            let request = RevokeTokenRequest { tenant: parse_tenant(&tenant)?, id: TokenId::parse(&id)? };
            let answer = context.call_mutating::<RevokedToken>("tokens/revoke", &request)?;
            if !answer.value.revoked {
                // A misspelled id would leave the token valid.
                let message = format!("The tenant {:?} has no token {}.", request.tenant.as_str(), request.id);
                let remediation = "Nothing was revoked. `snapshotter tokens list` lists the tokens.";
                return Err(Failure::local(Exit::NotFound, "TOKEN_NOT_FOUND", message, remediation));
            }
            context.show(&answer)
        }
        Tokens::Current => {
            let request = CurrentTokenRequest::default();
            context.show::<CurrentToken>(&context.call_read_only("tokens/current", &request)?)
        }
    }
}

fn create(context: &Context, command: Create) -> Result<Exit> {
    let Create { permissions, workspaces, expires, label, tenant } = command;
    let name = |name: &String| WorkspaceName::parse(name.strip_prefix('@').unwrap_or(name));
    let names = workspaces.iter().map(name).collect::<Result<Vec<_>, _>>()?;
    let request = CreateTokenRequest {
        tenant: parse_tenant(&tenant)?,
        workspaces: Some(names).filter(|names| !names.is_empty()),
        label: label.as_deref().map(Label::parse).transpose()?,
        expiration_seconds: expires.0,
        permissions,
    };
    context.show::<CreatedToken>(&context.call_mutating("tokens/create", &request)?)
}

fn parse_tenant(Tenant { tenant }: &Tenant) -> Result<named::Tenant> {
    Ok(tenant.as_deref().map(named::Tenant::parse).transpose()?.unwrap_or_else(named::Tenant::default_tenant))
}
