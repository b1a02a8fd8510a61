//! The search of a snapshot by its id or label, and the report if it is not found.

use sandbox_snapshotter_client::model::answer::{Page, SnapshotState, Summary, Tree, TreeSandbox, TreeSnapshot};
use sandbox_snapshotter_client::model::checkpoint::CheckpointPage;
use sandbox_snapshotter_client::model::named::Address;
use sandbox_snapshotter_client::model::request::{
    CheckpointLocation, ForkFrom, InWorkspace, InWorkspaceBy, LineageRequest, LineageScope, ListCheckpointsRequest,
    ListRequest, SandboxTarget,
};
use sandbox_snapshotter_client::model::similar::most_similar;
use sandbox_snapshotter_client::model::{Code, Label, SandboxId, Selector, SnapshotRef};
use serde::Serialize;

use super::context::Context;
use super::lineage::for_each_sandbox;
use super::target::to_target;
use crate::args::files::split_place;
use crate::failure::{Failure, Result};
use crate::output::print_warning;
use crate::output::snapshots::names;
use crate::quoting::shell_words;

/// The maximum number of other workspaces of which is checked whether they exist.
const MAX_CANDIDATES: usize = 10;

/// The search of a snapshot.
pub(super) struct SnapshotSearch {
    /// The argument that selects the sandboxes.
    pub(super) target: String,
    /// The id or the label.
    pub(super) snapshot: String,
    /// The sandboxes that the argument selects.
    pub(super) sandboxes: Vec<SandboxId>,
    /// Whether the user may mean a file with this name.
    pub(super) may_be_path: bool,
}

/// The options that describe a snapshot of a workspace.
#[derive(Serialize)]
struct Search {
    #[serde(flatten)]
    selection: InWorkspace,
    #[serde(flatten)]
    lineage_scope: LineageScope,
}

impl Context {
    /// Finds a snapshot of any of the sandboxes of a workspace. `present` selects it in the present sandbox.
    pub(super) fn find_in_sandboxes(
        &self,
        address: Address,
        present: Selector,
        lineage_scope: &LineageScope,
    ) -> Result<Selector> {
        let by = match &present {
            Selector::Label { label, .. } => InWorkspaceBy::Label(label.clone()),
            Selector::Id { snapshot_id, .. } => InWorkspaceBy::Id(snapshot_id.clone()),
            Selector::Ref { .. } | Selector::Short { .. } => return Ok(present),
        };
        let selection = InWorkspace { address, by };
        let target = to_target(&selection.address);
        let search = Search { selection, lineage_scope: lineage_scope.clone() };
        match self.call_without_suggestions::<Summary>("get", &search) {
            Ok(answer) => {
                if let Selector::Label { label, .. } = &present {
                    self.warn_of_other_labels(&search, label, &answer.value);
                }
                let Summary { snapshot_id, snapshot, .. } = answer.value;
                // A capture in progress has no ref.
                let origin_id = snapshot.as_ref().map_or(present.origin_id(), SnapshotRef::origin_id);
                Ok(Selector::Id { sandbox_id: origin_id.clone(), snapshot_id })
            }
            // The command itself reports it, but knows only what the present sandbox removed.
            Err(failure) if failure.code() == Some(Code::SnapshotNotFound.as_str()) && !failure.is_about_removal() => {
                Ok(present)
            }
            Err(failure) => Err(failure.of_target(Some(target))),
        }
    }

    /// Warns if other snapshots of the workspace have the label that selected `found`.
    fn warn_of_other_labels(&self, search: &Search, label: &Label, found: &Summary) {
        let has_former = self.snapshot_search.borrow().as_ref().is_some_and(|search| search.sandboxes.len() > 1);
        if !has_former || found.label != *label {
            return;
        }
        let request = ListRequest {
            limit: ListRequest::MAX_LIMIT,
            label_prefix: Some(label.to_string()),
            check: false,
            lineage_scope: search.lineage_scope.clone(),
            ..ListRequest::of(SandboxTarget::Named(search.selection.address.clone()))
        };
        let Ok(page) = self.call_without_suggestions::<Page>("list", &request) else { return };
        let others = page.value.snapshots.into_iter().filter(|other| {
            other.snapshot_id != found.snapshot_id && other.label == *label && other.state == SnapshotState::Ready
        });
        let others: Vec<_> = others.map(|other| taken(&other)).collect();
        if !others.is_empty() {
            print_warning(&format!(
                "several snapshots have the label {:?}: {} is used. Select another one by its id: {}",
                label.as_str(),
                taken(found),
                others.join(", ")
            ));
        }
    }

    /// Adds to the failure of a snapshot that was not found which sandboxes were searched, and what the user may mean.
    pub(super) fn explain_search(&self, failure: Failure) -> Failure {
        let search = self.snapshot_search.borrow();
        let Some(search) = search.as_ref().filter(|_| failure.code() == Some(Code::SnapshotNotFound.as_str())) else {
            return failure;
        };
        let SnapshotSearch { target, snapshot, sandboxes, may_be_path } = search;
        if snapshot == ForkFrom::LATEST && target.starts_with('@') && !may_be_path && self.has_no_snapshot(sandboxes) {
            return failure.with_message(format!("{target} has no snapshot.")).with_remediation(take_one(target));
        }
        let failure = failure.with_remediation(self.remediation_of(search));
        let failure =
            sandboxes.iter().fold(failure, |failure, id| failure.with_term(&format!("{:?}", id.as_str()), target));
        if sandboxes.len() < 2 {
            return failure;
        }
        failure.with_sentence(&searched(target, sandboxes))
    }

    /// Suggests to exchange the two operands that select a snapshot, if the user may have exchanged them.
    pub(super) fn suggest_order(&self, failure: Failure, target: &str, snapshot: &str) -> Failure {
        if failure.code() == Some("INVALID_USAGE") {
            return failure; // It says already what is wrong with the operands.
        }
        let is_unknown = || failure.code() == Some(Code::WorkspaceNotFound.as_str());
        let order = right_order(target, snapshot);
        let order =
            order.or_else(|| (is_unknown() && self.is_workspace(snapshot)).then(|| exchanged(target, snapshot)));
        match order {
            Some(order) => failure.with_remediation(order),
            None => failure,
        }
    }

    fn remediation_of(&self, search: &SnapshotSearch) -> String {
        let SnapshotSearch { target, snapshot, sandboxes, may_be_path } = search;
        if let Some(order) = right_order(target, snapshot) {
            return order;
        }
        if let Some(remediation) = self.workspace_without_at(target) {
            return remediation;
        }
        let labels: Vec<String> = sandboxes.iter().flat_map(|sandbox| self.labels_of(sandbox)).collect();
        if let Some(remediation) = path_in_snapshot(search, &labels) {
            return remediation;
        }
        if let Some(remediation) = of_position(target, snapshot, &labels) {
            return remediation;
        }
        let similar = self.similar_snapshot(search, &labels).or_else(|| self.checkpoint_of(search));
        let path = may_be_path
            .then(|| format!("For a present file, write `{}`.", shell_words([&*format!("{target}:{snapshot}")])));
        match (similar, path) {
            (Some(similar), Some(path)) => format!("{similar} {path}"),
            (Some(similar), None) => similar,
            (None, Some(path)) => format!("{path} `snapshotter snapshot list {target}` lists the snapshots."),
            (None, None) if labels.is_empty() && !target.starts_with('@') => no_snapshots(target),
            (None, None) if labels.is_empty() && self.has_no_snapshot(sandboxes) => {
                format!("{target} has no snapshot yet. {}", take_one(target))
            }
            (None, None) => {
                format!("Select another snapshot: `snapshotter snapshot list {target}` lists the existing ones.")
            }
        }
    }

    /// Returns the remediation if another workspace of the lineage has the label, or else if one of `labels` is similar.
    fn similar_snapshot(&self, search: &SnapshotSearch, labels: &[String]) -> Option<String> {
        self.workspace_with(search).or_else(|| {
            let label = most_similar(&search.snapshot, labels.iter().map(String::as_str))?;
            Some(format!("Did you mean the snapshot {label:?}?"))
        })
    }

    /// Returns the remediation if the text is the name of a checkpoint in the running sandbox.
    fn checkpoint_of(&self, search: &SnapshotSearch) -> Option<String> {
        let SnapshotSearch { target, snapshot, sandboxes, .. } = search;
        let sandbox_id = sandboxes.first()?.clone();
        let lineage_scope = LineageScope::UNRESTRICTED;
        let location = CheckpointLocation { sandbox_id, runtime: None, dir: None, lineage_scope };
        let request =
            ListCheckpointsRequest { limit: ListCheckpointsRequest::MAX_LIMIT, ..ListCheckpointsRequest::of(location) };
        let page = self.call_without_suggestions::<CheckpointPage>("checkpoints/list", &request).ok()?.value;
        let is_checkpoint = page.checkpoints.iter().any(|checkpoint| checkpoint.name.as_str() == snapshot);
        is_checkpoint.then(|| {
            let words = shell_words([target.as_str(), snapshot]);
            format!("It is a checkpoint of {target}, not a snapshot: `snapshotter checkpoint restore {words}`.")
        })
    }

    /// Suggests a snapshot for a text that is the name of no workspace, if it was searched as a label before.
    pub(super) fn suggest_snapshot(&self, failure: Failure, text: &str) -> Failure {
        let search = self.snapshot_search.borrow();
        let is_unknown = failure.code() == Some(Code::WorkspaceNotFound.as_str());
        let Some(search) = search.as_ref().filter(|search| is_unknown && search.snapshot == text) else {
            return failure;
        };
        let labels: Vec<String> = search.sandboxes.iter().flat_map(|sandbox| self.labels_of(sandbox)).collect();
        let SnapshotSearch { target, .. } = search;
        let failure = failure.with_sentence(&format!("{target} has no snapshot with the label {text:?} either."));
        let has_similar_name = failure.remediation().starts_with("Did you mean");
        match self.similar_snapshot(search, &labels) {
            Some(remediation) => failure.with_remediation(remediation),
            None if has_similar_name => failure,
            None => failure.with_remediation(format!(
                "Select another one: `snapshotter workspace list` lists the workspaces, and `snapshotter snapshot list {target}` \
                 the snapshots with their labels."
            )),
        }
    }

    /// Returns the remediation if another workspace of the lineage has a snapshot with the label. The tree names deleted workspaces
    /// too.
    fn workspace_with(&self, search: &SnapshotSearch) -> Option<String> {
        let SnapshotSearch { target, snapshot, sandboxes, .. } = search;
        let of_user = target.strip_prefix('@')?;
        let request = LineageRequest::of(sandboxes.first()?.clone());
        let mut tree = self.call_without_suggestions::<Tree>("lineage", &request).ok()?.value;
        let mut found = Vec::new();
        for_each_sandbox(&mut tree.root, &mut |TreeSandbox { sandbox_id, workspace, snapshots: nodes, .. }| {
            let is_meant = |TreeSnapshot { snapshot: node, .. }: &TreeSnapshot| {
                let label = node.label.as_ref().map(Label::as_str);
                node.state == SnapshotState::Ready && label == Some(snapshot.as_str())
            };
            if !sandboxes.contains(sandbox_id) && nodes.iter().any(is_meant) {
                found.extend(workspace.as_ref().map(|address| (to_target(address), sandbox_id.clone())));
            }
        });
        let exists = |(other, id): &(String, SandboxId)| self.sandboxes(other).is_ok_and(|own| own.contains(id));
        let (other, _) = found.into_iter().take(MAX_CANDIDATES).find(exists)?;
        let promote = shell_words([of_user, "--from", &other, "--snapshot", snapshot]);
        Some(format!(
            "It is a snapshot of {other}: name that workspace, or continue {target} with its files: \
             `snapshotter workspace promote {promote}`."
        ))
    }

    /// Returns whether these sandboxes have no snapshot: the server returned their empty lists.
    fn has_no_snapshot(&self, sandboxes: &[SandboxId]) -> bool {
        sandboxes.iter().all(|sandbox| self.newest_of(sandbox).is_ok_and(|page| page.snapshots.is_empty()))
    }

    /// Returns the labels of the newest snapshots of a sandbox; none if the server does not return them.
    fn labels_of(&self, sandbox: &SandboxId) -> Vec<String> {
        let Ok(page) = self.newest_of(sandbox) else { return Vec::new() };
        let ready = page.snapshots.into_iter().filter(|snapshot| snapshot.state == SnapshotState::Ready);
        ready.map(|snapshot| snapshot.label.to_string()).collect()
    }

    fn newest_of(&self, sandbox: &SandboxId) -> Result<Page> {
        let request = ListRequest { limit: ListRequest::MAX_LIMIT, check: false, ..ListRequest::of(sandbox.clone()) };
        Ok(self.call_without_suggestions::<Page>("list", &request)?.value)
    }
}

/// Returns the remediation for a label that is followed by a path, as in `before:src`.
fn path_in_snapshot(search: &SnapshotSearch, labels: &[String]) -> Option<String> {
    let (label, path) = search.snapshot.split_once(':')?;
    let line = shell_words([&*search.target, label, path].into_iter().filter(|word| !word.is_empty()));
    labels.iter().any(|known| known == label).then(|| format!("The path is an argument of its own: `{line}`."))
}

/// What people write for the newest snapshot.
const NEWEST: [&str; 5] = ["latest", "newest", "last", "head", "current"];

/// What people write for the snapshot before the newest one.
const PREVIOUS: [&str; 5] = ["previous", "prev", "head^", "head~", "head~1"];

/// Returns the remediation for a text that means a snapshot by its position, as in git. `labels` begins with the newest one.
fn of_position(target: &str, text: &str, labels: &[String]) -> Option<String> {
    let word = text.to_lowercase();
    let list = format!("`snapshotter snapshot list {target}`");
    let named = |which: &str, label: &String| {
        format!("Name the snapshot. {which} of {target} is {}; {list} lists the others.", shell_words([label.as_str()]))
    };
    let (newest, earlier) = (labels.first()?, labels.get(1));
    match earlier {
        _ if NEWEST.contains(&word.as_str()) => Some(named("The newest one", newest)),
        Some(earlier) if PREVIOUS.contains(&word.as_str()) => Some(named("The one before the newest", earlier)),
        _ if word.starts_with("head~") || PREVIOUS.contains(&word.as_str()) => {
            Some(format!("Name the snapshot: {list} lists them, the newest first."))
        }
        _ => None,
    }
}

/// Returns the id of a snapshot, and when it was taken.
fn taken(snapshot: &Summary) -> String {
    format!("{} of {}", snapshot.snapshot_id, snapshot.created_at)
}

/// Returns the remediation for a workspace without snapshots.
fn take_one(target: &str) -> String {
    format!("Take one: `snapshotter snapshot create {}`.", shell_words([target]))
}

/// Returns the remediation for a sandbox without snapshots, which may be a snapshot whose sandbox the user left out.
fn no_snapshots(target: &str) -> String {
    format!(
        "The sandbox {target:?} has no snapshots. The first argument is SANDBOX or @NAME: `snapshotter workspace list` lists \
         the workspaces."
    )
}

/// Returns which sandboxes were searched: a few by their ids.
fn searched(target: &str, sandboxes: &[SandboxId]) -> String {
    match sandboxes.len() {
        many if many > MAX_NAMED => format!("Searched the {many} sandboxes of {target}."),
        _ => format!("Searched sandboxes of {target}: {}.", names(sandboxes)),
    }
}

/// Returns the right order of two operands, of which the second is a workspace: `@` begins no label that people write.
fn right_order(target: &str, snapshot: &str) -> Option<String> {
    let is_exchanged = snapshot.starts_with('@') && !target.starts_with('@');
    is_exchanged.then(|| exchanged(target, snapshot))
}

/// Returns the remediation for operands in the wrong order. A path after the workspace, as in `@name:path`, becomes the last one.
fn exchanged(target: &str, snapshot: &str) -> String {
    match split_place(snapshot) {
        Some((workspace, path)) => format!("{ORDER}: `{}`.", shell_words([workspace, target, path])),
        None => format!("{ORDER}: `{}`.", shell_words([snapshot, target])),
    }
}

/// The maximum number of searched sandboxes that a message names.
const MAX_NAMED: usize = 3;

const ORDER: &str = "The sandbox or the workspace precedes the snapshot";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_a_few_searched_sandboxes() {
        let ids = |count| (0..count).map(|number| SandboxId::parse(&format!("s{number}")).unwrap()).collect::<Vec<_>>();
        assert_eq!(searched("@w", &ids(2)), "Searched sandboxes of @w: s0, s1.");
        assert_eq!(searched("@w", &ids(9)), "Searched the 9 sandboxes of @w.");
    }

    #[test]
    fn a_workspace_in_the_place_of_a_snapshot_is_exchanged_with_the_other_operand() {
        for (target, snapshot, order) in [
            ("base", "@w1", "`@w1 base`"),
            ("before the risk", "@w1", "`@w1 'before the risk'`"),
            ("base", "@team/w1", "`@team/w1 base`"),
            ("base", "@w1:src", "`@w1 base src`"),
        ] {
            let remediation = right_order(target, snapshot).unwrap();
            assert!(remediation.contains(order), "{remediation}");
        }
        for (target, snapshot) in [("@w1", "base"), ("agent-42", "base"), ("@w1", "@w2")] {
            assert_eq!(right_order(target, snapshot), None);
        }
    }

    #[test]
    fn a_text_that_means_the_newest_or_an_earlier_snapshot_is_answered_with_its_label() {
        let labels: Vec<String> = ["after it", "before", "first"].map(str::to_owned).to_vec();
        for (text, expected) in [
            ("latest", Some("The newest one of @w is 'after it';")),
            ("HEAD", Some("The newest one of @w is 'after it';")),
            ("HEAD~1", Some("The one before the newest of @w is before;")),
            ("HEAD^", Some("The one before the newest of @w is before;")),
            ("previous", Some("The one before the newest of @w is before;")),
            ("HEAD~2", Some("`snapshotter snapshot list @w` lists them, the newest first")),
            ("HEAD~9", Some("`snapshotter snapshot list @w` lists them, the newest first")),
            ("before-lunch", None),
        ] {
            let remediation = of_position("@w", text, &labels);
            assert_eq!(remediation.is_some(), expected.is_some(), "{text}");
            assert!(remediation.unwrap_or_default().contains(expected.unwrap_or_default()), "{text}");
        }
        assert_eq!(of_position("@w", "latest", &[]), None);
    }
}
