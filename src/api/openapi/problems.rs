//! The error responses: one for each status, with the codes that have this status.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::headers;
use crate::api::problem::{self, MEDIA_TYPE, status};
use crate::model::{Code, Error};

/// The correlation id in the examples.
pub const CORRELATION_ID: &str = "5be07d24683f1c9a";

/// The error responses that operations share. Equal responses are stored once.
#[derive(Default)]
pub struct Responses(Map<String, Value>);

impl Responses {
    /// Returns, for each status of the codes, a reference to its response. A response with one code has the name of the
    /// code; with several codes, it has the name of the first operation `id` that has these codes, and the status.
    pub fn for_codes(&mut self, id: &str, codes: &[Code]) -> Map<String, Value> {
        let mut by_status = BTreeMap::<u16, Vec<Code>>::new();
        for code in codes {
            by_status.entry(status(*code)).or_default().push(*code);
        }
        let reference = |(status, codes): (&u16, &Vec<Code>)| {
            let name = self.intern(id, *status, codes);
            (status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") }))
        };
        by_status.iter().map(reference).collect()
    }

    fn intern(&mut self, id: &str, status: u16, codes: &[Code]) -> String {
        let response = response(status, codes);
        if let Some((name, _)) = self.0.iter().find(|(_, stored)| **stored == response) {
            return name.clone();
        }
        let name = match codes {
            [code] => format!("{code:?}"),
            _ => format!("{id}{status}"),
        };
        self.0.insert(name.clone(), response);
        name
    }

    /// Returns all responses by their names.
    pub fn components(self) -> Value {
        Value::Object(self.0)
    }
}

/// Returns the response with a status and its codes.
fn response(status: u16, codes: &[Code]) -> Value {
    let meanings: Vec<String> = codes.iter().map(|code| format!("- `{code}`: {}", code.meaning().trim())).collect();
    let schema = json!({
        "$ref": "#/components/schemas/Problem",
        "properties": { "status": { "const": status }, "code": { "enum": codes } },
    });
    let example = codes.iter().find_map(|code| example(*code));
    json!({
        "description": meanings.join("\n"),
        "headers": headers::for_status(status),
        "content": { MEDIA_TYPE: { "schema": schema, "example": example } },
    })
}

/// Returns an example of the error body for a code.
fn example(code: Code) -> Option<Value> {
    let (message, remediation) = example_text(code)?;
    Some(problem::problem(&Error::example(code, message, remediation), CORRELATION_ID).1)
}

/// Returns the message and the remediation in the example of a code. At least one code of each status has an example.
fn example_text(code: Code) -> Option<(&'static str, &'static str)> {
    Some(match code {
        Code::InvalidArgument => {
            ("There is no option \"labl\".", "Did you mean `label`? /docs/snapshots#v1-snapshot describes the options.")
        }
        Code::Unauthorized => (
            "The request has no header `Authorization: Bearer <token>`.",
            "Send the header `Authorization: Bearer <token>`, with the API_TOKEN or an access token.",
        ),
        Code::PermissionMissing => ("`exec` needs the permission `work`.", "Use another token."),
        Code::TooManyTokens => ("The tenant has 100 tokens, which is the maximum.", "Revoke one that is not in use."),
        Code::CrossLineage => (
            "The lineage scope \"agent-7\" belongs to the lineage of \"agent-7\"; the requested object belongs to the \
             lineage of \"agent-42\".",
            "Pass a `lineageScope` of the same lineage, or `allowCrossLineage: true`.",
        ),
        Code::SnapshotNotFound => (
            "There is no snapshot snap-abcdefghij012345 of \"agent-42\".",
            "Use another snapshot: `list` returns the existing ones.",
        ),
        Code::WorkspaceNotFound => (
            "The tenant \"acme\" has no workspace \"project\".",
            "Create it with `workspaces/create` or `workspaces/getOrCreate`.",
        ),
        Code::CheckpointNotFound => ("snapshot \"s1\" not found.", "List the checkpoints of \"/workspace\"."),
        Code::ToolNotFound => {
            ("There is no tool \"workspace__code__undo\".", "Use the name of a tool exactly as tools/list returns it.")
        }
        Code::BackupIncomplete => {
            ("The backup in R2 is damaged: the size of its archive has changed.", "Use another snapshot.")
        }
        Code::BackupNotFound => {
            ("The backup is not in the bucket that is bound to this Worker.", "Use another snapshot.")
        }
        Code::RouteNotFound => ("There is no route \"/v2/snapshot\".", "Use POST /v1/<operation>."),
        Code::MethodNotAllowed => {
            ("/v1/list does not accept GET.", "Use POST /v1/list, with the options as a JSON body.")
        }
        Code::Aborted => (
            "The caller's AbortSignal fired. The operation is rolled back.",
            "Call again, with the same idempotency key.",
        ),
        Code::SnapshotHasDependents => (
            "The snapshot snap-abcdefghij012345 is needed by \"agent-42-branch-k3f9x2ab\".",
            "Take a snapshot of each of these sandboxes that is still used, or pass `force: true` to delete it anyway.",
        ),
        Code::LabelTaken => {
            ("Another snapshot already has the label \"before\".", "Use another label, or pass `replace: true`.")
        }
        Code::SandboxNotRunning => (
            "The sandbox \"agent-42\" is not running, so its files are gone and a snapshot would be empty.",
            "Take snapshots while the sandbox is running, or pass `wake: true` to start it without its files.",
        ),
        Code::ImageNotFound => (
            "The class of the sandbox \"notebook-k3f9x2ab\" has no image \"rust\". It has only \"base\", \"python\".",
            "Pass one of its images, or `image: null` for the default of the class.",
        ),
        Code::NameTaken => {
            ("The tenant \"acme\" already has a workspace \"project\".", "Use another name, or getOrCreate().")
        }
        Code::OtherLineage => {
            ("The workspace to promote is of another lineage than \"project\".", "Promote a fork of the workspace.")
        }
        Code::OtherTenant => (
            "The snapshot snap-9rbk8d2dduhnwf6u is not of the workspace's tenant.",
            "Use a snapshot of a workspace of the same tenant.",
        ),
        Code::OtherDirectory => (
            "The snapshot snap-9rbk8d2dduhnwf6u is of another directory than \"/workspace\".",
            "Use a snapshot of \"/workspace\".",
        ),
        Code::BackupExpired => ("The backup has expired.", "Use another snapshot."),
        Code::PayloadTooLarge => ("The arguments are larger than 65536 bytes.", "Send only the operation's options."),
        Code::UnsupportedMediaType => (
            "The Content-Type of the body must be application/json, got \"text/plain\".",
            "Send JSON, with the header `Content-Type: application/json`.",
        ),
        _ => return fault_text(code),
    })
}

/// As [`example_text`], for errors that are not the request's.
fn fault_text(code: Code) -> Option<(&'static str, &'static str)> {
    Some(match code {
        Code::Internal => (
            "An internal error occurred in this Worker.",
            "Report it, with the log lines of this Worker and its Workspace object at that time.",
        ),
        Code::R2BindingMissing => (
            "No R2 bucket is bound as BACKUP_BUCKET.",
            "Add [[r2_buckets]] with binding = \"BACKUP_BUCKET\" to wrangler.toml, and deploy.",
        ),
        Code::LedgerTooNew => (
            "A later release of this Worker wrote the storage of the workspace.",
            "Deploy that release, or a later one.",
        ),
        Code::SandboxUnsupported => (
            "The class of the sandbox lacks a method while backing up the sandbox \"agent-42\".",
            "Bind the class Sandbox of @cloudflare/sandbox 0.12.10, or a class with its methods.",
        ),
        Code::BackupFailed => {
            ("The sandbox failed while backing up the sandbox \"agent-42\".", "Check the cause, and try again.")
        }
        Code::RestoreFailed => {
            ("The sandbox failed while restoring into the sandbox \"agent-42-restored-k3f9x2ab\".", "Try again.")
        }
        Code::SandboxFailed => {
            ("The sandbox \"agent-42\" failed.", "Check the cause and the logs of the sandbox's Worker.")
        }
        Code::StorageUnavailable => ("R2 failed while reading the backup.", "Try again."),
        Code::SandboxUnavailable => {
            ("The sandbox could not be reached while probing the sandbox \"agent-42\".", "Try again.")
        }
        Code::LedgerUnavailable => ("The call to the ledger of \"agent-42\" failed.", "Try again."),
        Code::DirectoryUnavailable => ("The list of workspaces could not be read.", "Try again."),
        Code::ApiTokenMissing => (
            "The HTTP API is closed, because no API_TOKEN is configured.",
            "Set one with `wrangler secret put API_TOKEN`.",
        ),
        _ => return None,
    })
}
