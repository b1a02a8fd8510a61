//! Places of work and snapshots, as they are typed: which sandbox and which snapshot is meant.

use std::path::Path;

use sandbox_snapshotter::model::answer::Summary;
use sandbox_snapshotter::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter::model::request::LineageScope;
use sandbox_snapshotter::model::{Code, Label, SandboxId, Selection, Selector, SnapshotId};

use super::context::Context;
use super::documents;
use crate::args::common;
use crate::failure::{Failure, Result};
use crate::output::snapshots::names;

/// A place of work.
pub enum Target {
    /// A sandbox by its id.
    Sandbox(SandboxId),
    /// A named workspace.
    Named(Address),
}

impl Target {
    /// Reads a sandbox's id, `@name` or `@tenant/name`.
    pub fn parse(text: &str) -> Result<Self> {
        match text.strip_prefix('@') {
            Some(name) => Ok(Self::Named(parse_address(name)?)),
            None => Ok(Self::Sandbox(SandboxId::parse(text)?)),
        }
    }
}

/// Reads a workspace's `name` or `tenant/name`, with an `@` before it or without.
pub fn parse_address(text: &str) -> Result<Address> {
    let text = text.strip_prefix('@').unwrap_or(text);
    match text.split_once('/') {
        Some((tenant, name)) => Ok(Address { tenant: Tenant::parse(tenant)?, name: WorkspaceName::parse(name)? }),
        None => Ok(Address::in_default_tenant(WorkspaceName::parse(text)?)),
    }
}

impl Context {
    /// The sandbox that is meant: of a named workspace, its present one.
    pub fn sandbox(&self, place: &str) -> Result<SandboxId> {
        match Target::parse(place)? {
            Target::Sandbox(id) => Ok(id),
            Target::Named(address) => Ok(self.workspace(&address)?.sandbox_id),
        }
    }

    /// Who asks.
    pub fn lineage_scope(&self, given: &common::LineageScope) -> Result<LineageScope> {
        let sandbox_id = given.lineage_scope.as_deref().map(|place| self.sandbox(place)).transpose()?;
        Ok(LineageScope { sandbox_id, allow_cross_lineage: given.allow_cross_lineage })
    }

    /// Every sandbox whose snapshots are meant: of a named workspace all that it has and had, the present one first.
    pub fn sandboxes(&self, place: &str) -> Result<Vec<SandboxId>> {
        match Target::parse(place)? {
            Target::Sandbox(id) => Ok(vec![id]),
            Target::Named(address) => {
                let WorkspaceDescription { sandbox_id, former_sandbox_ids, .. } = self.workspace(&address)?;
                Ok(std::iter::once(sandbox_id).chain(former_sandbox_ids).collect())
            }
        }
    }

    /// What is known of a named workspace.
    pub fn workspace(&self, address: &Address) -> Result<WorkspaceDescription> {
        Ok(self.call_read_only("workspaces/getByName", address)?.value)
    }

    /// The snapshot that is meant.
    pub fn select_snapshot(&self, pick: &common::SnapshotSelector) -> Result<Selection> {
        let session = self.lineage_scope(&pick.lineage_scope)?;
        let selector = match (&pick.reference, &pick.target, &pick.snapshot) {
            (Some(path), ..) => read_selector(path)?,
            (None, Some(place), Some(snapshot)) => self.find_snapshot(place, snapshot, &session)?,
            _ => {
                let remediation = "Give SANDBOX or @NAME with ID or TAG, or give --ref.";
                return Err(Failure::invalid("INVALID_USAGE", "Nothing says which snapshot is meant.", remediation));
            }
        };
        Ok(Selection { selector, lineage_scope: session })
    }

    /// The snapshot of an id or a tag. A named workspace may have taken it in an earlier sandbox.
    pub fn find_snapshot(&self, place: &str, snapshot: &str, session: &LineageScope) -> Result<Selector> {
        let mut sandboxes = self.sandboxes(place)?;
        if sandboxes.len() > 1 {
            *self.searched_sandboxes.borrow_mut() =
                Some(format!("It was looked for in {}, which {place} has or had.", names(&sandboxes)));
        }
        let Some(last) = sandboxes.pop() else {
            return Err(Failure::foreign_answer("a workspace has no sandbox"));
        };
        for sandbox_id in sandboxes {
            let selector = selector(sandbox_id, snapshot)?;
            let selection = Selection { selector, lineage_scope: session.clone() };
            match self.call_read_only::<Summary>("get", &selection) {
                Ok(_) => return Ok(selection.selector),
                Err(failure) if failure.code() == Some(Code::SnapshotNotFound.as_str()) => {}
                Err(failure) => return Err(failure),
            }
        }
        selector(last, snapshot)
    }
}

/// The snapshot of a ref in a file.
pub fn read_selector(path: &Path) -> Result<Selector> {
    Ok(Selector::Ref { r#ref: documents::snapshot_ref(path)? })
}

/// A tag for a snapshot: none that would be taken for an id, since it could never be given again.
pub fn parse_tag(text: &str) -> Result<Label> {
    if SnapshotId::parse(text).is_ok() {
        let message = format!("The tag {text:?} looks like the id of a snapshot, and would be taken for one.");
        return Err(Failure::invalid(Code::InvalidLabel.as_str(), message, "Give another tag."));
    }
    Ok(Label::parse(text)?)
}

/// What has the form of an id is one, and else it is a tag.
fn selector(sandbox_id: SandboxId, snapshot: &str) -> Result<Selector> {
    Ok(match SnapshotId::parse(snapshot) {
        Ok(snapshot_id) => Selector::Id { sandbox_id, snapshot_id },
        Err(_) => Selector::Label { sandbox_id, label: Label::parse(snapshot)? },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_an_at_and_may_have_a_tenant() {
        let named = |text| match Target::parse(text) {
            Ok(Target::Named(address)) => address.to_string(),
            _ => panic!("{text} is a name"),
        };
        assert_eq!(named("@notebook"), "default/notebook");
        assert_eq!(named("@customer-7/notebook"), "customer-7/notebook");
        assert!(matches!(Target::parse("notebook"), Ok(Target::Sandbox(_))));
    }

    #[test]
    fn what_can_be_neither_is_refused_before_anything_is_sent() {
        for (text, code) in
            [("", "INVALID_SANDBOX_ID"), ("@", "INVALID_WORKSPACE_NAME"), ("@a/b/c", "INVALID_WORKSPACE_NAME")]
        {
            assert_eq!(
                Target::parse(text).err().and_then(|failure| failure.code().map(str::to_owned)),
                Some(code.into())
            );
        }
    }

    #[test]
    fn a_snapshot_is_an_id_or_a_tag() {
        let of = |text| selector(SandboxId::parse("agent-42").unwrap(), text).unwrap();
        assert!(matches!(of("snap-9rbk8d2dduhnwf6u"), Selector::Id { .. }));
        assert!(matches!(of("snap-20261120-050000"), Selector::Label { .. }));
        assert!(matches!(of("before the risk"), Selector::Label { .. }));
    }

    #[test]
    fn a_tag_is_none_that_looks_like_an_id() {
        assert_eq!(parse_tag("snap-9rbk8d2dduhnwf6u").err().as_ref().and_then(Failure::code), Some("INVALID_LABEL"));
        for text in ["snap-20261120-050000", "snap-9rbk8d2dduhnwf6", "before"] {
            assert_eq!(parse_tag(text).unwrap().as_str(), text);
        }
    }
}
