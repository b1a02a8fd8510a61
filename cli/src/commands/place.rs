//! Places of work and snapshots, as they are typed: which sandbox and which snapshot is meant.

use std::path::Path;

use sandbox_snapshotter::model::answer::Summary;
use sandbox_snapshotter::model::named::answer::Described;
use sandbox_snapshotter::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter::model::request::Session;
use sandbox_snapshotter::model::{Code, Label, SandboxId, Selection, Selector, SnapshotId};

use super::context::Context;
use super::documents;
use crate::args::common;
use crate::failure::{Failure, Result};
use crate::output::snapshots::names;

/// A place of work.
pub enum Place {
    /// A sandbox by its id.
    Sandbox(SandboxId),
    /// A named workspace.
    Named(Address),
}

impl Place {
    /// Reads a sandbox's id, `@name` or `@tenant/name`.
    pub fn parse(text: &str) -> Result<Self> {
        match text.strip_prefix('@') {
            Some(name) => Ok(Self::Named(address(name)?)),
            None => Ok(Self::Sandbox(SandboxId::parse(text)?)),
        }
    }
}

/// Reads a workspace's `name` or `tenant/name`, with an `@` before it or without.
pub fn address(text: &str) -> Result<Address> {
    let text = text.strip_prefix('@').unwrap_or(text);
    match text.split_once('/') {
        Some((tenant, name)) => Ok(Address { tenant: Tenant::parse(tenant)?, name: WorkspaceName::parse(name)? }),
        None => Ok(Address::of(WorkspaceName::parse(text)?)),
    }
}

impl Context {
    /// The sandbox that is meant: of a named workspace, its present one.
    pub fn sandbox(&self, place: &str) -> Result<SandboxId> {
        match Place::parse(place)? {
            Place::Sandbox(id) => Ok(id),
            Place::Named(address) => Ok(self.workspace(&address)?.sandbox_id),
        }
    }

    /// Who asks.
    pub fn session(&self, given: &common::Session) -> Result<Session> {
        let sandbox_id = given.session.as_deref().map(|place| self.sandbox(place)).transpose()?;
        Ok(Session { sandbox_id, allow_cross_session: given.allow_cross_session })
    }

    /// Every sandbox whose snapshots are meant: of a named workspace all that it has and had, the present one first.
    pub fn sandboxes(&self, place: &str) -> Result<Vec<SandboxId>> {
        match Place::parse(place)? {
            Place::Sandbox(id) => Ok(vec![id]),
            Place::Named(address) => {
                let Described { sandbox_id, former_sandbox_ids, .. } = self.workspace(&address)?;
                Ok(std::iter::once(sandbox_id).chain(former_sandbox_ids).collect())
            }
        }
    }

    /// What is known of a named workspace.
    pub fn workspace(&self, address: &Address) -> Result<Described> {
        Ok(self.look("workspaces/getByName", address)?.read)
    }

    /// The snapshot that is meant.
    pub fn pick(&self, pick: &common::Pick) -> Result<Selection> {
        let session = self.session(&pick.session)?;
        let selector = match (&pick.reference, &pick.place, &pick.snapshot) {
            (Some(path), ..) => referred(path)?,
            (None, Some(place), Some(snapshot)) => self.find(place, snapshot, &session)?,
            _ => {
                let remediation = "Give SANDBOX or @NAME with ID or TAG, or give --ref.";
                return Err(Failure::invalid("INVALID_USAGE", "Nothing says which snapshot is meant.", remediation));
            }
        };
        Ok(Selection { selector, session })
    }

    /// The snapshot of an id or a tag. A named workspace may have taken it in an earlier sandbox.
    pub fn find(&self, place: &str, snapshot: &str, session: &Session) -> Result<Selector> {
        let mut sandboxes = self.sandboxes(place)?;
        if sandboxes.len() > 1 {
            *self.searched.borrow_mut() =
                Some(format!("It was looked for in {}, which {place} has or had.", names(&sandboxes)));
        }
        let Some(last) = sandboxes.pop() else {
            return Err(Failure::foreign("a workspace has no sandbox"));
        };
        for sandbox_id in sandboxes {
            let selector = selector(sandbox_id, snapshot)?;
            let selection = Selection { selector, session: session.clone() };
            match self.look::<Summary>("get", &selection) {
                Ok(_) => return Ok(selection.selector),
                Err(failure) if failure.code() == Some(Code::SnapshotNotFound.as_str()) => {}
                Err(failure) => return Err(failure),
            }
        }
        selector(last, snapshot)
    }
}

/// The snapshot of a ref in a file.
pub fn referred(path: &Path) -> Result<Selector> {
    Ok(Selector::Ref { r#ref: documents::reference(path)? })
}

/// A tag for a snapshot: none that would be taken for an id, since it could never be given again.
pub fn tag(text: &str) -> Result<Label> {
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
        let named = |text| match Place::parse(text) {
            Ok(Place::Named(address)) => address.to_string(),
            _ => panic!("{text} is a name"),
        };
        assert_eq!(named("@notebook"), "default/notebook");
        assert_eq!(named("@customer-7/notebook"), "customer-7/notebook");
        assert!(matches!(Place::parse("notebook"), Ok(Place::Sandbox(_))));
    }

    #[test]
    fn what_can_be_neither_is_refused_before_anything_is_sent() {
        for (text, code) in
            [("", "INVALID_SANDBOX_ID"), ("@", "INVALID_WORKSPACE_NAME"), ("@a/b/c", "INVALID_WORKSPACE_NAME")]
        {
            assert_eq!(
                Place::parse(text).err().and_then(|failure| failure.code().map(str::to_owned)),
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
        assert_eq!(tag("snap-9rbk8d2dduhnwf6u").err().as_ref().and_then(Failure::code), Some("INVALID_LABEL"));
        for text in ["snap-20261120-050000", "snap-9rbk8d2dduhnwf6", "before"] {
            assert_eq!(tag(text).unwrap().as_str(), text);
        }
    }
}
