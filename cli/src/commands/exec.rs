//! `exec`: runs a command in a sandbox.

use std::collections::BTreeMap;
use std::io::{self, Chain, Cursor, IsTerminal, Read};
use std::slice;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use sandbox_snapshotter_client::model::Code;
use sandbox_snapshotter_client::model::background::CommandDescription;
use sandbox_snapshotter_client::model::exec::{
    CollectedOutput, ExecEvent, ExecEventReader, ExecExit, ExecResult, OutputStream,
};
use sandbox_snapshotter_client::model::request::{ExecRequest, StartCommandRequest};
use sandbox_snapshotter_client::{self as client, Options};
use serde_json::json;

use super::context::Context;
use super::settings::own_environment;
use super::target::check_order;
use crate::args::duration::DurationArg;
use crate::args::exec::Exec;
use crate::args::help;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::interrupt::{self, Effect};
use crate::output::answer::Answer;
use crate::output::sanitize::sanitize_for_terminal;
use crate::output::{print_bytes, print_error_bytes};
use crate::quoting::shell_words;

/// The size of the parts in which the answer is read, in bytes.
const PART_BYTES: usize = 64 * 1024;

/// The maximum length of options that contain the standard input, in bytes of JSON. The options of a longer input are in the
/// URL, which may be logged, and they may contain secrets.
const MAX_OPTIONS: usize = 60 * 1024;

/// The time after which a standard input that has not ended is worth a note: nothing runs until then.
const INPUT_WAIT: Duration = Duration::from_secs(3);

/// Runs the command, with a time limit. Ends this program with the exit code of the command that ran.
pub fn run(context: &Context, command: Exec, limit: Option<DurationArg>) -> Result<Exit> {
    let code = run_command(context, command, limit);
    let code = code.map_err(|failure| match failure.exit() {
        // The directory of the sandbox was deleted.
        Exit::Invalid if failure.code() != Some(Code::InvalidDirectory.as_str()) => failure,
        _ => failure.with_exit(Exit::NotRun),
    })?;
    std::process::exit(code);
}

fn run_command(context: &Context, command: Exec, limit: Option<DurationArg>) -> Result<i32> {
    if command.detach {
        let request = detached(to_request(context, command, limit)?, limit);
        context.show::<CommandDescription>(&context.call_mutating("commands/start", &request)?)?;
        return Ok(0);
    }
    let no_stdin = command.no_stdin;
    let request = to_request(context, command, limit)?;
    let stdin = io::stdin();
    let (request, input) =
        if no_stdin || stdin.is_terminal() { (request, None) } else { with_input(request, stdin.lock())? };
    let _tracker = interrupt::track_call(Effect::RunsCommand, None);
    let events = context.exec_stream(&request, input)?;
    if context.output.json {
        let mut output = CollectedOutput::new(usize::try_from(request.max_output_bytes).unwrap_or(usize::MAX));
        let exit = read_events(events, |stream, bytes| {
            output.add(stream, bytes);
            Ok(())
        })?;
        let answer = Answer::<ExecResult>::of(json!(output.into_result(exit)))?;
        context.show(&answer)?;
        return Ok(answer.value.exit_code);
    }
    let ExecExit { exit_code, timed_out, started, .. } = read_events(events, |stream, bytes| match stream {
        OutputStream::Stdout => print_bytes(bytes),
        OutputStream::Stderr => {
            print_error_bytes(bytes);
            Ok(())
        }
    })?;
    context.warn_of_loss(started.as_ref());
    if let Some(line) = line_of_missing_program(exit_code, &request.argv) {
        crate::output::print_note(&format!(
            "snapshotter: a command line for the shell is one argument: {}\n",
            sanitize_for_terminal(&line)
        ));
    }
    if stdin.is_terminal() && is_shell(&request.argv) {
        crate::output::print_note(
            "snapshotter: the shell had no terminal, and ended. Pass it commands, as in 'ls -l'\n",
        );
    }
    if timed_out {
        crate::output::print_note("snapshotter: the command exceeded its time limit and was killed\n");
    }
    Ok(exit_code)
}

fn to_request(context: &Context, command: Exec, limit: Option<DurationArg>) -> Result<ExecRequest> {
    let Exec { target, argv, revive, shell, cwd, env, no_stdin: _, detach: _, lineage_scope } = command;
    check_not_empty(&target, shell.as_ref().or(argv.first()))?;
    check_no_option_follows(&target, &argv)?;
    check_order(&target, argv.first().map_or("", String::as_str))?;
    let env = env.iter().map(|pair| parse_variable(pair)).collect::<Result<BTreeMap<_, _>>>()?;
    let timeout_seconds =
        limit.map_or(ExecRequest::DEFAULT_TIMEOUT, |DurationArg(seconds)| u32::try_from(seconds).unwrap_or(u32::MAX));
    let (command, argv) = match (shell, argv) {
        (None, argv) if is_line(&argv) => (argv.into_iter().next(), Vec::new()),
        (shell, argv) => (shell, argv),
    };
    Ok(ExecRequest {
        revive,
        command,
        argv,
        cwd,
        env: (!env.is_empty()).then_some(env),
        timeout_seconds,
        ..ExecRequest::of(context.selection(&target, &lineage_scope)?, "")
    })
}

/// Returns the request to start the same command in the background.
fn detached(request: ExecRequest, limit: Option<DurationArg>) -> StartCommandRequest {
    let ExecRequest { selection, command, argv, cwd, env, timeout_seconds, .. } = request;
    let timeout_seconds = limit.map_or(StartCommandRequest::DEFAULT_TIMEOUT, |_| timeout_seconds);
    StartCommandRequest { selection, command, argv, cwd, env, stdin: None, timeout_seconds }
}

/// Returns whether the arguments are a command line: one with a space, as `'npm test'`.
fn is_line(argv: &[String]) -> bool {
    matches!(argv, [line] if line.contains(char::is_whitespace))
}

/// The exit code of a program that was not found.
const NOT_FOUND: i32 = 127;

/// The commands of a shell that are no programs, and that people begin a line with.
const SHELL_COMMANDS: [&str; 5] = ["cd", "export", "source", ".", "set"];

/// Operators of a shell between commands.
const OPERATORS: [&str; 7] = ["&&", "||", "|", ";", "&", ">", "<"];

/// Returns the command line as one argument, if the program was not found because the arguments are words of a line for the
/// shell.
fn line_of_missing_program(exit_code: i32, argv: &[String]) -> Option<String> {
    let (program, arguments) = argv.split_first()?;
    let is_of_shell =
        program.contains(char::is_whitespace) || program.contains('=') || SHELL_COMMANDS.contains(&program.as_str());
    if exit_code != NOT_FOUND || !is_of_shell {
        return None;
    }
    let word = |word: &String| {
        if OPERATORS.contains(&word.as_str()) { word.clone() } else { shell_words([word.as_str()]) }
    };
    let words: Vec<_> = std::iter::once(program.clone()).chain(arguments.iter().map(word)).collect();
    Some(shell_words([words.join(" ").as_str()]))
}

/// Returns whether the program is a shell without arguments, which a user expects to be interactive.
fn is_shell(argv: &[String]) -> bool {
    matches!(argv, [shell] if matches!(shell.rsplit('/').next(), Some("sh" | "bash" | "zsh" | "dash")))
}

/// Verifies that the program or the command line is more than whitespace.
fn check_not_empty(target: &str, command: Option<&String>) -> Result<()> {
    if command.is_none_or(|command| !command.trim().is_empty()) {
        return Ok(());
    }
    let remediation = format!(
        "Pass a program and its arguments, `snapshotter exec {target} ls -l`, or a command line, `snapshotter exec {target} 'ls | wc'`."
    );
    Err(Failure::invalid("INVALID_USAGE", "The command is empty.", remediation))
}

/// Verifies that no option of this program follows a command line, which takes no arguments.
fn check_no_option_follows(target: &str, argv: &[String]) -> Result<()> {
    let Some((line, rest)) = argv.split_first() else { return Ok(()) };
    let first = rest.first().filter(|_| is_line(slice::from_ref(line)));
    match first.filter(|word| help::has_option("exec", word)) {
        None => Ok(()),
        Some(option) => Err(Failure::invalid(
            "INVALID_USAGE",
            format!("The option {option} is after the command, and would be one of its arguments."),
            format!("Options precede the command: `snapshotter exec {} {target} '{line}'`.", rest.join(" ")),
        )),
    }
}

fn parse_variable(variable: &str) -> Result<(String, String)> {
    match variable.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Ok((variable.to_owned(), own_environment(variable)?)),
    }
}

/// An input of which the beginning was read.
type Rest<R> = Chain<Cursor<Vec<u8>>, R>;

/// Prints a note after a time, unless the returned value is dropped before.
fn note_after(time: Duration, note: &'static str) -> Sender<()> {
    let (is_over, over) = mpsc::channel();
    thread::spawn(move || {
        if over.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            crate::output::print_note(note);
        }
    });
    is_over
}

/// Adds a short standard input to the request. Returns a longer one, or one that is not text, to be sent as a stream.
fn with_input<R: Read>(request: ExecRequest, mut input: R) -> Result<(ExecRequest, Option<Rest<R>>)> {
    let _note =
        note_after(INPUT_WAIT, "snapshotter: exec waits for the end of its standard input. `--no-stdin` omits it\n");
    let mut begin = Vec::new();
    let most = u64::try_from(MAX_OPTIONS).unwrap_or(u64::MAX) + 1;
    input.by_ref().take(most).read_to_end(&mut begin).map_err(|error| {
        let message = format!("The standard input can't be read: {error}.");
        Failure::invalid("INPUT_UNREADABLE", message, "Redirect it from a file, or pass `--no-stdin`.")
    })?;
    if let Ok(text) = std::str::from_utf8(&begin) {
        let stdin = Some(text.to_owned()).filter(|text| !text.is_empty());
        let whole = ExecRequest { stdin, ..request.clone() };
        let options = whole.to_json();
        if options.to_string().len() <= MAX_OPTIONS && ExecRequest::decode(&options).is_ok() {
            return Ok((whole, None));
        }
    }
    Ok((request, Some(Cursor::new(begin).chain(input))))
}

/// Passes on the outputs of a command while it runs, and returns its end.
fn read_events(
    mut answer: impl Read,
    mut on_output: impl FnMut(OutputStream, &[u8]) -> Result<()>,
) -> Result<ExecExit> {
    let (mut reader, mut part) = (ExecEventReader::default(), vec![0; PART_BYTES]);
    loop {
        let length = answer.read(&mut part).map_err(|error| answer_lost(&error.to_string()))?;
        if length == 0 {
            return Err(answer_lost("the answer ended before the command"));
        }
        let events = reader.read(part.get(..length).unwrap_or_default());
        for event in events.map_err(|why| Failure::foreign_answer(&why))? {
            match event {
                ExecEvent::Output(stream, bytes) => on_output(stream, &bytes)?,
                ExecEvent::Exit(exit) => return Ok(exit),
                ExecEvent::Failed(error) => {
                    let error = client::Error::from_json(&error);
                    return Err(
                        error.map_or_else(|| Failure::foreign_answer("an error that can't be read"), Into::into)
                    );
                }
            }
        }
    }
}

fn answer_lost(why: &str) -> Failure {
    Failure::transient(
        Exit::NotRun,
        "ANSWER_LOST",
        format!("The connection to the server ended while the command ran: {why}."),
        "The server ends the command when it learns that no caller waits for it. Until then, it may still run: check the files of \
         the sandbox before you run it again.",
        false,
    )
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::SandboxId;

    use super::*;

    #[test]
    fn one_argument_with_a_space_is_a_command_line() {
        let is_line = |argv: &[&str]| is_line(&argv.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(is_line(&["npm test && npm run build"]));
        assert!(!is_line(&["ls"]));
        assert!(!is_line(&["printf", "%s", "a b"]));
        assert!(!is_line(&[]));
    }

    #[test]
    fn a_line_of_the_shell_in_several_arguments_is_shown_as_one() {
        let line = |exit_code: i32, argv: &[&str]| {
            line_of_missing_program(exit_code, &argv.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(line(127, &["cd", "d"]).as_deref(), Some("'cd d'"));
        assert_eq!(line(127, &["FOO=1", "env"]).as_deref(), Some("'FOO=1 env'"));
        assert_eq!(line(127, &["npm test", "&&", "ls"]).as_deref(), Some("'npm test && ls'"));
        for (exit_code, argv) in [(1, &["cd", "d"][..]), (127, &["nope"]), (127, &["env", "A=1"]), (127, &[])] {
            assert_eq!(line(exit_code, argv), None, "{argv:?}");
        }
    }

    #[test]
    fn a_shell_without_arguments_is_meant_to_be_interactive() {
        let is_shell = |argv: &[&str]| is_shell(&argv.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(is_shell(&["bash"]) && is_shell(&["/bin/sh"]));
        assert!(!is_shell(&["bash", "-c", "ls"]) && !is_shell(&["ls"]) && !is_shell(&[]));
    }

    #[test]
    fn an_option_after_a_command_line_is_refused() {
        let check =
            |argv: &[&str]| check_no_option_follows("@proj", &argv.iter().map(ToString::to_string).collect::<Vec<_>>());
        let Err(Failure::Reported(report)) = check(&["sleep 3", "--timeout", "1s"]) else { panic!() };
        assert_eq!(report.remediation, "Options precede the command: `snapshotter exec --timeout 1s @proj 'sleep 3'`.");
        for refused in [["sleep 3", "--json"], ["make check", "--env=CI=1"], ["ls -l", "-n"]] {
            assert!(check(&refused).is_err(), "{refused:?}");
        }
        for accepted in [&["sleep 3"][..], &["npm", "--json"], &["my program", "--verbose"], &["my program", "x"], &[]]
        {
            assert!(check(accepted).is_ok(), "{accepted:?}");
        }
    }

    #[test]
    fn an_empty_command_is_refused_with_what_to_pass() {
        let check = |command: &str| check_not_empty("@web", Some(&command.to_owned()));
        for empty in ["", "  ", "\n"] {
            let Err(Failure::Reported(report)) = check(empty) else { panic!() };
            assert_eq!((report.message.as_str(), report.exit), ("The command is empty.", Exit::Invalid));
            assert!(report.remediation.contains("`snapshotter exec @web ls -l`"), "{report:?}");
        }
        assert!(check("ls").is_ok() && check_not_empty("@web", None).is_ok());
    }

    /// Returns the input in the options, and the input that is a stream.
    fn split(command: &str, input: &[u8]) -> (Option<String>, Option<Vec<u8>>) {
        let request = ExecRequest::sandbox(SandboxId::parse("agent-42").unwrap(), command);
        let (request, stream) = with_input(request, input).unwrap();
        let stream = stream.map(|mut stream| {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        });
        (request.stdin, stream)
    }

    #[test]
    fn short_input_is_an_option_so_that_the_url_contains_no_options() {
        assert_eq!(split("true", b""), (None, None));
        assert_eq!(split("true", "größer\n".as_bytes()), (Some("größer\n".to_owned()), None));
    }

    #[test]
    fn input_that_does_not_fit_into_the_options_is_a_stream() {
        for (command, input) in [
            ("true", vec![b'x'; MAX_OPTIONS + 10]),
            ("true", b"\xff".to_vec()),
            (&"x".repeat(MAX_OPTIONS - 200), vec![b'x'; 300]),
            ("true", vec![b'\''; 30_000]),
            ("true", vec![0; 20_000]),
        ] {
            assert_eq!(split(command, &input), (None, Some(input)));
        }
    }
}
