//! Errors as `application/problem+json` (RFC 9457).

use serde_json::{Value, json};

use crate::model::{Code, Error, Kind};

/// The media type of an error body.
pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// Returns the HTTP status and the body of an error.
pub(crate) fn problem(error: &Error, correlation_id: &str) -> (u16, Value) {
    let status = status(error.code());
    let mut body = json!(error.body(correlation_id));
    if let Value::Object(members) = &mut body {
        members.insert("type".into(), json!(format!("urn:sandbox-snapshotter:error:{}", error.code())));
        members.insert("title".into(), json!(title(error.code())));
        members.insert("status".into(), json!(status));
        members.insert("detail".into(), json!(error.message()));
    }
    (status, body)
}

/// Returns the HTTP status of a code.
pub fn status(code: Code) -> u16 {
    match code {
        Code::InvalidArgument
        | Code::InvalidSandboxId
        | Code::InvalidDirectory
        | Code::InvalidLabel
        | Code::InvalidWorkspaceName
        | Code::InvalidCheckpointName
        | Code::InvalidRef
        | Code::ForeignRef
        | Code::UnsupportedRefVersion => 400,
        Code::Unauthorized => 401,
        Code::RefMismatch | Code::CrossLineage | Code::OtherTenant | Code::PermissionMissing | Code::NotPermitted => {
            403
        }
        Code::BackupNotFound
        | Code::SnapshotNotFound
        | Code::ImageNotFound
        | Code::WorkspaceNotFound
        | Code::CommandNotFound
        | Code::CheckpointNotFound
        | Code::FileNotFound
        | Code::ToolNotFound
        | Code::RouteNotFound => 404,
        Code::MethodNotAllowed => 405,
        Code::Aborted => 408,
        Code::SandboxNotRunning
        | Code::RuntimeMismatch
        | Code::SandboxReplaced
        | Code::SandboxEmpty
        | Code::BackupInterrupted
        | Code::BackupIncomplete
        | Code::SnapshotHasDependents
        | Code::SecretsFound
        | Code::LabelTaken
        | Code::NotAFile
        | Code::NotADirectory
        | Code::FileExists
        | Code::FileChanged
        | Code::DirectoryNotEmpty
        | Code::NameTaken
        | Code::WorkspaceDiverged
        | Code::NothingRestorable
        | Code::OtherLineage
        | Code::OtherDirectory
        | Code::TooManyTokens
        | Code::SnapshotStale
        | Code::IdempotencyConflict => 409,
        Code::BackupExpired => 410,
        Code::PayloadTooLarge => 413,
        Code::UnsupportedMediaType => 415,
        Code::R2BindingMissing
        | Code::SandboxBindingMissing
        | Code::WorkspaceBindingMissing
        | Code::ConfigInvalid
        | Code::BackupConfigInvalid
        | Code::LedgerCorrupt
        | Code::Internal => 500,
        Code::Later(later) => status_of_kind(later.kind()),
        Code::SandboxUnsupported
        | Code::LedgerTooNew
        | Code::Unsupported
        | Code::ExcludeUnsupported
        | Code::GitMissing
        | Code::ArchiveUnreadable => 501,
        Code::SandboxFailed | Code::BackupFailed | Code::RestoreFailed | Code::HookFailed | Code::CheckpointFailed => {
            502
        }
        Code::ApiTokenMissing
        | Code::SandboxStarting
        | Code::SandboxUnavailable
        | Code::SandboxTimeout
        | Code::SandboxUnresponsive
        | Code::SandboxBusy
        | Code::SnapshotBusy
        | Code::LedgerUnavailable
        | Code::DirectoryUnavailable
        | Code::TokensUnavailable
        | Code::WorkspaceUnavailable
        | Code::OperationInterrupted
        | Code::StorageUnavailable => 503,
    }
}

/// Returns the status of a code that only a later release defines.
const fn status_of_kind(kind: Kind) -> u16 {
    match kind {
        Kind::Transient => 503,
        Kind::Permanent => 500,
        Kind::Conflict => 409,
        Kind::NotFound => 404,
        Kind::ResourceExhausted => 413,
        Kind::Unsupported => 501,
        Kind::PolicyDenied => 403,
    }
}

/// Returns a code as a title: "R2 binding missing" for `R2_BINDING_MISSING`.
fn title(code: Code) -> String {
    let text = code.as_str().replace('_', " ").to_lowercase();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_has_the_members_of_rfc_9457_and_of_the_error() {
        const MESSAGE: &str =
            "No R2 bucket is bound to this Worker as \"BUCKET\", so snapshots can't be stored. Nothing was changed.";
        let error = Error::r2_binding_missing("BUCKET").with_remediation("Bind one.");
        let (status, body) = problem(&error, "c0ffee");
        assert_eq!(status, 500);
        assert_eq!(
            body,
            json!({
                "type": "urn:sandbox-snapshotter:error:R2_BINDING_MISSING",
                "title": "R2 binding missing",
                "status": 500,
                "detail": MESSAGE,
                "code": "R2_BINDING_MISSING",
                "kind": "permanent",
                "message": MESSAGE,
                "remediation": "Bind one.",
                "retryable": false,
                "correlationId": "c0ffee",
            })
        );
    }

    #[test]
    fn retryable_codes_have_a_retryable_status() {
        for code in Code::ALL.iter().filter(|code| code.is_retryable()) {
            assert!([408, 502, 503].contains(&status(*code)), "{code}");
        }
    }
}
