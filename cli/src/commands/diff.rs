//! The command for the differences between two snapshots, or a snapshot and the present files.

use sandbox_snapshotter_client::model::answer::{Manifest, Summary};
use sandbox_snapshotter_client::model::diff::{DiffCursor, SnapshotDiff};
use sandbox_snapshotter_client::model::files::FilePath;
use sandbox_snapshotter_client::model::request::{
    DiffRequest, FileSource, ForkFrom, SandboxFiles, SandboxSelection, Selection,
};
use sandbox_snapshotter_client::model::{Code, Directory};

use super::context::Context;
use super::lists;
use super::patch::print_patch;
use super::target::parse_target;
use crate::args::common::Paging;
use crate::args::diff::Diff;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::print_warning;
use crate::quoting::shell_words;

impl lists::Page for SnapshotDiff {
    const ROWS: &str = "changes";

    fn len(&self) -> usize {
        self.changes.len()
    }

    fn cursor(&mut self) -> &mut Option<String> {
        &mut self.cursor
    }
}

/// `diff`
pub fn run(context: &Context, command: Diff) -> Result<Exit> {
    let usage = right_usage(&command);
    compare(context, command).map_err(|failure| match usage {
        Some(usage) if failure.code() == Some(Code::SnapshotNotFound.as_str()) => failure.with_remediation(usage),
        _ => failure,
    })
}

/// Returns how to name the present files, or the snapshots of two workspaces if the second one is in the place of a snapshot: `@`
/// begins no label that people write.
fn right_usage(Diff { target, from, to, to_sandbox, .. }: &Diff) -> Option<String> {
    let list = |target: &str| format!("`snapshotter snapshot list {}`", shell_words([target]));
    match (from.strip_prefix('@'), to) {
        _ if !target.starts_with('@') => None,
        (Some(_), _) => Some(format!(
            "Name a snapshot of each workspace by its id or label: `snapshotter diff {} FROM TO --to-sandbox {}`. Without TO, \
             the differences lead to the present files of {from}. {} and {} list the snapshots.",
            shell_words([target.as_str()]),
            shell_words([from.as_str()]),
            list(target),
            list(from),
        )),
        (None, Some(to)) if to.starts_with('@') => Some(format!(
            "For the present files of {to}: `snapshotter diff {} --to-sandbox {}`. For a snapshot of it, add its id or label \
             after {from:?}; {} lists them.",
            shell_words([target.as_str(), from.as_str()]),
            shell_words([to.as_str()]),
            list(to),
        )),
        (None, Some(to)) if PRESENT.contains(&to.to_lowercase().as_str()) => {
            let sandbox = to_sandbox.iter().flat_map(|sandbox| ["--to-sandbox", sandbox.as_str()]);
            let words = shell_words([target.as_str(), from.as_str()].into_iter().chain(sandbox));
            Some(format!("For the present files, omit TO: `snapshotter diff {words}`."))
        }
        (None, _) => None,
    }
}

/// What people write for the present files.
const PRESENT: [&str; 5] = ["now", "present", "current", "working", "."];

fn compare(context: &Context, command: Diff) -> Result<Exit> {
    let Diff { target, from, to, to_sandbox, patch, path, lineage_scope, paging } = command;
    if patch && (context.output.json || context.output.quiet) {
        let remediation = "Omit `--patch` for the list of the differences.";
        return Err(Failure::invalid("INVALID_USAGE", "`--patch` prints text: no JSON, and no list.", remediation));
    }
    let lineage_scope = context.lineage_scope(&lineage_scope)?;
    let select = |target: &str, snapshot: &str| -> Result<Selection> {
        let selector = context.find_snapshot(target, snapshot, &lineage_scope)?;
        Ok(Selection { selector, lineage_scope: lineage_scope.clone() })
    };
    let to_target = to_sandbox.as_deref().unwrap_or(&target);
    let words = [target.as_str(), from.as_str()];
    let selected = select(&target, &from)?;
    let to: FileSource = if let Some(to) = to {
        select(to_target, &to)?.into()
    } else {
        let selection = SandboxSelection { lineage_scope: lineage_scope.clone(), ..parse_target(to_target)?.into() };
        SandboxFiles::from(selection).into()
    };
    let limit = if paging.is_all() { DiffRequest::MAX_LIMIT } else { DiffRequest::DEFAULT_LIMIT };
    let selections = match &to {
        FileSource::Snapshot(to) => Some((selected.clone(), to.clone())),
        FileSource::Sandbox(_) => None,
    };
    let sources = [selected.clone().into(), to.clone()];
    let request = DiffRequest { limit: paging.limit.unwrap_or(limit), ..DiffRequest::of(selected, to) };
    let mut fetch = |cursor: Option<&str>| {
        let cursor = cursor.map(DiffCursor::parse).transpose().map_err(|_| lists::invalid_cursor())?;
        let page = context.call_read_only::<SnapshotDiff>("diff", &DiffRequest { cursor, ..request.clone() });
        page.map_err(|failure| explain_not_running(failure, to_target, words))
    };
    if context.output.json || !paging.is_all() {
        return context.show(&whole(&paging, fetch)?);
    }
    warn_of_excluded(context, &sources);
    if let Some((from, to)) = selections {
        warn_of_directories(context, &from, &to);
    }
    if patch {
        let paths: Vec<_> = path.iter().map(|path| FilePath::parse(path)).collect::<Result<_, _>>()?;
        print_patch(context, &whole(&paging, fetch)?.value, sources.each_ref(), &paths)?;
        return Ok(Exit::Done);
    }
    lists::show(context, &paging, None, &mut fetch)
}

/// Adds the commands to the failure of a sandbox or a workspace that has no present files, because it is not running. `words` select
/// the other snapshot.
fn explain_not_running(failure: Failure, to: &str, words: [&str; 2]) -> Failure {
    if failure.code() != Some(Code::SandboxNotRunning.as_str()) || !failure.remediation().starts_with("Start it first")
    {
        return failure;
    }
    let start = match to.strip_prefix('@') {
        Some(name) => format!("Start it first: `snapshotter workspace start {}`.", shell_words([name])),
        None => format!("Restore its files first: `snapshotter revive {}`.", shell_words([to])),
    };
    if words == [to, ForkFrom::LATEST] {
        return failure.with_remediation(start);
    }
    let of_other = ["--to-sandbox", to].into_iter().filter(|_| words.first() != Some(&to));
    let diff = shell_words(words.into_iter().chain(["latest"]).chain(of_other));
    failure.with_remediation(format!("{start} Or compare with its newest snapshot: `snapshotter diff {diff}`."))
}

/// Warns if a snapshot leaves out files by their names: these are not compared.
fn warn_of_excluded(context: &Context, sources: &[FileSource]) {
    let manifest_of = |source: &FileSource| match source {
        FileSource::Snapshot(selection) => context.call_without_suggestions::<Manifest>("manifest", selection).ok(),
        FileSource::Sandbox(_) => None,
    };
    let left_out = sources.iter().filter_map(manifest_of).flat_map(|answer| left_out_by(answer.value));
    if let Some(note) = excluded_note(left_out) {
        print_warning(&note);
    }
}

fn left_out_by(manifest: Manifest) -> impl Iterator<Item = String> {
    manifest.excludes.into_iter().chain(manifest.gitignore.then(|| "what git ignores".to_owned()))
}

fn excluded_note(left_out: impl Iterator<Item = String>) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for name in left_out {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| format!("not compared, because a snapshot leaves it out: {}", names.join(", ")))
}

/// Warns if the snapshots are of different directories: paths are compared relative to them.
fn warn_of_directories(context: &Context, from: &Selection, to: &Selection) {
    let dir =
        |selection| context.call_without_suggestions::<Summary>("get", selection).ok().map(|found| found.value.dir);
    if let (Some(from), Some(to)) = (dir(from), dir(to))
        && let Some(note) = directories_note(&from, &to)
    {
        print_warning(&note);
    }
}

fn directories_note(from: &Directory, to: &Directory) -> Option<String> {
    let differ = "the snapshots are of different directories";
    (from != to).then(|| format!("{differ}, {from} and {to}, and paths are relative to them"))
}

/// Returns all pages as one, or one page.
fn whole(
    paging: &Paging,
    mut fetch: impl FnMut(Option<&str>) -> Result<Answer<SnapshotDiff>>,
) -> Result<Answer<SnapshotDiff>> {
    let mut page = fetch(paging.cursor.as_deref())?.value;
    while paging.is_all()
        && let Some(cursor) = page.cursor.take()
    {
        let next = fetch(Some(&cursor))?.value;
        page.changes.extend(next.changes);
        page.cursor = next.cursor;
    }
    Answer::of(serde_json::to_value(&page).map_err(|_| lists::invalid_cursor())?)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use sandbox_snapshotter_client::model::{Error, SandboxId};

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        diff: Diff,
    }

    fn usage(arguments: &[&str]) -> Option<String> {
        right_usage(&Command::parse_from([&["diff"], arguments].concat()).diff)
    }

    #[test]
    fn a_comparison_with_files_that_are_not_running_names_the_start() {
        let advice_for = |to: &str, words| {
            let id = SandboxId::parse("s").unwrap();
            let failure = explain_not_running(Error::diff_not_running(&id).into(), to, words);
            failure.remediation().to_owned()
        };
        let advice = |to| advice_for(to, ["@work", "base"]);
        let newest = advice_for("@work", ["@work", "latest"]);
        assert_eq!(newest, "Start it first: `snapshotter workspace start work`.");
        assert_eq!(
            advice("@work"),
            "Start it first: `snapshotter workspace start work`. Or compare with its newest snapshot: `snapshotter diff \
             @work base latest`."
        );
        assert_eq!(
            advice("agent-42"),
            "Restore its files first: `snapshotter revive agent-42`. Or compare with its newest snapshot: `snapshotter \
             diff @work base latest --to-sandbox agent-42`."
        );
    }

    #[test]
    fn different_directories_are_named() {
        let dir = |path| Directory::parse(path).unwrap();
        let note = directories_note(&dir("/workspace"), &dir("/workspace/app")).unwrap();
        assert!(note.contains("different directories, /workspace and /workspace/app,"), "{note}");
        assert_eq!(directories_note(&dir("/workspace"), &dir("/workspace")), None);
    }

    #[test]
    fn names_that_a_snapshot_leaves_out_are_not_compared() {
        let note = |names: &[&str]| excluded_note(names.iter().map(|name| (*name).to_owned()));
        assert_eq!(note(&[]), None);
        let both_leave_out = note(&["node_modules", "*.log", "node_modules", "what git ignores"]).unwrap();
        let names = "node_modules, *.log, what git ignores";
        assert_eq!(both_leave_out, format!("not compared, because a snapshot leaves it out: {names}"));
    }

    #[test]
    fn a_word_for_the_present_files_is_answered_with_the_command_without_it() {
        for word in ["now", "present", "current", "working"] {
            let usage = usage(&["@a", "before the risk", word]).unwrap();
            assert!(usage.contains("`snapshotter diff @a 'before the risk'`"), "{usage}");
        }
        let of_other = usage(&["@a", "base", "now", "--to-sandbox", "@b"]).unwrap();
        assert!(of_other.contains("`snapshotter diff @a base --to-sandbox @b`"), "{of_other}");
        assert_eq!(usage(&["@a", "now", "base"]), None);
    }

    #[test]
    fn a_workspace_in_the_place_of_a_snapshot_is_answered_with_the_right_usage() {
        let of_both = usage(&["@a", "@fork"]).unwrap();
        assert!(of_both.contains("`snapshotter diff @a FROM TO --to-sandbox @fork`"), "{of_both}");
        let of_second = usage(&["@a", "before the risk", "@fork"]).unwrap();
        assert!(of_second.contains("`snapshotter diff @a 'before the risk' --to-sandbox @fork`"), "{of_second}");
        for arguments in [["@a", "base"], ["base", "@a"]] {
            assert_eq!(usage(&arguments), None);
        }
    }
}
