//! The commands for access tokens.

use sandbox_snapshotter_client::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter_client::model::named::{self, Address};
use sandbox_snapshotter_client::model::request::{
    CreateTokenRequest, CurrentTokenRequest, ListTokensRequest, RevokeTokenRequest,
};
use sandbox_snapshotter_client::model::similar::most_similar;
use sandbox_snapshotter_client::model::token::{CreatedToken, CurrentToken, RevokedToken, Token, TokenId, TokenList};
use sandbox_snapshotter_client::model::{Code, Label};

use super::context::Context;
use super::target::{name_in_tenant, to_target};
use crate::args::tokens::{Create, Revoke, Tenant, Tokens};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::print_warning;

/// `tokens`
pub fn run(context: &Context, command: Tokens) -> Result<Exit> {
    match command {
        Tokens::Create(command) => create(context, command),
        Tokens::List(tenant) => {
            let request = ListTokensRequest { tenant: parse_tenant(&tenant)? };
            context.show::<TokenList>(&context.call_read_only("tokens/list", &request)?)
        }
        Tokens::Revoke(command) => revoke(context, &command),
        Tokens::Current => {
            let request = CurrentTokenRequest::default();
            context.show::<CurrentToken>(&context.call_read_only("tokens/current", &request)?)
        }
    }
}

fn revoke(context: &Context, Revoke { id, tenant }: &Revoke) -> Result<Exit> {
    let tenant = parse_tenant(tenant)?;
    let not_found = |similar: Option<&str>| {
        // A misspelled id would leave the token valid.
        let message = format!("The tenant {:?} has no token {id:?}.", tenant.as_str());
        let remediation = match similar {
            Some(similar) => format!("Nothing was revoked. Did you mean {similar:?}?"),
            None => "Nothing was revoked. `snapshotter tokens list` lists the tokens.".to_owned(),
        };
        Failure::local(Exit::NotFound, "TOKEN_NOT_FOUND", message, remediation)
    };
    let revoke = |id: TokenId| -> Result<_> {
        let request = RevokeTokenRequest { tenant: tenant.clone(), id };
        let answer = context.call_mutating::<RevokedToken>("tokens/revoke", &request)?;
        Ok(Some(answer).filter(|answer| answer.value.revoked))
    };
    let by_id = TokenId::parse(id).ok().map(revoke).transpose()?.flatten();
    if let Some(revoked) = by_id {
        return context.show(&revoked);
    }
    let request = ListTokensRequest { tenant: tenant.clone() };
    let TokenList { tokens } = context.call_read_only("tokens/list", &request)?.value;
    if let Some(revoked) = only_labeled(&tokens, id)?.map(revoke).transpose()?.flatten() {
        return context.show(&revoked);
    }
    let names = tokens.iter().flat_map(|token| [Some(token.id.as_str()), token.label.as_ref().map(Label::as_str)]);
    Err(not_found(most_similar(id, names.flatten())))
}

/// Returns the only one of these tokens with a label; `None` if none has it.
fn only_labeled(tokens: &[Token], label: &str) -> Result<Option<TokenId>> {
    let has_label = |token: &&Token| token.label.as_ref().is_some_and(|own| own.as_str() == label);
    let ids: Vec<_> = tokens.iter().filter(has_label).map(|token| token.id.clone()).collect();
    if let [_, _, ..] = ids.as_slice() {
        let names: Vec<_> = ids.iter().map(ToString::to_string).collect();
        let message = format!("{} tokens have the label {label:?}: {}.", ids.len(), names.join(", "));
        let remediation = "Nothing was revoked. Pass the id of one of them.";
        return Err(Failure::local(Exit::Conflict, "TOKEN_AMBIGUOUS", message, remediation));
    }
    Ok(ids.into_iter().next())
}

fn create(context: &Context, command: Create) -> Result<Exit> {
    let Create { permissions, workspaces, expires, label, tenant } = command;
    let tenant = parse_tenant(&tenant)?;
    let names = workspaces.iter().map(|name| name_in_tenant(name, &tenant)).collect::<Result<Vec<_>>>()?;
    for name in &names {
        // A token may precede its workspace.
        let address = Address { tenant: tenant.clone(), name: name.clone() };
        let found = context.call_without_suggestions::<WorkspaceDescription>("workspaces/getByName", &address);
        if found.is_err_and(|failure| failure.code() == Some(Code::WorkspaceNotFound.as_str())) {
            print_warning(&format!("there is no workspace {} yet", to_target(&address)));
        }
    }
    let request = CreateTokenRequest {
        tenant,
        workspaces: Some(names).filter(|names| !names.is_empty()),
        label: label.as_deref().map(Label::parse).transpose()?,
        expiration_seconds: expires.0.0,
        permissions,
    };
    context.show::<CreatedToken>(&context.call_mutating("tokens/create", &request)?)
}

fn parse_tenant(Tenant { tenant }: &Tenant) -> Result<named::Tenant> {
    Ok(tenant.as_deref().map(named::Tenant::parse).transpose()?.unwrap_or_else(named::Tenant::default_tenant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn token(id: &str, label: Option<&str>) -> Token {
        serde_json::from_value(json!({
            "id": id, "tenant": "default", "label": label, "permissions": ["read"],
            "createdAt": "2026-11-20T05:00:00.000Z", "expiresAt": "2026-12-20T05:00:00.000Z",
        }))
        .unwrap()
    }

    #[test]
    fn a_label_selects_the_only_token_that_has_it() {
        let tokens = || {
            vec![
                token("abcdefghij01", Some("CI")),
                token("abcdefghij02", None),
                token("abcdefghij03", Some("dash")),
                token("abcdefghij04", Some("dash")),
            ]
        };
        assert_eq!(only_labeled(&tokens(), "CI").unwrap().unwrap().to_string(), "abcdefghij01");
        assert_eq!(only_labeled(&tokens(), "ci").unwrap(), None);
        let Err(Failure::Reported(report)) = only_labeled(&tokens(), "dash") else { panic!() };
        assert_eq!(report.code, "TOKEN_AMBIGUOUS");
        assert_eq!(report.message, "2 tokens have the label \"dash\": abcdefghij03, abcdefghij04.");
    }
}
