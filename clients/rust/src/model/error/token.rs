//! Errors about access tokens and their permissions.

use crate::model::ids::quoted;
use crate::model::named::WorkspaceName;
use crate::model::operation::Operation;
use crate::model::token::Permission;
use crate::model::{Code, Error, Failure};

const ASK_FOR_TOKEN: &str = "Use another token, which an administrator creates with `tokens/create`.";

impl Error {
    /// [`Code::Unauthorized`], for a token that does not exist: it was revoked, or never created, or its secret is wrong.
    pub fn token_unknown() -> Self {
        Self::new(Code::Unauthorized, "The token is wrong, or was revoked.", ASK_FOR_TOKEN)
    }

    /// [`Code::Unauthorized`], for a token that has expired.
    pub fn token_expired() -> Self {
        Self::new(Code::Unauthorized, "The token has expired.", ASK_FOR_TOKEN)
    }

    /// [`Code::TokensUnavailable`], when the object with the tokens of a tenant did not answer.
    #[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
    pub fn tokens_unavailable(failure: Failure) -> Self {
        Self::new(
            Code::TokensUnavailable,
            "The tokens of the tenant cannot be read at the moment, so nothing is permitted.",
            "Try again later, with exponential backoff and jitter.",
        )
        .caused_by(failure)
    }

    /// [`Code::PermissionMissing`], for an operation that needs a permission that the token does not have.
    pub fn permission_missing(operation: &str, needed: Permission, held: &[Permission]) -> Self {
        let held: Vec<_> = held.iter().map(|permission| permission.as_str()).collect();
        Self::new(
            Code::PermissionMissing,
            format!("`{operation}` needs the permission `{needed}`, and the token has: {}.", held.join(", ")),
            ASK_FOR_TOKEN,
        )
    }

    /// [`Code::PermissionMissing`], for options that are or affect commands in a container.
    pub fn work_missing(operation: Operation, options: &str) -> Self {
        Self::new(
            Code::PermissionMissing,
            format!(
                "`{}` with {options} needs the permission `work`, because that decides which commands run.",
                operation.name()
            ),
            ASK_FOR_TOKEN,
        )
    }

    /// [`Code::PermissionMissing`], for an operation on the whole deployment.
    pub fn needs_api_token(operation: Operation) -> Self {
        Self::new(
            Code::PermissionMissing,
            format!("`{}` is about all tenants, so no token of a tenant permits it.", operation.name()),
            "Use the API_TOKEN of the deployment, or a service binding.",
        )
    }

    /// [`Code::PermissionMissing`], for tools that may use other lineages.
    pub fn cross_lineage_not_permitted() -> Self {
        Self::new(
            Code::PermissionMissing,
            "A token of a tenant cannot grant tools with `allowCrossLineage`.",
            "Omit it, or use the API_TOKEN of the deployment.",
        )
    }

    /// [`Code::NotPermitted`], for a sandbox, a snapshot or a workspace that the token does not permit. The error is the same
    /// whether or not it exists.
    pub fn not_permitted(what: &str) -> Self {
        Self::new(
            Code::NotPermitted,
            format!("The token does not permit {what}, or it does not exist."),
            "Use a workspace of the token, or what was made from it; or use another token.",
        )
    }

    /// Replaces the remediation of [`not_permitted`](Self::not_permitted) with one for a new workspace: a token for some workspaces
    /// makes others only from those.
    #[must_use]
    pub fn of_creation(self, own: &[WorkspaceName]) -> Self {
        match own.first() {
            Some(own) => self.with_remediation(&format!(
                "Pass a workspace of the token as `sourceWorkspace`, such as {:?}, and a name that begins with its name and a \
                 hyphen, such as {}; or use another token.",
                own.as_str(),
                quoted(&format!("{own}-2"))
            )),
            None => self,
        }
    }

    /// [`Code::NotPermitted`], for a new workspace whose name does not begin with that of a workspace of the token.
    pub fn name_not_permitted(name: &WorkspaceName, own: &[WorkspaceName]) -> Self {
        let own: Vec<_> = own.iter().take(3).map(|own| quoted(&format!("{own}-"))).collect();
        Self::new(
            Code::NotPermitted,
            format!("The token does not permit the name {:?} for a new workspace.", name.as_str()),
            format!(
                "Pass a name that begins with that of a workspace of the token and a hyphen, such as {}.",
                own.join(" or ")
            ),
        )
    }

    /// [`Code::TooManyTokens`], for a tenant that has the maximum number of tokens.
    pub fn too_many_tokens(most: usize) -> Self {
        Self::new(
            Code::TooManyTokens,
            format!("The tenant has {most} tokens, which is the maximum."),
            "Revoke a token that is not in use. Expired tokens do not count.",
        )
    }

    /// [`Code::InvalidArgument`], for an unknown permission.
    pub fn permission_unknown(text: &str) -> Self {
        Self::invalid_argument(
            format!("{} is not a permission", quoted(text)),
            "Pass \"read\", \"snapshot\", \"work\" or \"admin\".",
        )
    }

    /// [`Code::InvalidArgument`], for a token without permissions.
    pub fn permissions_empty() -> Self {
        Self::invalid_argument(
            "`permissions` is missing or empty",
            "Pass at least one of \"read\", \"snapshot\", \"work\" and \"admin\".",
        )
    }

    /// [`Code::InvalidArgument`], for a list of workspaces that is empty or too long.
    pub fn token_workspaces_invalid(count: usize, most: usize) -> Self {
        Self::invalid_argument(
            format!("`workspaces` must have 1–{most} names, got {count}"),
            "Pass the names of workspaces, or omit `workspaces` for all workspaces of the tenant.",
        )
    }

    /// [`Code::InvalidArgument`], for a token with the permission `admin` that names workspaces.
    pub fn admin_token_limited() -> Self {
        Self::invalid_argument(
            "`admin` and `workspaces` exclude each other, because `admin` manages the tokens of the whole tenant",
            "Omit `workspaces`, or pass other permissions.",
        )
    }

    /// [`Code::InvalidArgument`], for a text that is not the id of a token.
    pub fn token_id_invalid(text: &str) -> Self {
        Self::invalid_argument(
            format!("`id` is {}, which is not the id of a token", quoted(text)),
            "Pass an id that `tokens/list` returns. It is also the part of a token before its secret.",
        )
    }
}
