//! The text output of access tokens.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::named::WorkspaceName;
use sandbox_snapshotter_client::model::token::{
    CreatedToken, CurrentToken, Permission, RevokedToken, Token, TokenList,
};

use super::Show;
use super::render::{exact_time, relative_time};
use super::table::{details, table};

impl Show for CreatedToken {
    fn ids(&self) -> Vec<String> {
        vec![self.token.clone()]
    }

    fn text(&self, now: Timestamp) -> String {
        let rows = details([("token", self.token.clone())].into_iter().chain(rows(&self.description, now)));
        format!("{rows}The token is a secret, and is not shown again.\n")
    }
}

impl Show for TokenList {
    fn ids(&self) -> Vec<String> {
        self.tokens.iter().map(|token| token.id.to_string()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        if self.tokens.is_empty() {
            return "There are no tokens.\n".to_owned();
        }
        let row = |token: &Token| {
            [
                token.id.to_string(),
                label(token),
                names(&token.permissions),
                workspaces(token),
                relative_time(token.created_at, now),
                relative_time(token.expires_at, now),
            ]
        };
        let header = ["ID", "LABEL", "PERMISSIONS", "WORKSPACES", "CREATED", "EXPIRES"];
        table(header, self.tokens.iter().map(row))
    }
}

impl Show for RevokedToken {
    fn ids(&self) -> Vec<String> {
        vec![self.id.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        format!("Revoked {}. It is refused at most 30 seconds from now.\n", self.id)
    }
}

impl Show for CurrentToken {
    fn ids(&self) -> Vec<String> {
        self.permissions.iter().map(ToString::to_string).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        match &self.token {
            Some(token) => details(rows(token, now)),
            None => details([("permissions", names(&self.permissions)), ("tenants", "all".to_owned())]),
        }
    }
}

/// Returns the details of a token.
fn rows(token: &Token, now: Timestamp) -> Vec<(&'static str, String)> {
    vec![
        ("id", token.id.to_string()),
        ("label", label(token)),
        ("tenant", token.tenant.to_string()),
        ("permissions", names(&token.permissions)),
        ("workspaces", workspaces(token)),
        ("created", exact_time(token.created_at, now)),
        ("expires", exact_time(token.expires_at, now)),
    ]
}

fn label(token: &Token) -> String {
    token.label.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn names(permissions: &[Permission]) -> String {
    permissions.iter().map(|permission| permission.as_str()).collect::<Vec<_>>().join(", ")
}

fn workspaces(token: &Token) -> String {
    let names = token.workspaces.as_ref();
    names.map_or_else(
        || "all".to_owned(),
        |names| names.iter().map(WorkspaceName::as_str).collect::<Vec<_>>().join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list(label: &str) -> TokenList {
        serde_json::from_value(json!({ "tokens": [{
            "id": "abcdefghij01", "tenant": "default", "label": label, "permissions": ["read", "work"],
            "workspaces": ["a", "b"], "createdAt": "2026-11-20T05:00:00.000Z", "expiresAt": "2026-12-20T05:00:00.000Z",
        }] }))
        .unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::try_from("2026-11-20T06:00:00.000Z".to_owned()).unwrap()
    }

    #[test]
    fn list_shows_what_tokens_permit() {
        assert_eq!(
            list("CI").text(now()),
            "ID            LABEL  PERMISSIONS  WORKSPACES  CREATED  EXPIRES\n\
             abcdefghij01  CI     read, work   a, b        1 h ago  in 30 days\n"
        );
    }

    #[test]
    fn label_cannot_control_the_terminal_or_reorder_text() {
        let text = list("CI\u{202e}nimda").text(now());
        assert!(text.contains("CI\\u{202e}nimda"), "{text}");
        let raw = json!({ "tokens": [{ "label": "\u{1b}[2J" }] });
        assert!(serde_json::from_value::<TokenList>(raw).is_err());
    }
}
