//! The commands about retention.

use sandbox_snapshotter::client::Options;
use sandbox_snapshotter::model::answer::Retention as Decided;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, Changes, PolicyRequest, UpdateRequest, WorkspaceRequest,
};

use super::confirm::confirm;
use super::context::Context;
use super::place::Place;
use crate::args::common::Consent;
use crate::args::retention::{Plan, Retention, Set};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{Show, now};

/// Does what was typed.
pub fn run(context: &Context, command: &Retention) -> Result<Exit> {
    match command {
        Retention::Show(command) => {
            let session = context.session(&command.session)?;
            let request = WorkspaceRequest { sandbox_id: context.sandbox(&command.place)?, session };
            context.show::<Decided>("retention", &request)
        }
        Retention::Plan(command) => plan(context, command),
        Retention::Apply(command) => {
            let sandbox_id = context.sandbox(&command.place)?;
            let apply = |dry_run| ApplyRetentionRequest { sandbox_id: sandbox_id.clone(), dry_run };
            agree(context, &command.consent, "applyRetention", &apply(true))?;
            context.show::<Decided>("applyRetention", &apply(false))
        }
        Retention::Set(command) => set(context, command),
    }
}

fn plan(context: &Context, command: &Plan) -> Result<Exit> {
    let sandbox_id = context.sandbox(&command.place)?;
    if command.policy.is_given() {
        let request = PolicyRequest { sandbox_id, policy: command.policy.whole(), dry_run: true };
        return context.show::<Decided>("setRetention", &request);
    }
    context.show::<Decided>("applyRetention", &ApplyRetentionRequest { sandbox_id, dry_run: true })
}

fn set(context: &Context, command: &Set) -> Result<Exit> {
    if !command.policy.is_given() {
        let remediation = "Give --expires, --keep-last, --keep-daily or --keep-weekly.";
        return Err(Failure::invalid("INVALID_USAGE", "Nothing says what the policy is.", remediation));
    }
    let (place, policy) = (Place::parse(&command.place)?, command.policy.whole());
    let sandbox_id = context.sandbox(&command.place)?;
    let set = |dry_run| PolicyRequest { sandbox_id: sandbox_id.clone(), policy: policy.clone(), dry_run };
    agree(context, &command.consent, "setRetention", &set(true))?;
    if let Place::Named(address) = place {
        // That of its present sandbox alone would be forgotten with the sandbox.
        let changes = Changes { retention: Some(policy.clone()), ..Changes::default() };
        context.ask("workspaces/update", &UpdateRequest::of(address, changes))?;
    }
    context.show::<Decided>("setRetention", &set(false))
}

/// Shows what would go, and goes on only if somebody agrees to that.
fn agree(context: &Context, consent: &Consent, operation: &str, dry_run: &impl Options) -> Result<()> {
    confirm(consent, || {
        let decided: Decided = context.ask_for(operation, dry_run)?;
        context.output.note(&decided.text(now()));
        Ok("What goes is gone for good.".to_owned())
    })
}
