//! Runs the scripts with bash, in directories of this machine.

use std::fs;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::*;

/// A directory with a program whose files are frozen, which is removed at the end.
struct Place(TempDir);

/// The lines of the log that the commands write.
type Log = &'static [&'static str];

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self(dir)
    }

    fn start(&self, script: &str) -> Child {
        let script = [PRELUDE, script].concat().replace("run=/run/", &format!("run={}/", self.0.path().display()));
        let script = script.replace("'/workspace'", &format!("'{}/work'", self.0.path().display()));
        Command::new("bash")
            .args(["-c", "--", &script])
            .env("GREETING", "hello")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self, script: &str) -> String {
        String::from_utf8(self.start(script).wait_with_output().unwrap().stdout).unwrap()
    }

    fn freeze(&self, command: &str, timeout_seconds: u32) -> Result<(), FreezeFailed> {
        self.freeze_for(&id(1), command, timeout_seconds)
    }

    fn freeze_for(&self, id: &SnapshotId, command: &str, timeout_seconds: u32) -> Result<(), FreezeFailed> {
        let dir = Directory::parse("/workspace").unwrap();
        let commands = Freeze { freeze: command.into(), thaw: "echo thaw >>log".into(), timeout_seconds };
        let stdout = self.run(&freeze(&dir, id, &commands).0);
        read_frozen(&stdout).unwrap_or_else(|| panic!("{stdout:?}"))
    }

    fn thaw(&self, id: &SnapshotId) -> FreezeReport {
        let stdout = self.run(&thaw(id).0);
        read_thawed(&stdout).unwrap_or_else(|| panic!("{stdout:?}"))
    }

    #[track_caller]
    fn expect_log(&self, lines: Log) {
        let log = fs::read_to_string(self.0.path().join("work/log")).unwrap_or_default();
        assert_eq!(log.lines().collect::<Vec<_>>(), lines);
    }

    /// Waits until no watchdog runs.
    fn wait(&self) {
        let lock = self.0.path().join("sandbox-snapshotter.freeze-lock");
        assert!(Command::new("flock").arg(lock).arg("true").status().unwrap().success());
    }

    /// Returns the names of the files that are left besides the lock.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "work" && !name.ends_with(".freeze-lock")).collect()
    }
}

fn id(number: usize) -> SnapshotId {
    SnapshotId::parse(&format!("snap-abcdefghij01234{number}")).unwrap()
}

const CONSISTENT: FreezeReport = FreezeReport { consistent: true, thawed: true };

#[test]
fn files_stay_frozen_until_the_thaw() {
    let place = Place::new();
    assert_eq!(place.freeze("echo freeze $GREETING >>log", 60), Ok(()));
    place.expect_log(&["freeze hello"]);
    assert_eq!(place.thaw(&id(1)), CONSISTENT);
    place.expect_log(&["freeze hello", "thaw"]);
    assert!(place.left().is_empty(), "{:?}", place.left());
}

#[test]
fn watchdog_thaws_at_the_time_limit() {
    let place = Place::new();
    assert_eq!(place.freeze("echo freeze >>log", 3), Ok(()));
    place.wait();
    place.expect_log(&["freeze", "thaw"]);
    assert_eq!(place.thaw(&id(1)), FreezeReport { consistent: false, thawed: true });
    place.expect_log(&["freeze", "thaw"]);
}

#[test]
fn repeated_thaw_runs_no_command() {
    let place = Place::new();
    place.freeze("true", 60).unwrap();
    place.thaw(&id(1));
    assert_eq!(place.thaw(&id(1)), FreezeReport::default());
    place.expect_log(&["thaw"]);
}

#[test]
fn freeze_that_fails_is_thawed_and_has_its_output() {
    let place = Place::new();
    let failed = place.freeze("echo broken; echo err >&2; exit 3", 60).unwrap_err();
    assert_eq!(failed, FreezeFailed { exit_code: Some(3), output: "broken\nerr\n".into() });
    place.expect_log(&["thaw"]);
    assert!(place.left().is_empty(), "{:?}", place.left());
}

#[test]
fn only_the_begin_of_long_output_is_returned() {
    let failed = Place::new().freeze("head -c 100000 /dev/zero | tr '\\0' x; exit 1", 60).unwrap_err();
    assert_eq!(failed.output, "x".repeat(2048));
}

#[test]
fn freeze_that_hangs_is_killed_before_the_thaw() {
    let place = Place::new();
    let failed = place.freeze("trap 'echo killed >log; exit' TERM; sleep 60 & wait", 2).unwrap_err();
    assert_eq!(failed.exit_code, None);
    place.expect_log(&["killed", "thaw"]);
    let failed = place.freeze("trap '' TERM; while :; do sleep 0.1; done", 2).unwrap_err();
    assert_eq!(failed.exit_code, None);
}

#[test]
fn process_that_holds_a_lock_can_outlive_the_freeze_command() {
    let place = Place::new();
    assert_eq!(place.freeze("sleep 60 & echo $! >pid", 60), Ok(()));
    let process = fs::read_to_string(place.0.path().join("work/pid")).unwrap();
    assert_eq!(place.thaw(&id(1)), CONSISTENT);
    assert!(Command::new("kill").arg(process.trim()).status().unwrap().success(), "it still ran");
}

#[test]
fn thaw_that_fails_is_reported() {
    let place = Place::new();
    assert_eq!(place.freeze("mkdir log", 60), Ok(()));
    assert_eq!(place.thaw(&id(1)), FreezeReport { consistent: true, thawed: false });
}

#[test]
fn next_freeze_waits_for_the_thaw_of_an_earlier_one() {
    let place = Place::new();
    assert_eq!(place.freeze("echo freeze 1 >>log", 60), Ok(()));
    assert_eq!(place.freeze_for(&id(2), "echo freeze 2 >>log", 60), Ok(()));
    place.expect_log(&["freeze 1", "thaw", "freeze 2"]);
    assert_eq!(place.thaw(&id(1)), FreezeReport::default(), "its capture does not count as consistent");
    place.expect_log(&["freeze 1", "thaw", "freeze 2"]);
    assert_eq!(place.thaw(&id(2)), CONSISTENT);
    place.expect_log(&["freeze 1", "thaw", "freeze 2", "thaw"]);
}

#[test]
fn thaw_does_not_wait_for_a_watchdog_that_was_killed() {
    let place = Place::new();
    place.freeze("cut -d ' ' -f 4 /proc/$PPID/stat >watchdog", 60).unwrap();
    let watchdog = fs::read_to_string(place.0.path().join("work/watchdog")).unwrap();
    let killed = Command::new("kill").args(["-KILL", watchdog.trim()]).status();
    assert!(killed.unwrap().success());
    assert_eq!(place.thaw(&id(1)), FreezeReport::default());
}

#[test]
fn container_in_which_nothing_was_frozen_is_not_consistent() {
    assert_eq!(Place::new().thaw(&id(1)), FreezeReport::default());
}

#[test]
fn directory_that_does_not_exist_runs_no_command() {
    let place = Place::new();
    fs::remove_dir(place.0.path().join("work")).unwrap();
    assert_eq!(
        place.freeze("echo freeze", 60).unwrap_err(),
        FreezeFailed { exit_code: Some(126), output: String::new() }
    );
}
