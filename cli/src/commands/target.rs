//! The sandbox, named workspace or snapshot that the arguments of a command select.

use std::path::Path;

use super::context::Context;
use super::documents;
use super::snapshot_search::SnapshotSearch;
use crate::args::common;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::quoting::shell_words;
use sandbox_snapshotter_client::model::answer::{Summary, Tree, TreeSandbox};
use sandbox_snapshotter_client::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter_client::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter_client::model::request::{
    ForkFrom, LineageRequest, LineageScope, SandboxSelection, SandboxTarget, SnapshotText,
};
use sandbox_snapshotter_client::model::{Code, Label, SandboxId, Selection, Selector, ShortRef, SnapshotId};

/// Parses a sandbox's id, `@name` or `@tenant/name`.
pub fn parse_target(text: &str) -> Result<SandboxTarget> {
    match text.strip_prefix('@').map(|name| (name, name.split_once(':'))) {
        Some((_, Some((name, rest)))) => Err(not_alone(&format!("@{name}"), rest)),
        Some((name, None)) => Ok(SandboxTarget::Named(parse_address(name)?)),
        None => Ok(SandboxTarget::Sandbox(SandboxId::parse(text)?)),
    }
}

/// Returns the failure of a workspace that is followed by a colon, as for a path, where the command takes no path.
fn not_alone(workspace: &str, rest: &str) -> Failure {
    let message = format!("{:?} is more than the workspace {workspace}.", format!("{workspace}:{rest}"));
    let words = shell_words([workspace, rest].into_iter().filter(|word| !word.is_empty()));
    let remediation = format!("Write {workspace} alone; a snapshot of it is an argument of its own: `{words}`.");
    Failure::invalid("INVALID_USAGE", message, remediation)
}

/// Verifies that the argument after a sandbox is not the workspace: the user may have exchanged them.
pub fn check_order(target: &str, other: &str) -> Result<()> {
    if target.starts_with('@') || !other.starts_with('@') {
        return Ok(());
    }
    let message = format!("The workspace {other:?} follows {target:?}.");
    let order = shell_words([other, target]);
    Err(Failure::invalid("INVALID_USAGE", message, format!("The sandbox or the workspace comes first: `{order}`.")))
}

/// Parses a workspace's `name` or `tenant/name`, with or without a leading `@`.
pub fn parse_address(text: &str) -> Result<Address> {
    let text = text.strip_prefix('@').unwrap_or(text);
    match text.split_once('/') {
        Some((tenant, name)) => Ok(Address { tenant: Tenant::parse(tenant)?, name: WorkspaceName::parse(name)? }),
        None => Ok(Address::in_default_tenant(WorkspaceName::parse(text)?)),
    }
}

/// Parses the name of another workspace of a tenant: `name`, `@name` or `@tenant/name`.
pub fn name_in_tenant(text: &str, tenant: &Tenant) -> Result<WorkspaceName> {
    let has_tenant = text.contains('/');
    let other = parse_address(text)?;
    if has_tenant && other.tenant != *tenant {
        let message = format!("The workspace {other} belongs to another tenant than {:?}.", tenant.as_str());
        let remediation = "Name a workspace of the same tenant: files do not pass from one tenant to another.";
        return Err(Failure::invalid("INVALID_USAGE", message, remediation));
    }
    Ok(other.name)
}

impl Context {
    /// Selects a sandbox or a named workspace, within the caller's lineage.
    pub fn selection(&self, target: &str, scope: &common::LineageScope) -> Result<SandboxSelection> {
        Ok(SandboxSelection { lineage_scope: self.lineage_scope(scope)?, ..parse_target(target)?.into() })
    }

    /// Returns the selected sandbox; for a named workspace, its present one.
    pub fn sandbox(&self, target: &str) -> Result<SandboxId> {
        match parse_target(target)? {
            SandboxTarget::Sandbox(id) => Ok(id),
            SandboxTarget::Named(address) => Ok(self.workspace(&address)?.sandbox_id),
        }
    }

    /// As [`sandbox`](Self::sandbox). Fails if the server knows nothing of the sandbox.
    pub fn known_sandbox(&self, target: &str) -> Result<SandboxId> {
        let id = self.sandbox(target)?;
        if let SandboxTarget::Sandbox(id) = parse_target(target)? {
            self.lineage_of_known(&LineageRequest { check: true, ..LineageRequest::of(id) })?;
        }
        Ok(id)
    }

    /// Returns the lineage of a sandbox. Fails if the server knows nothing of the sandbox: every id is valid, so a
    /// misspelled one has an empty lineage.
    pub fn lineage_of_known(&self, request: &LineageRequest) -> Result<Answer<Tree>> {
        let tree = self.call_read_only::<Tree>("lineage", request)?;
        let TreeSandbox { sandbox_id, running, .. } = &tree.value.root;
        // Without the check, it is not known whether the container is running.
        let is_running = match running {
            None if !request.check => {
                self.call_read_only::<Tree>("lineage", &LineageRequest { check: true, ..request.clone() })?
                    .value
                    .root
                    .running
            }
            running => *running,
        };
        if is_unknown(&tree.value.root) && is_running == Some(false) {
            Err(self.unknown_sandbox(sandbox_id))
        } else {
            Ok(tree)
        }
    }

    /// Returns the failure of a sandbox of which the server knows nothing.
    pub fn unknown_sandbox(&self, id: &SandboxId) -> Failure {
        let message = unknown_message(id);
        let failure = Failure::local(Exit::NotFound, "SANDBOX_UNKNOWN", message, UNKNOWN_REMEDIATION);
        self.suggest_for_unknown_id(failure, id)
    }

    /// Returns the lineage scope of the caller.
    pub fn lineage_scope(&self, given: &common::LineageScope) -> Result<LineageScope> {
        let sandbox_id = given.lineage_scope.as_deref().map(|target| self.sandbox(target)).transpose()?;
        Ok(LineageScope { sandbox_id, allow_cross_lineage: given.allow_cross_lineage })
    }

    /// Returns the selected sandboxes; for a named workspace, its present and all former ones, the present one first.
    pub fn sandboxes(&self, target: &str) -> Result<Vec<SandboxId>> {
        match parse_target(target)? {
            SandboxTarget::Sandbox(id) => Ok(vec![id]),
            SandboxTarget::Named(address) => {
                let WorkspaceDescription { sandbox_id, former_sandbox_ids, .. } = self.workspace(&address)?;
                Ok(std::iter::once(sandbox_id).chain(former_sandbox_ids).collect())
            }
        }
    }

    /// As [`sandboxes`](Self::sandboxes). Fails if the server knows nothing of the sandbox.
    pub fn known_sandboxes(&self, target: &str) -> Result<Vec<SandboxId>> {
        match parse_target(target)? {
            SandboxTarget::Sandbox(_) => Ok(vec![self.known_sandbox(target)?]),
            SandboxTarget::Named(_) => self.sandboxes(target),
        }
    }

    /// Returns the description of a named workspace.
    pub fn workspace(&self, address: &Address) -> Result<WorkspaceDescription> {
        let described: WorkspaceDescription = self.call_read_only("workspaces/getByName", address)?.value;
        self.selected.borrow_mut().push((described.sandbox_id.clone(), address.clone()));
        Ok(described)
    }

    /// Returns the selected snapshot.
    pub fn select_snapshot(&self, given: &common::SnapshotSelector) -> Result<Selection> {
        let lineage_scope = self.lineage_scope(&given.lineage_scope)?;
        let selector = match (&given.reference, &given.target, &given.snapshot) {
            (Some(path), ..) => read_selector(path)?,
            (None, Some(target), Some(snapshot)) => self.find_snapshot(target, snapshot, &lineage_scope)?,
            _ => {
                let remediation = "Pass SANDBOX or @NAME with ID or LABEL, or pass `--ref`.";
                return Err(Failure::invalid("INVALID_USAGE", "No snapshot is selected.", remediation));
            }
        };
        Ok(Selection { selector, lineage_scope })
    }

    /// Finds the snapshot with an id, a short ref or a label, or the `latest` one; for a named workspace, in its present and all
    /// former sandboxes.
    pub fn find_snapshot(&self, target: &str, snapshot: &str, lineage_scope: &LineageScope) -> Result<Selector> {
        let sandboxes = self.sandboxes(target).map_err(|failure| self.suggest_order(failure, target, snapshot))?;
        let Some(present) = sandboxes.first().cloned() else {
            return Err(Failure::foreign_answer("a workspace without a sandbox"));
        };
        *self.snapshot_search.borrow_mut() = Some(SnapshotSearch {
            target: target.to_owned(),
            snapshot: snapshot.to_owned(),
            sandboxes: sandboxes.clone(),
            may_be_path: false,
        });
        let selector = selector(present, snapshot)?;
        check_ref(&selector, &sandboxes, target)?;
        match parse_target(target)? {
            SandboxTarget::Named(address) => self.find_in_sandboxes(address, selector, lineage_scope),
            SandboxTarget::Sandbox(id) if snapshot == ForkFrom::LATEST => {
                let latest = self.latest_snapshot(&id, lineage_scope)?;
                Ok(latest.map_or(selector, |snapshot_id| Selector::Id { sandbox_id: id, snapshot_id }))
            }
            // The command itself finds it, or reports that it does not exist.
            SandboxTarget::Sandbox(_) => Ok(selector),
        }
    }

    /// As [`select_snapshot`](Self::select_snapshot), for a deletion: a snapshot of another workspace of the lineage, which the
    /// operations that read find too, is searched in the present sandbox only.
    pub fn select_own_snapshot(&self, given: &common::SnapshotSelector) -> Result<Selection> {
        let Selection { mut selector, lineage_scope } = self.select_snapshot(given)?;
        if let (Some(target), Selector::Id { sandbox_id, .. }) = (&given.target, &mut selector) {
            let own = self.sandboxes(target)?;
            if let Some(present) = own.first().filter(|_| !own.contains(sandbox_id)) {
                *sandbox_id = present.clone();
            }
        }
        Ok(Selection { selector, lineage_scope })
    }

    /// Finds the snapshot of a workspace with an id, a short ref or a label.
    pub fn find_in_workspace(&self, address: &Address, snapshot: &str) -> Result<SnapshotId> {
        if let Some(id) = SnapshotText::parse(snapshot).ok().and_then(|snapshot| snapshot.snapshot_id().cloned()) {
            return Ok(id);
        }
        if snapshot.starts_with('@') && self.workspace(address).is_ok() {
            let message = format!("{snapshot:?} is a workspace, not a snapshot.");
            let words = [to_target(address), "--from".to_owned(), snapshot.to_owned()];
            let promote = shell_words(words.iter().map(String::as_str));
            let remediation = format!("To continue with its files: `snapshotter workspace promote {promote}`.");
            return Err(Failure::invalid("INVALID_USAGE", message, remediation));
        }
        self.find_of_target(&to_target(address), snapshot)
    }

    /// Finds the snapshot of a sandbox or a workspace with an id or a label.
    pub fn find_of_target(&self, target: &str, snapshot: &str) -> Result<SnapshotId> {
        let selector = self.find_snapshot(target, snapshot, &LineageScope::UNRESTRICTED)?;
        let found =
            self.call_read_only::<Summary>("get", &Selection { selector, lineage_scope: LineageScope::UNRESTRICTED })?;
        Ok(found.value.snapshot_id)
    }

    /// Verifies that a label selects the snapshot that is to get it, although snapshots of other sandboxes of the workspace may have
    /// it.
    pub fn check_new_label(&self, target: &str, label: &Label, selection: &Selection) -> Result<()> {
        let Selection { selector, lineage_scope } = selection;
        for sandbox_id in self.sandboxes(target)?.into_iter().filter(|id| id != selector.origin_id()) {
            let other = Selector::Label { sandbox_id, label: label.clone() };
            let Some(other) = self.find_summary(&other, lineage_scope)? else { continue };
            let own = self.find_summary(selector, lineage_scope)?;
            if own.is_some_and(|own| own.created_at < other.created_at) {
                let (label, id) = (label.as_str(), other.snapshot_id);
                let message = format!(
                    "{id}, a newer snapshot of {target}, has the label {label:?}, so the label would still select it."
                );
                let remediation = format!(
                    "Use another label. Or give that one another label before: `snapshotter snapshot label {target} {id} --to LABEL`."
                );
                return Err(Failure::local(Exit::Conflict, Code::LabelTaken.as_str(), message, remediation));
            }
        }
        Ok(())
    }

    /// Returns the selected snapshot, or `None` if it does not exist.
    pub(super) fn find_summary(&self, selector: &Selector, lineage_scope: &LineageScope) -> Result<Option<Summary>> {
        let selection = Selection { selector: selector.clone(), lineage_scope: lineage_scope.clone() };
        match self.call_without_suggestions::<Summary>("get", &selection) {
            Ok(answer) => Ok(Some(answer.value)),
            Err(failure) if failure.code() == Some(Code::SnapshotNotFound.as_str()) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// The remediation for a sandbox of which the server knows nothing.
pub(super) const UNKNOWN_REMEDIATION: &str =
    "Pass the id of a sandbox, or @NAME for a named workspace. `snapshotter workspace list` lists the workspaces.";

/// Returns the message about a sandbox of which the server knows nothing.
pub(super) fn unknown_message(id: &SandboxId) -> String {
    format!("Nothing is known of the sandbox {:?}: it has no snapshots, and its container is not running.", id.as_str())
}

/// Returns whether the server knows nothing of a sandbox, unless its container is running.
pub(super) fn is_unknown(sandbox: &TreeSandbox) -> bool {
    let TreeSandbox { lineage, workspace, snapshots, problem, .. } = sandbox;
    lineage.is_none() && workspace.is_none() && problem.is_none() && snapshots.is_empty()
}

/// Returns the argument that selects a workspace: `@name`, or `@tenant/name` for another tenant than the default one.
pub fn to_target(address: &Address) -> String {
    format!("@{}", address.short())
}

/// Returns a short ref, or reads the ref of a snapshot from a file.
pub fn read_selector(path: &Path) -> Result<Selector> {
    if let Some(text) = path.to_str().filter(|text| text.starts_with(ShortRef::PREFIX) && !path.exists()) {
        return Ok(Selector::Short { r#ref: ShortRef::parse(text)? });
    }
    Ok(Selector::Ref { r#ref: documents::snapshot_ref(path)? })
}

/// Parses a new label. A label with the form of a snapshot id is refused, because arguments of this form are ids.
pub fn parse_label(text: &str) -> Result<Label> {
    if SnapshotId::parse(text).is_ok() {
        let message = format!("The label {text:?} has the form of a snapshot id, so no command could select it.");
        return Err(Failure::invalid(Code::InvalidLabel.as_str(), message, "Pass another label."));
    }
    Ok(Label::parse(text)?)
}

/// Parses a text as a snapshot id if it has the form of one, and otherwise as a label.
fn selector(sandbox_id: SandboxId, snapshot: &str) -> Result<Selector> {
    Ok(match SnapshotId::parse(snapshot) {
        Ok(snapshot_id) => Selector::Id { sandbox_id, snapshot_id },
        Err(_) => match ShortRef::parse(snapshot) {
            Ok(short) => Selector::Short { r#ref: short },
            Err(_) => Selector::Label { sandbox_id, label: Label::parse(snapshot)? },
        },
    })
}

/// Verifies that a ref in the place of a snapshot is of one of the selected sandboxes.
fn check_ref(selector: &Selector, sandboxes: &[SandboxId], target: &str) -> Result<()> {
    let origin_id = selector.origin_id();
    if sandboxes.contains(origin_id) {
        return Ok(());
    }
    let message = format!("The ref is of a snapshot of the sandbox {:?}, and not of {target}.", origin_id.as_str());
    let remediation = format!("Pass {} in place of {target}.", shell_words([origin_id.as_str()]));
    Err(Failure::invalid("INVALID_USAGE", message, remediation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_leading_at_and_an_optional_tenant() {
        let named = |text| match parse_target(text) {
            Ok(SandboxTarget::Named(address)) => address.to_string(),
            _ => panic!("{text} must be a name"),
        };
        assert_eq!(named("@notebook"), "default/notebook");
        assert_eq!(named("@customer-7/notebook"), "customer-7/notebook");
        assert!(matches!(parse_target("notebook"), Ok(SandboxTarget::Sandbox(_))));
    }

    #[test]
    fn a_target_names_the_tenant_unless_it_is_the_default_one() {
        for text in ["@notebook", "@customer-7/notebook"] {
            assert_eq!(to_target(&parse_address(text).unwrap()), text);
        }
        assert_eq!(to_target(&parse_address("@default/notebook").unwrap()), "@notebook");
    }

    #[test]
    fn an_invalid_target_is_refused_locally() {
        for (text, code) in
            [("", "INVALID_SANDBOX_ID"), ("@", "INVALID_WORKSPACE_NAME"), ("@a/b/c", "INVALID_WORKSPACE_NAME")]
        {
            assert_eq!(
                parse_target(text).err().and_then(|failure| failure.code().map(str::to_owned)),
                Some(code.into())
            );
        }
    }

    #[test]
    fn a_workspace_after_another_argument_is_refused() {
        let Err(Failure::Reported(report)) = check_order("ls", "@demo") else { panic!() };
        assert_eq!(report.remediation, "The sandbox or the workspace comes first: `@demo ls`.");
        assert!(check_order("@demo", "@scope/package").is_ok() && check_order("agent-42", "ls").is_ok());
    }

    #[test]
    fn a_snapshot_is_an_id_or_a_label() {
        let of = |text| selector(SandboxId::parse("agent-42").unwrap(), text).unwrap();
        assert!(matches!(of("snap-9rbk8d2dduhnwf6u"), Selector::Id { .. }));
        assert!(matches!(of("snap-20261120-050000"), Selector::Label { .. }));
        assert!(matches!(of("before the risk"), Selector::Label { .. }));
    }

    #[test]
    fn a_label_with_the_form_of_an_id_is_refused() {
        assert_eq!(parse_label("snap-9rbk8d2dduhnwf6u").err().as_ref().and_then(Failure::code), Some("INVALID_LABEL"));
        for text in ["snap-20261120-050000", "snap-9rbk8d2dduhnwf6", "before"] {
            assert_eq!(parse_label(text).unwrap().as_str(), text);
        }
    }
}
