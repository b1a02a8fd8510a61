//! Runs the scripts with bash, in directories of this machine.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::*;
use crate::cloudflare::scripts::read_background_outcome;
use crate::model::Directory;
use crate::model::background::{BackgroundCommand, CommandState};
use crate::model::background_call::{BackgroundOutcome, BackgroundRefusal};
use crate::model::exec::OutputStream;

/// A directory in which commands run. They are ended, and the directory is removed, at the end.
struct Place {
    dir: TempDir,
    count: Cell<usize>,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir, count: Cell::new(0) }
    }

    fn call(&self, action: BackgroundAction) -> Result<BackgroundOutcome, BackgroundRefusal> {
        let number = self.count.replace(self.count.get() + 1);
        let id = CommandId::parse(&format!("c{number}")).unwrap();
        let dir = Directory::parse("/workspace").unwrap();
        let call = BackgroundCall { id, dir, action };
        let command = background_command(&call);
        let words = match command.program {
            Program::Shell(script) => ["bash", "-c", "--"].map(str::to_owned).into_iter().chain([script]).collect(),
            Program::Argv(words) => words,
        };
        let own = format!("{}/", self.dir.path().display());
        let words: Vec<String> = words.iter().map(|word| word.replace("/run/sandbox-snapshotter", &own)).collect();
        let mut bash = Command::new(&words[0]);
        bash.args(&words[1..]).current_dir(self.dir.path().join("work"));
        let mut running = bash.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let CommandInput::Text(input) = &command.stdin else { panic!("a text") };
        // A call that is refused does not read its input.
        drop(running.stdin.take().unwrap().write_all(input.as_bytes()));
        let output = running.wait_with_output().unwrap();
        read_background_outcome(&output.stdout, &call).unwrap_or_else(|| panic!("{output:?}"))
    }

    fn try_start(&self, change: impl FnOnce(&mut BackgroundStart)) -> Result<BackgroundCommand, BackgroundRefusal> {
        let (env, stdin) = (BTreeMap::new(), String::new());
        let mut start =
            BackgroundStart { program: Program::Shell("true".into()), cwd: None, env, stdin, timeout_seconds: 600 };
        change(&mut start);
        match self.call(BackgroundAction::Start(start))? {
            BackgroundOutcome::Command(command) => Ok(command),
            other => panic!("{other:?}"),
        }
    }

    fn start(&self, line: &str) -> CommandId {
        self.try_start(|start| start.program = Program::Shell(line.into())).unwrap().command_id
    }

    fn read(&self, id: &CommandId, stream: OutputStream, offset: u64) -> (BackgroundCommand, String) {
        let part = OutputPart { command_id: id.clone(), stream, offset, length: 1 << 20, wait_seconds: 60 };
        match self.call(BackgroundAction::Read(part)).unwrap() {
            BackgroundOutcome::Output(command, bytes) => (command, String::from_utf8(bytes).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the end of a command, and returns its standard output.
    fn finish(&self, id: &CommandId) -> (BackgroundCommand, String) {
        // No output has such an offset.
        let (command, _) = self.read(id, OutputStream::Stdout, 1 << 40);
        assert_ne!(command.state, CommandState::Running);
        (command, self.read(id, OutputStream::Stdout, 0).1)
    }

    fn end(&self, id: &CommandId, signal: Signal, grace_seconds: u32) -> BackgroundCommand {
        match self.call(BackgroundAction::End { command_id: id.clone(), signal, grace_seconds }).unwrap() {
            BackgroundOutcome::Command(command) => command,
            other => panic!("{other:?}"),
        }
    }

    fn list(&self) -> Vec<BackgroundCommand> {
        match self.call(BackgroundAction::List).unwrap() {
            BackgroundOutcome::List(commands) => commands,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until the standard output of a command contains a line, and returns it.
    fn line(&self, id: &CommandId) -> String {
        let mut text = String::new();
        while !text.ends_with('\n') {
            text += &self.read(id, OutputStream::Stdout, text.len() as u64).1;
        }
        text.trim_end().to_owned()
    }

    fn record(&self, id: &CommandId) -> PathBuf {
        self.dir.path().join(".background").join(id.as_str())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for command in self.list().into_iter().filter(|command| command.state == CommandState::Running) {
            self.end(&command.command_id, Signal::Kill, 0);
        }
    }
}

fn is_running(process: &str) -> bool {
    // A process without a parent that waits for it stays as a zombie.
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn command_gets_its_input_its_variables_and_its_directory() {
    let place = Place::new();
    let started = place.try_start(|start| {
        start.program = Program::Shell("pwd; cat; printf %s \"$A\"; env | grep -c our_; echo x >&2; exit 3".into());
        start.env = BTreeMap::from([("A".to_owned(), "it's $(x)\n".to_owned())]);
        start.stdin = "in\n".into();
    });
    let id = started.unwrap().command_id;
    let (command, output) = place.finish(&id);
    assert_eq!(output, format!("{}/work\nin\nit's $(x)\n0\n", place.dir.path().display()));
    assert_eq!(place.read(&id, OutputStream::Stderr, 0).1, "x\n");
    assert_eq!((command.state, command.exit_code, command.timed_out), (CommandState::Exited, Some(3), false));
    assert_eq!((command.stdout_bytes, command.stderr_bytes, command.truncated), (output.len() as u64, 2, false));
    assert!(command.ended_at.unwrap() >= command.started_at);
}

#[test]
fn program_gets_its_arguments_without_a_shell() {
    let place = Place::new();
    let words = ["printf", "%s|", "$HOME", "it's", "", "a\nb"].map(str::to_owned);
    let command = place.try_start(|start| start.program = Program::Argv(words.into())).unwrap();
    assert_eq!(command.command, "printf '%s|' '$HOME' 'it'\\''s' '' 'a\nb'");
    assert_eq!(place.finish(&command.command_id).1, "$HOME|it's||a\nb|");
    let missing = place.try_start(|start| start.program = Program::Argv(vec!["no-such-program".into()])).unwrap();
    assert_eq!(place.finish(&missing.command_id).0.exit_code, Some(127));
}

#[test]
fn text_of_a_long_command_is_cut() {
    let line = |length: usize| Program::Shell("ü".repeat(length));
    assert_eq!(text(&line(1000)), "ü".repeat(1000));
    assert_eq!(text(&line(1001)), format!("{}…", "ü".repeat(999)));
}

#[test]
fn output_of_a_running_command_is_read_while_the_call_waits() {
    let place = Place::new();
    let fifo = place.dir.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let id = place.start(&format!("cat <{}; exec sleep 600", fifo.display()));
    let writer = std::thread::spawn(move || fs::write(fifo, "hello").unwrap());
    let (command, output) = place.read(&id, OutputStream::Stdout, 0);
    writer.join().unwrap();
    assert_eq!((command.state, output.as_str()), (CommandState::Running, "hello"));
}

#[test]
fn end_reaches_every_process_of_the_session_and_kills_those_that_ignore_the_signal() {
    let place = Place::new();
    let stubborn = "trap '' TERM; sleep 600";
    let id = place.start(&format!("set -m; bash -c \"{stubborn}; {stubborn}\" & echo $! $BASHPID; {stubborn}; wait"));
    let processes = place.line(&id);
    let command = place.end(&id, Signal::Term, 0);
    assert_eq!((command.state, command.exit_code), (CommandState::Killed, Some(137)));
    for process in processes.split(' ') {
        assert!(!is_running(process), "{process}");
    }
}

#[test]
fn command_handles_the_signal_once_before_it_ends() {
    let place = Place::new();
    let id = place.start("trap 'echo bye; exit 5' INT; echo ready; while :; do sleep 0.01; done");
    place.line(&id);
    let command = place.end(&id, Signal::Int, 60);
    assert_eq!((command.state, command.exit_code), (CommandState::Killed, Some(5)));
    assert_eq!(place.finish(&id).1, "ready\nbye\n");
}

#[test]
fn command_that_has_ended_is_left_as_it_is() {
    let place = Place::new();
    let id = place.start("exit 4");
    let (before, _) = place.finish(&id);
    let other = place.start("echo $BASHPID; exec sleep 600");
    let process = place.line(&other);
    // Another process may have the id of the session.
    let session = fs::read_to_string(place.record(&other).join("started")).unwrap();
    fs::write(place.record(&id).join("started"), session).unwrap();
    let after = place.end(&id, Signal::Kill, 0);
    assert_eq!((after.state, after.exit_code), (before.state, Some(4)));
    assert!(is_running(&process));
}

#[test]
fn command_is_killed_at_its_time_limit_with_its_session() {
    let place = Place::new();
    let started = place.try_start(|start| {
        start.program = Program::Shell("set -m; sleep 600 & echo $!; sleep 600".into());
        start.timeout_seconds = 1;
    });
    let id = started.unwrap().command_id;
    let process = place.line(&id);
    let (command, _) = place.finish(&id);
    assert_eq!((command.state, command.exit_code, command.timed_out), (CommandState::Killed, Some(124), true));
    assert!(!is_running(&process));
}

#[test]
fn output_has_a_maximum_length_and_the_command_runs_to_its_end() {
    let place = Place::new();
    let most = u64::from(MAX_OUTPUT_KIB) * 1024;
    let (whole, _) = place.finish(&place.start(&format!("head -c {most} /dev/zero")));
    assert_eq!((whole.stdout_bytes, whole.truncated), (most, false));
    let (cut, _) = place.finish(&place.start(&format!("head -c {} /dev/zero && exit 7", most + 500_000)));
    assert_eq!((cut.stdout_bytes, cut.truncated, cut.exit_code), (most, true, Some(7)));
}

#[test]
fn sixteen_commands_run_at_the_same_time() {
    let place = Place::new();
    let ids: Vec<_> = (0..MAX_BACKGROUND).map(|_| place.start("exec sleep 600")).collect();
    assert_eq!(place.try_start(|_| ()), Err(BackgroundRefusal::TooMany));
    place.end(&ids[3], Signal::Kill, 0);
    place.start("exec sleep 600");
    assert_eq!(place.list().len(), MAX_BACKGROUND + 1);
}

#[test]
fn oldest_commands_that_ended_are_forgotten() {
    let place = Place::new();
    let running = place.start("exec sleep 600");
    let ids: Vec<_> = (0..MAX_ENDED + 2)
        .map(|_| {
            let id = place.start("true");
            place.finish(&id);
            id
        })
        .collect();
    let part =
        OutputPart { command_id: ids[0].clone(), stream: OutputStream::Stdout, offset: 0, length: 1, wait_seconds: 0 };
    assert_eq!(place.call(BackgroundAction::Read(part)), Err(BackgroundRefusal::NotFound));
    let kept: Vec<_> = place.list().into_iter().map(|command| command.command_id).collect();
    assert!(kept.contains(&running) && kept.contains(&ids[2]), "{kept:?}");
    assert_eq!(kept.len(), MAX_ENDED + 2);
}

#[test]
fn process_that_the_command_leaves_behind_does_not_delay_its_end() {
    let place = Place::new();
    let id = place.start("sleep 600 & echo $!");
    let process = place.line(&id);
    let (command, _) = place.finish(&id);
    assert_eq!((command.state, command.exit_code), (CommandState::Exited, Some(0)));
    assert!(is_running(&process));
    assert!(Command::new("kill").arg(process).status().unwrap().success());
}

#[test]
fn command_whose_supervisor_was_killed_counts_as_killed() {
    let place = Place::new();
    let id = place.start("echo $PPID; exec sleep 600");
    let process = place.line(&id);
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let supervisor = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap().to_owned();
    assert!(Command::new("kill").args(["-KILL", &supervisor, &process]).status().unwrap().success());
    let (command, _) = place.finish(&id);
    assert_eq!((command.state, command.exit_code, command.ended_at), (CommandState::Killed, None, None));
}

#[test]
fn call_about_a_command_that_does_not_exist_is_refused() {
    let place = Place::new();
    assert_eq!(place.list(), []);
    let command_id = CommandId::parse("c9").unwrap();
    let end = BackgroundAction::End { command_id, signal: Signal::Term, grace_seconds: 0 };
    assert_eq!(place.call(end), Err(BackgroundRefusal::NotFound));
}
