//! The documented limits agree with the code.

use sandbox_snapshotter::model::policy::MAX_EXPIRATION;
use sandbox_snapshotter::model::request::{
    DiffCheckpointRequest, ForkRequest, ListCheckpointsRequest, ListRequest, ListWorkspacesRequest,
};
use sandbox_snapshotter::model::{Label, SandboxId};
use sandbox_snapshotter::service::calls::limits::CallKind;

use super::markdown::page;

/// The row of the table whose first cell begins with `of`, without the spaces that group digits.
fn documented_limit(of: &str) -> String {
    let section = page("docs/limits.md").section("Limits");
    let row = |line: &str| line.strip_prefix("| ").is_some_and(|cells| cells.starts_with(of));
    let line = section.lines().find(|line| row(line)).unwrap_or_else(|| panic!("no row for {of}")).to_owned();
    let digits = |pair: &[char]| pair[0].is_ascii_digit() && pair[2].is_ascii_digit();
    let chars: Vec<char> = line.chars().collect();
    let groups = |at: usize| at > 0 && chars.get(at - 1..=at + 1).is_some_and(digits) && chars[at] == ' ';
    chars.iter().enumerate().filter(|(at, _)| !groups(*at)).map(|(_, c)| *c).collect()
}

#[test]
fn each_documented_limit_matches_the_code() {
    let years = MAX_EXPIRATION / (365 * 24 * 3600);
    let kib = |bytes: u32| format!("{} KiB", bytes / 1024);
    let mib = |bytes: u32| format!("{} MiB", bytes / 1024 / 1024);
    let limits = [
        ("a sandbox id", format!(" {} characters", SandboxId::MAX)),
        ("a label", format!(" {} characters", Label::MAX)),
        (
            "a page of `list`",
            format!(" {} snapshots, {} by default", ListRequest::MAX_LIMIT, ListRequest::DEFAULT_LIMIT),
        ),
        (
            "a page of `list`",
            format!(" {}, {} by default", ListWorkspacesRequest::MAX_LIMIT, ListWorkspacesRequest::DEFAULT_LIMIT),
        ),
        (
            "a page of `checkpoints/list`",
            format!(" {}, {} by default", ListCheckpointsRequest::MAX_LIMIT, ListCheckpointsRequest::DEFAULT_LIMIT),
        ),
        ("forks of a call", format!(" {} ", ForkRequest::MAX_COUNT)),
        ("an expiration", format!(" {years} years")),
        ("a diff of a checkpoint", format!(" {},", kib(DiffCheckpointRequest::DEFAULT_BYTES))),
        ("a diff of a checkpoint", format!(" {} ", mib(DiffCheckpointRequest::MAX_BYTES))),
    ];
    for (of, limit) in limits {
        assert!(documented_limit(of).contains(&limit), "{}: {limit:?}", documented_limit(of));
    }
}

#[test]
fn each_documented_time_limit_matches_the_code() {
    const MIB: u64 = 1024 * 1024;
    let section = page("docs/operations.md").section("Time limits");
    let seconds = |kind: CallKind| format!("{} ", kind.limit().as_secs());
    let limits = [
        ("the status", seconds(CallKind::Status)),
        ("the status", seconds(CallKind::Configure)),
        ("the end", seconds(CallKind::Destroy)),
        ("a short command", seconds(CallKind::Command)),
        ("a command that reads", seconds(CallKind::Walk)),
        ("a command of a checkpoint", seconds(CallKind::Checkpoint)),
        ("a hook", format!("and {}", seconds(CallKind::Hook(0)))),
        ("a backup", seconds(CallKind::Backup(Some(0)))),
        ("a restore", seconds(CallKind::Restore(0))),
    ];
    for (of, limit) in limits {
        let row = section.lines().find(|line| line.starts_with(&format!("| {of}")));
        assert!(row.is_some_and(|row| row.contains(&format!(" {limit}"))), "{of}: {limit}");
    }
    let longest = CallKind::MAX_LIMIT.as_secs();
    assert!(section.contains(&format!("at most {longest} seconds")), "{longest}");
    assert_eq!(CallKind::Backup(None).limit(), CallKind::Backup(Some(1024 * MIB)).limit());
}
