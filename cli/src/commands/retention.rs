//! The commands about retention. Of a named workspace, they are about all sandboxes that it has and had.

use std::cmp::Reverse;

use sandbox_snapshotter::model::answer::Retention as Decided;
use sandbox_snapshotter::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter::model::policy::Decision;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, LineageScope, SandboxRequest, SetRetentionRequest, SettingsUpdate, UpdateRequest,
};
use sandbox_snapshotter::model::{Policy, SandboxId};
use serde_json::json;

use super::confirm::confirm;
use super::context::Context;
use super::target::Target;
use crate::args::retention::{Apply, Plan, Retention, Set};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::{Show, now, print_note};

/// Does what was typed.
pub fn run(context: &Context, command: &Retention) -> Result<Exit> {
    match command {
        Retention::Show(command) => {
            let (sandboxes, session) =
                (context.sandboxes(&command.target)?, context.lineage_scope(&command.lineage_scope)?);
            context.show(&current_decisions(context, &sandboxes, &session)?)
        }
        Retention::Plan(command) => plan(context, command),
        Retention::Apply(command) => apply(context, command),
        Retention::Set(command) => set(context, command),
    }
}

fn plan(context: &Context, command: &Plan) -> Result<Exit> {
    let sandboxes = context.sandboxes(&command.target)?;
    if command.policy.is_given() {
        return context.show(&planned_decisions(context, &sandboxes, &command.policy.to_policy())?);
    }
    context.show(&pending_decisions(context, &sandboxes)?)
}

fn apply(context: &Context, command: &Apply) -> Result<Exit> {
    let sandboxes = context.sandboxes(&command.target)?;
    confirm(&command.confirmation, || Ok(confirm_text(&pending_decisions(context, &sandboxes)?.value)))?;
    context.show(&merge_decisions(&sandboxes, |sandbox_id| {
        context.call_mutating("applyRetention", &ApplyRetentionRequest { sandbox_id, dry_run: false })
    })?)
}

fn set(context: &Context, command: &Set) -> Result<Exit> {
    if !command.policy.is_given() {
        let remediation = "Give --expires, --keep-last, --keep-daily or --keep-weekly.";
        return Err(Failure::invalid("INVALID_USAGE", "Nothing says what the policy is.", remediation));
    }
    let policy = command.policy.to_policy();
    let place = Target::parse(&command.target)?;
    let sandboxes = context.sandboxes(&command.target)?;
    confirm(&command.confirmation, || Ok(confirm_text(&planned_decisions(context, &sandboxes, &policy)?.value)))?;
    let Target::Named(address) = place else {
        return context.show(&merge_decisions(&sandboxes, |sandbox_id| {
            context.call_mutating(
                "setRetention",
                &SetRetentionRequest { sandbox_id, policy: policy.clone(), dry_run: false },
            )
        })?);
    };
    // The workspace tells all of its sandboxes, and does not say what they removed.
    let before = planned_decisions(context, &sandboxes, &policy)?.value;
    let changes = SettingsUpdate { retention: Some(policy), ..SettingsUpdate::default() };
    let known =
        context.call_mutating::<WorkspaceDescription>("workspaces/update", &UpdateRequest::of(address, changes))?.value;
    let after = current_decisions(context, &sandboxes, &LineageScope::UNRESTRICTED).map_err(|failure| {
        failure.after_step("The policy is set.", "`snapshotter retention show` tells what is left.")
    })?;
    let report = removed_decisions(before.decisions, after.value.decisions, known.retention);
    context.show::<Decided>(&Answer::of(json!(report))?)
}

/// What the policy means for each snapshot now.
fn current_decisions(context: &Context, sandboxes: &[SandboxId], session: &LineageScope) -> Result<Answer<Decided>> {
    merge_decisions(sandboxes, |sandbox_id| {
        context.call_read_only("retention", &SandboxRequest { sandbox_id, lineage_scope: session.clone() })
    })
}

/// What is to be removed now.
fn pending_decisions(context: &Context, sandboxes: &[SandboxId]) -> Result<Answer<Decided>> {
    merge_decisions(sandboxes, |sandbox_id| {
        context.call_read_only("applyRetention", &ApplyRetentionRequest { sandbox_id, dry_run: true })
    })
}

/// What another policy would mean.
fn planned_decisions(context: &Context, sandboxes: &[SandboxId], policy: &Policy) -> Result<Answer<Decided>> {
    merge_decisions(sandboxes, |sandbox_id| {
        context
            .call_read_only("setRetention", &SetRetentionRequest { sandbox_id, policy: policy.clone(), dry_run: true })
    })
}

/// The answers for all sandboxes, in one: with the policy of the first, and the newest snapshots first.
fn merge_decisions(
    sandboxes: &[SandboxId],
    ask: impl Fn(SandboxId) -> Result<Answer<Decided>>,
) -> Result<Answer<Decided>> {
    let mut answers = sandboxes.iter().cloned().map(ask).collect::<Result<Vec<_>>>()?.into_iter();
    let Some(first) = answers.next() else { return Err(Failure::foreign_answer("a workspace has no sandbox")) };
    if answers.len() == 0 {
        return Ok(first);
    }
    let mut whole = first.value;
    for Answer { value: read, .. } in answers {
        whole.evicted += read.evicted;
        whole.decisions.extend(read.decisions);
    }
    sort(&mut whole.decisions);
    Answer::of(json!(whole))
}

/// What became of the snapshots that there were before.
fn removed_decisions(before: Vec<Decision>, after: Vec<Decision>, policy: Policy) -> Decided {
    let note_crash = |decision: &Decision| after.iter().any(|left| left.snapshot_id == decision.snapshot_id);
    let gone: Vec<_> = before.into_iter().filter(|decision| !note_crash(decision)).collect();
    let let_go = gone.len();
    let gone = gone.into_iter().map(|decision| Decision { keep: false, ..decision });
    let mut decisions: Vec<_> = after.into_iter().chain(gone).collect();
    sort(&mut decisions);
    Decided { policy, decisions, evicted: let_go, dry_run: false }
}

fn sort(decisions: &mut [Decision]) {
    decisions.sort_by_cached_key(|decision| Reverse((decision.created_at, decision.snapshot_id.clone())));
}

/// Shows what would go; what is to be agreed to, if anything is.
fn confirm_text(plan: &Decided) -> Option<String> {
    if plan.evicted == 0 {
        return None;
    }
    print_note(&plan.text(now()));
    Some("What goes is gone for good.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox_snapshotter::model::json as model_json;

    fn decision(id: char, second: u32, keep: bool) -> Decision {
        let decision = json!({
            "snapshotId": format!("snap-{}", id.to_string().repeat(16)), "label": id, "keep": keep, "reasons": ["x"],
            "createdAt": format!("2026-11-20T05:00:0{second}.000Z"),
        });
        model_json::from_value(&decision).unwrap()
    }

    #[test]
    fn what_is_not_there_any_more_is_gone_whatever_was_planned() {
        let before = vec![decision('a', 1, false), decision('b', 2, true), decision('c', 3, false)];
        let after = vec![decision('c', 3, true)];
        let report = removed_decisions(before, after, Policy::default());
        let told: Vec<_> = report.decisions.iter().map(|decision| (decision.label.as_str(), decision.keep)).collect();
        assert_eq!((told, report.evicted), (vec![("c", true), ("b", false), ("a", false)], 2));
    }

    #[test]
    fn the_answers_of_several_sandboxes_are_one() {
        let sandboxes = ["one", "two"].map(|id| SandboxId::parse(id).unwrap());
        let answer = merge_decisions(&sandboxes, |sandbox| {
            let decisions =
                if sandbox.as_str() == "one" { [decision('a', 2, true)] } else { [decision('b', 3, false)] };
            let let_go = usize::from(!decisions[0].keep);
            Answer::of(
                json!({ "policy": Policy::default(), "decisions": decisions, "evicted": let_go, "dryRun": true }),
            )
        });
        let whole = answer.unwrap().value;
        let labels: Vec<_> = whole.decisions.iter().map(|decision| decision.label.as_str()).collect();
        assert_eq!((labels, whole.evicted, whole.dry_run), (vec!["b", "a"], 1, true));
    }
}
