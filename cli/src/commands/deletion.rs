//! `workspace delete`: deletes one or several named workspaces.

use sandbox_snapshotter_client::Options;
use sandbox_snapshotter_client::model::named::Address;
use sandbox_snapshotter_client::model::named::answer::DeletedWorkspace;
use sandbox_snapshotter_client::model::{Code, Error};
use serde_json::{Value, json};

use super::confirm::confirm_lines;
use super::context::Context;
use super::snapshot;
use super::target::{parse_address, to_target};
use crate::args::workspace::Delete;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::deleted::Deleted;
use crate::output::render::count;
use crate::output::{print_failure, print_json};

/// Runs the command. Of several workspaces, each is deleted in order, also after another one failed. The exit status is that of
/// the first failure.
pub fn run(context: &Context, command: &Delete) -> Result<Exit> {
    let addresses = command.names.iter().map(|name| parse_address(name)).collect::<Result<Vec<_>>>()?;
    confirm_lines(&command.confirmation, || Ok(describe_deletions(&effects(context, &addresses)?)))?;
    if let [address] = addresses.as_slice() {
        return context.show(&delete(context, address)?);
    }
    let (mut exit, mut results) = (Exit::Done, Vec::new());
    for address in &addresses {
        let deleted = delete(context, address);
        results.push(result(address, &deleted));
        match deleted {
            Ok(answer) if !context.output.json => context.output.show(&answer)?,
            Ok(_) => {}
            Err(failure) => {
                if !context.output.json {
                    print_failure(&failure);
                }
                exit = if exit == Exit::Done { failure.exit() } else { exit };
            }
        }
    }
    if context.output.json {
        print_json(&json!({ "workspaces": results }))?;
    }
    Ok(exit)
}

/// Returns the JSON of one deletion: the answer of the API, or the error.
fn result(address: &Address, deleted: &Result<Answer<Deleted>>) -> Value {
    let name = name(address);
    match deleted {
        Ok(answer) => json!({ "name": name, "value": answer.raw }),
        Err(Failure::Reported(report)) => json!({ "name": name, "error": report.to_json() }),
        Err(Failure::OutputClosed) => json!({ "name": name }),
    }
}

/// What a deletion removes.
struct Effect {
    workspace: String,
    sandbox: String,
    snapshots: usize,
}

/// Describes the deletion of workspaces in lines: of several, each on a line of its own.
fn describe_deletions(effects: &[Effect]) -> Vec<String> {
    let removed = |Effect { sandbox, snapshots, .. }: &Effect| {
        format!("its sandbox {sandbox} and its {}", count(*snapshots, "snapshot", "snapshots"))
    };
    match effects {
        [] => Vec::new(),
        [effect] => vec![format!(
            "This permanently deletes the workspace {}, {}, except snapshots that are pinned or needed by other sandboxes.",
            effect.workspace,
            removed(effect)
        )],
        effects => {
            let first = format!("This permanently deletes {} workspaces:", effects.len());
            let last = "Snapshots that are pinned or needed by other sandboxes are kept.".to_owned();
            let rows = effects.iter().map(|effect| format!("  {}: {}", effect.workspace, removed(effect)));
            std::iter::once(first).chain(rows).chain([last]).collect()
        }
    }
}

/// Returns what the deletion of workspaces removes. Of several, a missing one is reported in its place, unless all are missing.
fn effects(context: &Context, addresses: &[Address]) -> Result<Vec<Effect>> {
    let (mut effects, mut missing) = (Vec::new(), None);
    for address in addresses {
        match effect(context, address) {
            Ok(effect) => effects.push(effect),
            Err(failure) if failure.code() == Some(Code::WorkspaceNotFound.as_str()) => {
                missing = missing.or(Some(failure));
            }
            Err(failure) => return Err(failure),
        }
    }
    match missing {
        Some(failure) if effects.is_empty() => Err(failure),
        _ => Ok(effects),
    }
}

/// Returns what the deletion of a workspace removes.
fn effect(context: &Context, address: &Address) -> Result<Effect> {
    let described = context.workspace(address)?;
    let mut snapshots = 0;
    for sandbox_id in std::iter::once(&described.sandbox_id).chain(&described.former_sandbox_ids) {
        snapshots += snapshot::count(context, sandbox_id)?;
    }
    Ok(Effect { workspace: address.to_string(), sandbox: described.sandbox_id.to_string(), snapshots })
}

fn delete(context: &Context, address: &Address) -> Result<Answer<Deleted>> {
    let mut answer = context.call_mutating::<Deleted>("workspaces/delete", address)?;
    if !existed(&answer.value.workspace) {
        // A misspelled name would leave the workspace in place.
        let failure = Failure::from(Error::workspace_not_found(address))
            .with_sentence("Nothing of this name was deleted.")
            .with_remediation("`snapshotter workspace list` lists the existing workspaces.".to_owned());
        return Err(context.suggest_workspace(failure, &address.to_json()));
    }
    answer.value.name = name(address);
    Ok(answer)
}

/// Returns the name, with the tenant if it is not the default one.
fn name(address: &Address) -> String {
    to_target(address).trim_start_matches('@').to_owned()
}

/// Returns whether the workspace existed: this call deleted it, or an earlier one did.
fn existed(deleted: &DeletedWorkspace) -> bool {
    deleted.removed
        || deleted.deleted_at.is_some()
        || deleted.removed_snapshots > 0
        || !deleted.kept.is_empty()
        || !deleted.pending.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_deletions_has_a_line() {
        let effect = |name: &str, snapshots| Effect {
            workspace: format!("default/{name}"),
            sandbox: format!("{name}-s1"),
            snapshots,
        };
        assert_eq!(
            describe_deletions(&[effect("web", 3), effect("notebook", 1)]),
            [
                "This permanently deletes 2 workspaces:",
                "  default/web: its sandbox web-s1 and its 3 snapshots",
                "  default/notebook: its sandbox notebook-s1 and its 1 snapshot",
                "Snapshots that are pinned or needed by other sandboxes are kept.",
            ]
        );
        let [one] = describe_deletions(&[effect("web", 0)]).try_into().unwrap();
        assert!(one.starts_with("This permanently deletes the workspace default/web, its sandbox web-s1 and"), "{one}");
        assert_eq!(describe_deletions(&[]), [] as [&str; 0]);
    }
}
