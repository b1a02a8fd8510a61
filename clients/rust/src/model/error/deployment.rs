//! Errors about the deployment: bindings, vars and tokens.

use crate::model::{Code, Error};

const SEND_TOKEN: &str = "Send the header `Authorization: Bearer <token>`, with the API_TOKEN or an access token.";

const ASK_FOR_TOKEN: &str = "Ask the application for another token from `tools/grant`.";

impl Error {
    /// [`Code::R2BindingMissing`], when no R2 bucket is bound as `binding`.
    pub fn r2_binding_missing(binding: &str) -> Self {
        Self::new(
            Code::R2BindingMissing,
            format!(
                "No R2 bucket is bound to this Worker as {binding:?}, so snapshots can't be stored. Nothing was changed."
            ),
            format!(
                "Add this to wrangler.toml and deploy again:\n\n[[r2_buckets]]\nbinding = \"{binding}\"\nbucket_name = \"<your bucket>\"\n\n\
                 If the bucket is bound under another name, set the var BACKUP_R2_BINDING to that name."
            ),
        )
    }

    /// [`Code::SandboxBindingMissing`], when no namespace of sandboxes is bound as `binding`.
    pub fn sandbox_binding_missing(binding: &str) -> Self {
        Self::new(
            Code::SandboxBindingMissing,
            format!(
                "No Durable Object namespace of sandboxes is bound to this Worker as {binding:?}. Nothing was changed."
            ),
            format!(
                "Add this to wrangler.toml and deploy again:\n\n[[durable_objects.bindings]]\nname = \"{binding}\"\nclass_name = \"Sandbox\"\n\
                 script_name = \"<the Worker that exports the class, if it is not this one>\"\n\n\
                 If the namespace is bound under another name, set the var SANDBOX_BINDING to that name."
            ),
        )
    }

    /// [`Code::WorkspaceBindingMissing`], when this Worker's own class `binding` is not bound.
    pub fn own_binding_missing(binding: &str) -> Self {
        Self::new(
            Code::WorkspaceBindingMissing,
            format!("This Worker's own Durable Objects are not bound as {binding:?}. Nothing was changed."),
            format!(
                "Add this to wrangler.toml and deploy again:\n\n[[durable_objects.bindings]]\nname = \"{binding}\"\n\
                 class_name = \"{binding}\"\n\n[[migrations]]\ntag = \"<a new one>\"\nnew_sqlite_classes = [\"{binding}\"]"
            ),
        )
    }

    /// [`Code::ConfigInvalid`], for a var that is not text.
    pub fn var_not_text(name: &str) -> Self {
        Self::new(
            Code::ConfigInvalid,
            format!("The var {name} is not text."),
            format!("Write its value in quotes: {name} = \"…\"."),
        )
    }

    /// [`Code::ConfigInvalid`], for the var `SANDBOX_BINDING` with the name of a class of this Worker.
    pub fn sandbox_binding_reserved(name: &str) -> Self {
        Self::new(
            Code::ConfigInvalid,
            format!("The var SANDBOX_BINDING is {name:?}, the binding of this Worker's own objects, not of sandboxes."),
            "Set it to the binding of the sandboxes, or remove it if that binding is named Sandbox.",
        )
    }

    /// [`Code::ConfigInvalid`], for the var `DEFAULT_DIR`, which is invalid because of `error`.
    pub fn default_dir_invalid(error: &Self) -> Self {
        Self::new(
            Code::ConfigInvalid,
            format!("The var DEFAULT_DIR is invalid. {}", error.message()),
            error.remediation(),
        )
    }

    /// [`Code::ConfigInvalid`], for the var `LOCAL_BUCKET`.
    pub fn local_bucket_invalid() -> Self {
        Self::new(
            Code::ConfigInvalid,
            "The var LOCAL_BUCKET must be \"true\" or \"false\".",
            "Set it to \"true\" in development, and remove it in production.",
        )
    }

    /// [`Code::ConfigInvalid`], for the var `INCREMENTAL`.
    pub fn incremental_invalid() -> Self {
        Self::new(
            Code::ConfigInvalid,
            "The var INCREMENTAL must be \"true\" or \"false\".",
            "Set it to \"false\" to store all files in each snapshot, or remove it.",
        )
    }

    /// [`Code::ConfigInvalid`], for the var `DIRECTORY_BACKUP_PREFIX`.
    pub fn directory_backup_prefix_invalid(max_bytes: usize) -> Self {
        Self::new(
            Code::ConfigInvalid,
            format!("The var DIRECTORY_BACKUP_PREFIX must have at most {max_bytes} bytes and no control characters."),
            "Set it to the option `prefix` that your class passes to DirectoryBackup.",
        )
    }

    /// [`Code::ConfigInvalid`], for the var `ALLOWED_ORIGINS`.
    pub fn allowed_origins_invalid() -> Self {
        Self::new(
            Code::ConfigInvalid,
            "The var ALLOWED_ORIGINS contains a value that is not the origin of a web page.",
            "List origins without paths or wildcards, separated by commas: \"https://app.example.com, \
             http://localhost:3000\".",
        )
    }

    /// [`Code::ApiTokenMissing`], for an HTTP request while the HTTP API is closed.
    pub fn http_api_closed() -> Self {
        Self::new(
            Code::ApiTokenMissing,
            "The HTTP API is closed, because no API_TOKEN is configured.",
            "Set one with `wrangler secret put API_TOKEN`. RPC over a service binding needs none.",
        )
    }

    /// [`Code::ApiTokenMissing`], for ``tools/grant``.
    pub fn grants_closed() -> Self {
        Self::new(
            Code::ApiTokenMissing,
            "Tokens for tools cannot be granted, because no API_TOKEN is configured",
            "Set one with `wrangler secret put API_TOKEN`.",
        )
    }

    /// [`Code::Unauthorized`], for an HTTP request without a bearer token.
    pub fn bearer_token_missing() -> Self {
        Self::new(Code::Unauthorized, "The request has no header `Authorization: Bearer <token>`.", SEND_TOKEN)
    }

    /// [`Code::Unauthorized`], for an HTTP request with another bearer token than the configured one.
    pub fn bearer_token_wrong() -> Self {
        Self::new(Code::Unauthorized, "The bearer token is wrong.", SEND_TOKEN)
    }

    /// [`Code::Unauthorized`], for a tool token that was altered, or that another API token signed.
    pub fn tool_token_forged() -> Self {
        Self::new(Code::Unauthorized, "The token was not granted by this deployment", ASK_FOR_TOKEN)
    }

    /// [`Code::Unauthorized`], for a tool token that has expired.
    pub fn tool_token_expired() -> Self {
        Self::new(Code::Unauthorized, "The token has expired", ASK_FOR_TOKEN)
    }
}
