//! The commands for retention. For a named workspace, they cover its present and all former sandboxes.

use std::cmp::Reverse;

use sandbox_snapshotter_client::model::answer::Retention as Decisions;
use sandbox_snapshotter_client::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter_client::model::policy::Decision;
use sandbox_snapshotter_client::model::request::{
    ApplyRetentionRequest, LineageScope, SandboxRequest, SandboxTarget, SetRetentionRequest, SettingsUpdate,
    UpdateRequest,
};
use sandbox_snapshotter_client::model::{Policy, SandboxId};
use serde_json::json;

use super::confirm::confirm;
use super::context::Context;
use super::target::parse_target;
use crate::args::retention::{Apply, Plan, Retention, Set};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::retention::KeptSnapshots;
use crate::output::{Show, now, print_note};

/// Runs the command.
pub fn run(context: &Context, command: &Retention) -> Result<Exit> {
    match command {
        Retention::Show(command) => {
            let (sandboxes, lineage_scope) =
                (context.sandboxes(&command.target)?, context.lineage_scope(&command.lineage_scope)?);
            let decisions = current_decisions(context, &sandboxes, &lineage_scope)?;
            check_known(context, &command.target, &decisions.value)?;
            context.show::<KeptSnapshots>(&Answer::of(decisions.raw)?)
        }
        Retention::Plan(command) => plan(context, command),
        Retention::Apply(command) => apply(context, command),
        Retention::Set(command) => set(context, command),
    }
}

fn plan(context: &Context, command: &Plan) -> Result<Exit> {
    let sandboxes = context.sandboxes(&command.target)?;
    let decisions = if command.policy.is_given() {
        planned_decisions(context, &sandboxes, &command.policy.to_policy(&present_policy(context, &sandboxes)?))?
    } else {
        pending_decisions(context, &sandboxes)?
    };
    check_known(context, &command.target, &decisions.value)?;
    context.show(&decisions)
}

fn apply(context: &Context, command: &Apply) -> Result<Exit> {
    let sandboxes = context.sandboxes(&command.target)?;
    confirm(&command.confirmation, || Ok(confirm_text(&pending_decisions(context, &sandboxes)?.value)))?;
    let decisions = merge_decisions(&sandboxes, |sandbox_id| {
        context.call_mutating("applyRetention", &ApplyRetentionRequest { sandbox_id, dry_run: false })
    })?;
    check_known(context, &command.target, &decisions.value)?;
    context.show(&decisions)
}

/// Fails if there are no snapshots because the server knows nothing of the sandbox.
fn check_known(context: &Context, target: &str, decisions: &Decisions) -> Result<()> {
    if decisions.decisions.is_empty() {
        context.known_sandbox(target)?;
    }
    Ok(())
}

fn set(context: &Context, command: &Set) -> Result<Exit> {
    if !command.policy.is_given() {
        let remediation = "Pass `--expires`, `--keep-last`, `--no-keep-last`, `--keep-daily` or `--keep-weekly`.";
        return Err(Failure::invalid("INVALID_USAGE", "No retention rule is given.", remediation));
    }
    let target = parse_target(&command.target)?;
    let sandboxes = context.known_sandboxes(&command.target)?;
    let policy = command.policy.to_policy(&present_policy(context, &sandboxes)?);
    confirm(&command.confirmation, || Ok(confirm_text(&planned_decisions(context, &sandboxes, &policy)?.value)))?;
    let SandboxTarget::Named(address) = target else {
        return context.show(&merge_decisions(&sandboxes, |sandbox_id| {
            context.call_mutating(
                "setRetention",
                &SetRetentionRequest { sandbox_id, policy: policy.clone(), dry_run: false },
            )
        })?);
    };
    // The update applies to all sandboxes of the workspace, and its answer does not contain the removed snapshots.
    let before = planned_decisions(context, &sandboxes, &policy)?.value;
    let changes = SettingsUpdate { retention: Some(policy), ..SettingsUpdate::default() };
    let updated =
        context.call_mutating::<WorkspaceDescription>("workspaces/update", &UpdateRequest::of(address, changes))?.value;
    let after = current_decisions(context, &sandboxes, &LineageScope::UNRESTRICTED).map_err(|failure| {
        failure.after_step("The policy was set.", "Run `snapshotter retention show` to see the remaining snapshots.")
    })?;
    let report = removed_decisions(before.decisions, after.value.decisions, updated.retention);
    context.show::<Decisions>(&Answer::of(json!(report))?)
}

/// Returns the present policy, which is that of the present sandbox.
fn present_policy(context: &Context, sandboxes: &[SandboxId]) -> Result<Policy> {
    let present = sandboxes.get(..1).unwrap_or_default();
    Ok(current_decisions(context, present, &LineageScope::UNRESTRICTED)?.value.policy)
}

/// Returns the present decision about each snapshot.
fn current_decisions(
    context: &Context,
    sandboxes: &[SandboxId],
    lineage_scope: &LineageScope,
) -> Result<Answer<Decisions>> {
    merge_decisions(sandboxes, |sandbox_id| {
        context.call_read_only("retention", &SandboxRequest { sandbox_id, lineage_scope: lineage_scope.clone() })
    })
}

/// Returns the decisions of a dry run of the present policy.
fn pending_decisions(context: &Context, sandboxes: &[SandboxId]) -> Result<Answer<Decisions>> {
    merge_decisions(sandboxes, |sandbox_id| {
        context.call_read_only("applyRetention", &ApplyRetentionRequest { sandbox_id, dry_run: true })
    })
}

/// Returns the decisions of a dry run of another policy.
fn planned_decisions(context: &Context, sandboxes: &[SandboxId], policy: &Policy) -> Result<Answer<Decisions>> {
    merge_decisions(sandboxes, |sandbox_id| {
        context
            .call_read_only("setRetention", &SetRetentionRequest { sandbox_id, policy: policy.clone(), dry_run: true })
    })
}

/// Merges the answers for all sandboxes into one, with the policy of the first and the newest snapshots first.
fn merge_decisions(
    sandboxes: &[SandboxId],
    fetch: impl Fn(SandboxId) -> Result<Answer<Decisions>>,
) -> Result<Answer<Decisions>> {
    let mut answers = sandboxes.iter().cloned().map(fetch).collect::<Result<Vec<_>>>()?.into_iter();
    let Some(first) = answers.next() else { return Err(Failure::foreign_answer("a workspace without a sandbox")) };
    if answers.len() == 0 {
        return Ok(first);
    }
    let mut merged = first.value;
    for Answer { value, .. } in answers {
        merged.evicted += value.evicted;
        merged.decisions.extend(value.decisions);
    }
    sort(&mut merged.decisions);
    Answer::of(json!(merged))
}

/// Returns the decisions after the policy was applied: the snapshots that are missing since `before` were removed.
fn removed_decisions(before: Vec<Decision>, after: Vec<Decision>, policy: Policy) -> Decisions {
    let remains = |decision: &Decision| after.iter().any(|other| other.snapshot_id == decision.snapshot_id);
    let removed: Vec<_> = before.into_iter().filter(|decision| !remains(decision)).collect();
    let evicted = removed.len();
    let removed = removed.into_iter().map(|decision| Decision { keep: false, ..decision });
    let mut decisions: Vec<_> = after.into_iter().chain(removed).collect();
    sort(&mut decisions);
    Decisions { policy, decisions, evicted, dry_run: false }
}

fn sort(decisions: &mut [Decision]) {
    decisions.sort_by_cached_key(|decision| Reverse((decision.created_at, decision.snapshot_id.clone())));
}

/// Prints the plan, and returns its effect if it removes snapshots.
fn confirm_text(plan: &Decisions) -> Option<String> {
    if plan.evicted == 0 {
        return None;
    }
    print_note(&plan.text(now()));
    Some("Removed snapshots cannot be recovered.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox_snapshotter_client::model::json as model_json;

    fn decision(id: char, second: u32, keep: bool) -> Decision {
        let decision = json!({
            "snapshotId": format!("snap-{}", id.to_string().repeat(16)), "label": id, "keep": keep, "reasons": ["x"],
            "createdAt": format!("2026-11-20T05:00:0{second}.000Z"),
        });
        model_json::from_value(&decision).unwrap()
    }

    #[test]
    fn missing_snapshots_are_removed_regardless_of_the_plan() {
        let before = vec![decision('a', 1, false), decision('b', 2, true), decision('c', 3, false)];
        let after = vec![decision('c', 3, true)];
        let report = removed_decisions(before, after, Policy::default());
        let decisions: Vec<_> =
            report.decisions.iter().map(|decision| (decision.label.as_str(), decision.keep)).collect();
        assert_eq!((decisions, report.evicted), (vec![("c", true), ("b", false), ("a", false)], 2));
    }

    #[test]
    fn the_answers_of_several_sandboxes_are_merged() {
        let sandboxes = ["one", "two"].map(|id| SandboxId::parse(id).unwrap());
        let answer = merge_decisions(&sandboxes, |sandbox| {
            let decisions =
                if sandbox.as_str() == "one" { [decision('a', 2, true)] } else { [decision('b', 3, false)] };
            let evicted = usize::from(!decisions[0].keep);
            Answer::of(
                json!({ "policy": Policy::default(), "decisions": decisions, "evicted": evicted, "dryRun": true }),
            )
        });
        let merged = answer.unwrap().value;
        let labels: Vec<_> = merged.decisions.iter().map(|decision| decision.label.as_str()).collect();
        assert_eq!((labels, merged.evicted, merged.dry_run), (vec!["b", "a"], 1, true));
    }
}
