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
    Some(problem::problem(&Error::new(code, message, remediation), CORRELATION_ID).1)
}

/// Returns the message and the remediation in the example of a code. At least one code of each status has an example.
fn example_text(code: Code) -> Option<(&'static str, &'static str)> {
    Some(match code {
        Code::InvalidArgument => ("`sandboxID` is not an argument of this operation.", "Leave it out."),
        Code::Unauthorized => {
            ("The request carries no bearer token.", "Send the header `Authorization: Bearer <API_TOKEN>`.")
        }
        Code::CrossLineage => (
            "The snapshot belongs to the lineage of \"agent-42\", and `lineageScope` is \"agent-7\".",
            "Pass a `lineageScope` of the same lineage, or `allowCrossLineage: true`.",
        ),
        Code::SnapshotNotFound => (
            "The sandbox \"agent-42\" has no snapshot snap-abcdefghij012345.",
            "List the snapshots of the sandbox that it was taken of.",
        ),
        Code::WorkspaceNotFound => ("There is no workspace \"project\" of \"acme\".", "Make it with create."),
        Code::CheckpointNotFound => {
            ("The sandbox \"agent-42\" has no checkpoint \"s1\".", "List its checkpoints, or create one.")
        }
        Code::ToolNotFound => ("There is no tool \"workspace__code__undo\".", "Use one that tools/list answers."),
        Code::BackupIncomplete => {
            ("The archive of the backup is of another size than it was.", "Use another snapshot.")
        }
        Code::BackupNotFound => ("The backup is not in R2.", "Use another snapshot."),
        Code::RouteNotFound => ("There is no route \"/v2/snapshot\".", "The routes are POST /v1/<operation>."),
        Code::MethodNotAllowed => ("The route does not take GET.", "Use POST, with the options as a JSON body."),
        Code::Aborted => ("The caller aborted the call.", "Make the call again, with the same idempotency key."),
        Code::SnapshotHasDependents => (
            "The snapshot is needed by \"agent-42-branch-k3f9x2ab\".",
            "Delete what needs it first, or say `force: true`.",
        ),
        Code::LabelTaken => {
            ("Another snapshot has the label \"before\".", "Choose another label, or say `replace: true`.")
        }
        Code::SandboxNotRunning => (
            "The sandbox \"agent-42\" is not running, so its files are not there to be captured.",
            "Start it first. A snapshot with `wake: true` starts it, with none of its files.",
        ),
        Code::NameTaken => ("There is a workspace \"project\" already.", "Choose another name, or use getOrCreate."),
        Code::BackupExpired => ("The backup's time to live is over.", "Use another snapshot."),
        Code::PayloadTooLarge => ("The arguments are larger than 65536 bytes.", "Send only the operation's options."),
        Code::UnsupportedMediaType => (
            "The body's Content-Type is \"text/plain\".",
            "Send JSON, with the header `Content-Type: application/json`.",
        ),
        Code::Internal => (
            "This Worker failed where it never should.",
            "Report it, with the log lines of this Worker and its Workspace object at that time.",
        ),
        Code::R2BindingMissing => (
            "No R2 bucket is bound as BACKUP_BUCKET.",
            "Add [[r2_buckets]] with binding = \"BACKUP_BUCKET\" to wrangler.toml, and deploy.",
        ),
        Code::LedgerTooNew => {
            ("A later version of this Worker wrote the workspace's storage.", "Deploy that version again.")
        }
        Code::SandboxUnsupported => (
            "The class of the sandbox lacks a method while backing up the sandbox \"agent-42\".",
            "Bind the Sandbox class of @cloudflare/sandbox 0.12.10, or one with its methods.",
        ),
        Code::BackupFailed => {
            ("The sandbox failed while backing up the sandbox \"agent-42\".", "Look at the cause, and try again.")
        }
        Code::RestoreFailed => {
            ("The sandbox failed while restoring into the sandbox \"agent-42-restored-k3f9x2ab\".", "Try again.")
        }
        Code::SandboxFailed => ("The sandbox \"agent-42\" failed.", "Look at the cause and at its Worker's logs."),
        Code::StorageUnavailable => ("R2 failed while looking for the backup.", "Try again."),
        Code::SandboxUnavailable => {
            ("The sandbox could not be reached while looking at the sandbox \"agent-42\".", "Try again.")
        }
        Code::LedgerUnavailable => ("The workspace of \"agent-42\" could not be asked.", "Try again."),
        Code::DirectoryUnavailable => ("The list of workspaces can't be read now.", "Try again."),
        Code::ApiTokenMissing => (
            "The HTTP API is closed, because no API_TOKEN is configured.",
            "Set one with `wrangler secret put API_TOKEN`.",
        ),
        _ => return None,
    })
}
