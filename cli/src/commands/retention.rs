//! The commands about retention. Of a named workspace, they are about all sandboxes that it has and had.

use std::cmp::Reverse;

use sandbox_snapshotter::model::answer::Retention as Decided;
use sandbox_snapshotter::model::named::answer::Described;
use sandbox_snapshotter::model::policy::Decision;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, Changes, PolicyRequest, Session, UpdateRequest, WorkspaceRequest,
};
use sandbox_snapshotter::model::{Policy, SandboxId};
use serde_json::json;

use super::confirm::confirm;
use super::context::Context;
use super::place::Place;
use crate::args::retention::{Apply, Plan, Retention, Set};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::{Show, note, now};

/// Does what was typed.
pub fn run(context: &Context, command: &Retention) -> Result<Exit> {
    match command {
        Retention::Show(command) => {
            let (sandboxes, session) = (context.sandboxes(&command.place)?, context.session(&command.session)?);
            context.show(&present(context, &sandboxes, &session)?)
        }
        Retention::Plan(command) => plan(context, command),
        Retention::Apply(command) => apply(context, command),
        Retention::Set(command) => set(context, command),
    }
}

fn plan(context: &Context, command: &Plan) -> Result<Exit> {
    let sandboxes = context.sandboxes(&command.place)?;
    if command.policy.is_given() {
        return context.show(&planned(context, &sandboxes, &command.policy.whole())?);
    }
    context.show(&due(context, &sandboxes)?)
}

fn apply(context: &Context, command: &Apply) -> Result<Exit> {
    let sandboxes = context.sandboxes(&command.place)?;
    confirm(&command.consent, || Ok(about(&due(context, &sandboxes)?.read)))?;
    context.show(&of_all(&sandboxes, |sandbox_id| {
        context.act("applyRetention", &ApplyRetentionRequest { sandbox_id, dry_run: false })
    })?)
}

fn set(context: &Context, command: &Set) -> Result<Exit> {
    if !command.policy.is_given() {
        let remediation = "Give --expires, --keep-last, --keep-daily or --keep-weekly.";
        return Err(Failure::invalid("INVALID_USAGE", "Nothing says what the policy is.", remediation));
    }
    let policy = command.policy.whole();
    let place = Place::parse(&command.place)?;
    let sandboxes = context.sandboxes(&command.place)?;
    confirm(&command.consent, || Ok(about(&planned(context, &sandboxes, &policy)?.read)))?;
    let Place::Named(address) = place else {
        return context.show(&of_all(&sandboxes, |sandbox_id| {
            context.act("setRetention", &PolicyRequest { sandbox_id, policy: policy.clone(), dry_run: false })
        })?);
    };
    // The workspace tells all of its sandboxes, and does not say what they let go.
    let before = planned(context, &sandboxes, &policy)?.read;
    let changes = Changes { retention: Some(policy), ..Changes::default() };
    let known = context.act::<Described>("workspaces/update", &UpdateRequest::of(address, changes))?.read;
    let after = present(context, &sandboxes, &Session::NONE).map_err(|failure| {
        failure.afterwards("The policy is set.", "`snapshotter retention show` tells what is left.")
    })?;
    let report = gone(before.decisions, after.read.decisions, known.retention);
    context.show::<Decided>(&Answer::of(json!(report))?)
}

/// What the policy means for each snapshot now.
fn present(context: &Context, sandboxes: &[SandboxId], session: &Session) -> Result<Answer<Decided>> {
    of_all(sandboxes, |sandbox_id| {
        context.look("retention", &WorkspaceRequest { sandbox_id, session: session.clone() })
    })
}

/// What is to be let go now.
fn due(context: &Context, sandboxes: &[SandboxId]) -> Result<Answer<Decided>> {
    of_all(sandboxes, |sandbox_id| context.look("applyRetention", &ApplyRetentionRequest { sandbox_id, dry_run: true }))
}

/// What another policy would mean.
fn planned(context: &Context, sandboxes: &[SandboxId], policy: &Policy) -> Result<Answer<Decided>> {
    of_all(sandboxes, |sandbox_id| {
        context.look("setRetention", &PolicyRequest { sandbox_id, policy: policy.clone(), dry_run: true })
    })
}

/// The answers for all sandboxes, in one: with the policy of the first, and the newest snapshots first.
fn of_all(sandboxes: &[SandboxId], ask: impl Fn(SandboxId) -> Result<Answer<Decided>>) -> Result<Answer<Decided>> {
    let mut answers = sandboxes.iter().cloned().map(ask).collect::<Result<Vec<_>>>()?.into_iter();
    let Some(first) = answers.next() else { return Err(Failure::foreign("a workspace has no sandbox")) };
    if answers.len() == 0 {
        return Ok(first);
    }
    let mut whole = first.read;
    for Answer { read, .. } in answers {
        whole.let_go += read.let_go;
        whole.decisions.extend(read.decisions);
    }
    sort(&mut whole.decisions);
    Answer::of(json!(whole))
}

/// What became of the snapshots that there were before.
fn gone(before: Vec<Decision>, after: Vec<Decision>, policy: Policy) -> Decided {
    let is_left = |decision: &Decision| after.iter().any(|left| left.snapshot_id == decision.snapshot_id);
    let gone: Vec<_> = before.into_iter().filter(|decision| !is_left(decision)).collect();
    let let_go = gone.len();
    let gone = gone.into_iter().map(|decision| Decision { keep: false, ..decision });
    let mut decisions: Vec<_> = after.into_iter().chain(gone).collect();
    sort(&mut decisions);
    Decided { policy, decisions, let_go, dry_run: false }
}

fn sort(decisions: &mut [Decision]) {
    decisions.sort_by_cached_key(|decision| Reverse((decision.created_at, decision.snapshot_id.clone())));
}

/// Shows what would go; what is to be agreed to, if anything is.
fn about(plan: &Decided) -> Option<String> {
    if plan.let_go == 0 {
        return None;
    }
    note(&plan.text(now()));
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
        model_json::read(&decision).unwrap()
    }

    #[test]
    fn what_is_not_there_any_more_is_gone_whatever_was_planned() {
        let before = vec![decision('a', 1, false), decision('b', 2, true), decision('c', 3, false)];
        let after = vec![decision('c', 3, true)];
        let report = gone(before, after, Policy::default());
        let told: Vec<_> = report.decisions.iter().map(|decision| (decision.label.as_str(), decision.keep)).collect();
        assert_eq!((told, report.let_go), (vec![("c", true), ("b", false), ("a", false)], 2));
    }

    #[test]
    fn the_answers_of_several_sandboxes_are_one() {
        let sandboxes = ["one", "two"].map(|id| SandboxId::parse(id).unwrap());
        let answer = of_all(&sandboxes, |sandbox| {
            let decisions =
                if sandbox.as_str() == "one" { [decision('a', 2, true)] } else { [decision('b', 3, false)] };
            let let_go = usize::from(!decisions[0].keep);
            Answer::of(json!({ "policy": Policy::default(), "decisions": decisions, "letGo": let_go, "dryRun": true }))
        });
        let whole = answer.unwrap().read;
        let labels: Vec<_> = whole.decisions.iter().map(|decision| decision.label.as_str()).collect();
        assert_eq!((labels, whole.let_go, whole.dry_run), (vec!["b", "a"], 1, true));
    }
}
