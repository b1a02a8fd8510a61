//! The remediations of failures, in the terms of the command line.

use sandbox_snapshotter_client::ErrorCode;
use sandbox_snapshotter_client::model::Code;

/// Returns the remediation for users of the command line, if it differs from that of the API.
pub fn remediation_for(code: &ErrorCode, is_repeatable: bool) -> Option<&'static str> {
    match code {
        ErrorCode::Unreachable => Some(
            "Nothing was done. Check the address, and that the server is running: `snapshotter doctor` shows details.",
        ),
        ErrorCode::ForeignAnswer => Some(
            "Check the address: it must be that of the Worker, without `/v1`. `snapshotter doctor` checks the server.",
        ),
        // A call that must not be repeated has another remediation, and a key is printed with its option.
        ErrorCode::AnswerLost if is_repeatable => Some("Run the command again."),
        _ => None,
    }
}

/// Returns the remediation for users of the command line, or else `api_remediation`, which is that of the API.
pub fn remediation_or(code: Code, api_remediation: &str) -> &str {
    match code {
        // A restore and a revival have another option than the start of a workspace.
        Code::SnapshotStale if !api_remediation.contains("acceptStale") => api_remediation,
        // A freeze command is no hook.
        Code::HookFailed if !api_remediation.contains("onFailure") => api_remediation,
        // The name of a fork can be omitted.
        Code::NameTaken if api_remediation.contains("newName") => api_remediation,
        // No permission of a token would do.
        Code::PermissionMissing if api_remediation.contains("API_TOKEN") => api_remediation,
        _ => remediation_for_code(code).unwrap_or(api_remediation),
    }
}

/// Adds the permission that a message names to the command that creates a token in a remediation.
pub fn with_permission(remediation: &str, message: &str) -> String {
    let needed = message.split_once("needs the permission `").and_then(|(_, rest)| rest.split_once('`'));
    match needed {
        Some((permission, _)) => remediation.replace("--permission …", &format!("--permission {permission}")),
        None => remediation.to_owned(),
    }
}

/// Returns the remediation of a server's code for users of the command line, if it differs from that of the API.
fn remediation_for_code(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::Unauthorized => {
            "Pass the API_TOKEN of the deployment or an access token: with `--token-file`, SNAPSHOTTER_TOKEN or the \
             configuration file."
        }
        Code::PermissionMissing => {
            "Use another token, which an administrator creates with `snapshotter tokens create --permission …`. \
             `snapshotter tokens current` shows what this one permits."
        }
        Code::InvalidSandboxId => {
            "Pass the id that the application passes to getSandbox(), or @NAME for a named workspace."
        }
        Code::InvalidRef => "Pass the ref as `snapshot create --json` or `snapshot show --json` prints it.",
        Code::RefMismatch => {
            "Pass the ref exactly as it was printed. If the key was rotated, `snapshot show --json` prints a newly signed \
             ref."
        }
        Code::SnapshotNotFound => {
            "Select another snapshot: `snapshotter snapshot list SANDBOX|@NAME` lists the existing ones."
        }
        Code::CommandNotFound => {
            "`snapshotter commands list SANDBOX|@NAME` lists the background commands. They end with their container, and of \
             those that ended, the newest 16 are kept."
        }
        Code::WorkspaceNotFound => {
            "Create it with `snapshotter workspace create`, or select another: `snapshotter workspace list` lists the \
             existing ones."
        }
        Code::NameTaken => {
            "Use another name, start the existing workspace with `snapshotter workspace start NAME`, or delete it with \
             `snapshotter workspace delete NAME`."
        }
        Code::WorkspaceDiverged => {
            "Start it with an option: `--on-diverged rescue` saves the written files in a rescue snapshot and restores the \
             newest snapshot before it; `--on-diverged adopt` continues with the written files; `--on-diverged discard` \
             discards them."
        }
        Code::SnapshotStale => {
            "Pass `--accept-stale` to start it anyway, go back to another snapshot with `snapshotter workspace rollback \
             NAME ID|LABEL`, or create a new workspace."
        }
        Code::HookFailed => {
            "Correct the command. To continue after the failure of a hook, set the hook again: `snapshotter workspace update \
             NAME --before-stop COMMAND --hook-failure warn`, or with `--after-start` or `--on-timeout`."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use sandbox_snapshotter_client::model;

    use super::*;
    use crate::output::render::with_flags;

    #[test]
    fn remediations_use_the_terms_of_the_command_line() {
        for code in
            [Code::SnapshotNotFound, Code::NameTaken, Code::WorkspaceNotFound, Code::HookFailed, Code::InvalidRef]
        {
            let remediation = remediation_for_code(code).unwrap();
            for word in ["list()", "create()", "onFailure", "snapshot()"] {
                assert!(!remediation.contains(word), "{remediation}");
            }
        }
    }

    #[test]
    fn texts_of_the_server_name_the_operations_of_the_api() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/rust/src/model/error");
        let files = fs::read_dir(folder).unwrap();
        let sources: Vec<_> = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        let lines = sources.iter().flat_map(|source| source.lines()).map(str::trim_start);
        let texts: Vec<_> = lines
            .filter(|line| !line.starts_with("//"))
            .map(|line| line.replace("\\\"", "'"))
            // A line without quotes continues a text.
            .flat_map(|line| {
                let parts: Vec<_> = line.split('"').map(str::to_owned).collect();
                let is_whole = parts.len() < 2 && line.ends_with('\\');
                parts.into_iter().enumerate().filter(move |(index, _)| is_whole || index % 2 == 1).map(|(_, part)| part)
            })
            .collect();
        assert!(texts.iter().any(|text| text.contains("`tokens/create`")));
        // Functions of the platform and of its SDK.
        let is_of_platform = |text: &str| ["createBackup()", "getSandbox()"].iter().any(|name| text.contains(name));
        let calls: Vec<_> = texts.iter().filter(|text| text.contains("()") && !is_of_platform(text)).collect();
        assert!(calls.is_empty(), "{calls:?}");
    }

    #[test]
    fn commands_in_remediations_are_accepted() {
        use clap::Parser;
        let mut commands = 0;
        for code in Code::ALL {
            let remediation = remediation_for_code(*code).unwrap_or_default();
            for line in remediation.split('`').filter(|part| part.starts_with("snapshotter ")) {
                let words = line.replace("SANDBOX|@NAME", "@notebook").replace(" …", " read");
                let parsed = crate::args::Cli::try_parse_from(words.split(' '));
                let needs_name = words == "snapshotter workspace create";
                assert!(parsed.is_ok() || needs_name, "{line}");
                commands += 1;
            }
        }
        assert!(commands > 4, "{commands}");
    }

    #[test]
    fn a_missing_permission_is_in_the_command_that_creates_a_token() {
        use sandbox_snapshotter_client::model::operation::Operation;
        use sandbox_snapshotter_client::model::token::Permission;
        let text =
            |error: model::Error| with_permission(remediation_or(error.code(), error.remediation()), error.message());
        for error in [
            model::Error::permission_missing("exec", Permission::Work, &[Permission::Read]),
            model::Error::work_missing(Operation::CreateWorkspace, "`env`"),
        ] {
            assert!(text(error.clone()).contains("`snapshotter tokens create --permission work`"), "{}", text(error));
        }
        for error in [model::Error::needs_api_token(Operation::Sweep), model::Error::cross_lineage_not_permitted()] {
            let text = text(error);
            assert!(text.contains("API_TOKEN of the deployment") && !text.contains("tokens create"), "{text}");
        }
    }

    #[test]
    fn a_stale_snapshot_is_accepted_with_the_option_of_the_command() {
        let id = model::SnapshotId::parse("snap-9rbk8d2dduhnwf6u").unwrap();
        let text = |error: model::Error| with_flags(remediation_or(error.code(), error.remediation()));
        let of_start = text(model::Error::snapshot_stale(&id, &["the image changed".to_owned()]));
        assert!(of_start.contains("`--accept-stale`"), "{of_start}");
        let of_restore = text(model::Error::image_changed(&id, &["the image changed".to_owned()]));
        assert!(of_restore.contains("`--on-image-change report`"), "{of_restore}");
        assert!(!of_restore.contains("accept"), "{of_restore}");
    }
}
