//! Commands of callers that run in the container.
//!
//! The SDK decodes all output as UTF-8, so the script encodes that of the command: a byte is the character with its number.
//! Where the image has no perl, the output is lines of base64. The lines that begin with
//! [`LINE`] are of the script: the first one names the encoding.
//!
//! Only the processes of the command itself have its text in their arguments, so that `pkill -f` in a command ends neither
//! the script nor another command: see [`READ_SCRIPT`].

use base64ct::{Base64, Encoding};

use super::required_container::check_container;
use super::{COMPARE_MOUNTS, FILE_NAMES, READ_MARKER, dir_vars, shell_quote};
use crate::model::Directory;
use crate::model::exec_call::{CommandInput, ContainerCommand, MAX_COMMANDS, Program};
use crate::model::required_container::RequiredContainer;

/// Runs the script that file 19 contains, in a new process of bash whose arguments do not contain it. The script begins with
/// [`CLOSE_SCRIPT`]. Runs no file of `BASH_ENV`, which runs before the command itself.
pub(super) const READ_SCRIPT: &str = r#""$BASH" -p -c '. /dev/fd/19' sandbox-snapshotter"#;

/// Closes the file of the script, which bash has read to its end.
pub(super) const CLOSE_SCRIPT: &str = "exec 19<&-;";

/// Prints a script that runs `$@`.
pub(super) const PRINT_WORDS: &str = "printf 'exec 19<&-; exec --'; printf ' %q' \"$@\"";

/// The maximum length of a script that bash passes through a pipe, in bytes. A longer one would need a file.
const MAX_PIPED_BYTES: usize = 60_000;

/// The begin of the lines of the script. No encoded output contains the character.
pub(super) const LINE: char = '→';

/// The prefix of the files of commands: `<prefix>.<id>` contains the process id of the script that runs the command, and
/// `<prefix>-<slot>` is locked while a command runs.
const COMMANDS: &str = "/run/sandbox-snapshotter.command";

/// How often a command tries to acquire a slot, 20 times a second.
const MAX_TRIES: u32 = 200;

/// Encodes the standard input. While it waits for input, the file `$1` contains `idle`.
const PASS: &str = r#"pass() {
  if [ $our_encoding = bytes ]; then exec perl -e 'open F, ">", shift; while (1) {
    sysseek F, 0, 0; syswrite F, "idle\n"; $n = sysread STDIN, $b, 65536; sysseek F, 0, 0; syswrite F, "busy\n";
    last unless $n; utf8::encode $b;
    while (length $b) { $n = syswrite STDOUT, $b; last unless $n; substr($b, 0, $n) = ""; }
  }' "$1"; fi
  while echo idle >"$1"; our_part=$(dd bs=48k count=1 | base64 -w 0); echo busy >"$1"; [ -n "$our_part" ]; do
    printf '%s\n' "$our_part"
  done
}
"#;

/// Waits until the readers of the outputs have ended. Processes that the command leaves behind may never close an output:
/// then the readers end when they have waited for input for a while, which is longer where no such process is known.
///
/// It waits with `read` on a pipe without input, because a `sleep` is a program, whose start takes longer than most readers.
const AWAIT_READERS: &str = r#"our_patience=200 our_rounds=0 our_pause=0.002; if kill -0 -- "-$our_job"; then our_patience=50; fi
exec 7<> <(:)
while kill -0 "$our_out" || kill -0 "$our_err"; do
  our_idle=1; for our_reader in out err; do
    our_state=idle our_pid=our_$our_reader
    if kill -0 "${!our_pid}"; then read -r our_state <"$our_file.$our_reader"; fi
    [ "$our_state" = idle ] || our_idle=0
  done
  if [ $our_idle = 0 ]; then our_waited=0
  elif [ $((our_waited += 1)) -gt $our_patience ]; then kill "$our_out" "$our_err"; fi
  [ $((our_rounds += 1)) -le 10 ] || our_pause=0.01
  read -rt $our_pause -u 7; [ $? -gt 128 ] || sleep 0.01
done
"#;

/// Runs a command of a caller in the required container. Kills it at its time limit, and when the script gets SIGTERM from
/// [`kill_command`], with all processes of its group.
///
/// The locks end with the script, so that no lost answer leaves a slot in use. Variables have names that no command uses.
/// The command gets none of the script's files.
pub(in crate::cloudflare) fn run_command(required: &RequiredContainer, command: &ContainerCommand) -> String {
    let script = script_of(required, command);
    if script.len() > MAX_PIPED_BYTES {
        return script;
    }
    format!("exec {READ_SCRIPT} 19<<'our_end_{id}'\n{CLOSE_SCRIPT}{script}\nour_end_{id}\n", id = command.id)
}

fn script_of(required: &RequiredContainer, command: &ContainerCommand) -> String {
    let ContainerCommand { id, program, dir, cwd, env, stdin, timeout_seconds: limit } = command;
    format!(
        r#"exec 3>&1 4>&2 >/dev/null 2>&1; unset EXECIGNORE
our_encoding=base64; if type -P perl; then our_encoding=bytes; fi
for our_output in 3 4; do echo "{LINE}$our_encoding" >&$our_output; done
say() {{ echo "{LINE}$*" >&3; }}
refuse() {{ say "$@"; exit; }}
our_refusal=$({FILE_NAMES}{check}); [ -z "$our_refusal" ] || refuse "$our_refusal"
{shown}our_file={COMMANDS}.{id} our_waited=0
{input}set -C; echo $$ >"$our_file" || {{ rm -f "$our_file"; refuse cancelled; }}; set +C
trap 'rm -f "$our_file" "$our_file.out" "$our_file.err"' EXIT; trap 'refuse cancelled' TERM
acquire() {{
  for ((our_slot = 0; our_slot < {MAX_COMMANDS}; our_slot += 1)); do exec 8>"{COMMANDS}-$our_slot" && flock -n 8 && return; done
  return 1
}}
our_tries=0; until acquire; do [ $((our_tries += 1)) -le {MAX_TRIES} ] || refuse busy; sleep 0.05; done
{enter} || refuse directory
{PASS}exec 5> >(exec >&3 3>&- 4>&- 8>&- 9<&-; pass "$our_file.out"); our_out=$!
exec 6> >(exec >&4 3>&- 4>&- 5>&- 8>&- 9<&-; pass "$our_file.err"); our_err=$!
say started
set -m
read -r our_begin _ </proc/uptime
set -- {words}
{report}exec 19< <(exec 3>&- 4>&- 5>&- 6>&- 8>&- 9<&-; {PRINT_WORDS})
timeout -k 5 {limit} {READ_SCRIPT} <&9 >&5 2>&6 3>&- 4>&- 5>&- 6>&- 8>&- 9<&- & our_job=$!
trap 'kill -KILL -- "-$our_job"; kill "$our_out" "$our_err"; exit' TERM
exec 5>&- 6>&- 9<&- 19<&-
wait "$our_job"; our_code=$?
read -r our_end _ </proc/uptime; our_over=0
case $our_code in 124 | 137 | 143)
  if [ $((10#${{our_end/./}} - 10#${{our_begin/./}})) -ge $(({limit} * 100 - 2)) ]; then
    our_code=124 our_over=1; kill -KILL -- "-$our_job"
  fi
esac
{AWAIT_READERS}say exit $our_code $our_over"#,
        check = check_container(required),
        shown = cwd.as_deref().filter(|cwd| cwd.starts_with('/')).map_or_else(|| check_shown(dir), |_| String::new()),
        enter = enter(dir, cwd.as_deref().unwrap_or(".")),
        input = open_input(stdin),
        words = words(program, env.iter()),
        report = report_missing(program, env.contains_key("PATH")),
    )
}

/// Returns the commands that refuse to run where the directory does not show its files. A command with an absolute working directory
/// runs, because it may unmount what hides them.
fn check_shown(dir: &Directory) -> String {
    format!(
        "if ({FILE_NAMES}{READ_MARKER}{}\n{COMPARE_MOUNTS}has_other_mounts); then refuse hidden; fi\n",
        dir_vars(dir)
    )
}

/// Returns the commands that change to the working directory, which can be relative to `dir`.
fn enter(dir: &Directory, cwd: &str) -> String {
    let cwd_in = if cwd.starts_with('/') { String::new() } else { format!("cd -- {} && ", shell_quote(dir.as_str())) };
    format!("{cwd_in}cd -- {}", shell_quote(cwd))
}

/// Returns the words of a command, quoted.
fn words<'a>(program: &Program, env: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    program_words(program, env).iter().map(|word| shell_quote(word)).collect::<Vec<_>>().join(" ")
}

/// Returns the words of a command.
pub(super) fn program_words<'a>(program: &Program, env: impl Iterator<Item = (&'a String, &'a String)>) -> Vec<String> {
    let mut words: Vec<String> = env.map(|(name, value)| format!("{name}={value}")).collect();
    if !words.is_empty() {
        words.insert(0, "env".to_owned());
    }
    match program {
        Program::Shell(line) => words.extend(["bash", "-c", "--", line].map(str::to_owned)),
        Program::Argv(argv) => words.extend(argv.iter().cloned()),
    }
    words
}

/// Returns the commands that replace the words of a program that no directory of PATH has, which are the arguments of the script:
/// `timeout` would report itself. They are none for a path, and where the command sets PATH.
pub(super) fn report_missing(program: &Program, sets_path: bool) -> String {
    let Program::Argv(argv) = program else { return String::new() };
    let name = argv.first().filter(|name| !sets_path && !name.is_empty() && !name.contains('/'));
    name.map_or_else(String::new, |name| {
        let name = shell_quote(name);
        format!(
            r#"type -P -- {name} >/dev/null || set -- bash -c -- 'echo "$0: command not found" >&2; exit 127' {name}
"#
        )
    })
}

/// Returns the commands that open the standard input as file 9.
fn open_input(input: &CommandInput) -> String {
    match input {
        CommandInput::Text(text) if text.is_empty() => "exec 9</dev/null\n".to_owned(),
        CommandInput::Text(text) => {
            let text = Base64::encode_string(text.as_bytes());
            format!("exec 9< <(exec 3>&- 4>&- 8>&-; base64 -d <<<{text})\n")
        }
        CommandInput::File(path) => {
            let path = shell_quote(path);
            format!("exec 9<{path} || refuse other; rm -f -- {path}\n")
        }
    }
}

/// Kills a command of a caller, or prevents that it starts. Prints `done`.
pub(in crate::cloudflare) fn kill_command(id: &str) -> String {
    format!(
        r#"file={COMMANDS}.{id}
if ! (set -C; echo cancelled >"$file") 2>/dev/null; then read -r pid <"$file" && kill -TERM "$pid"; fi
echo "done""#
    )
}

/// Sets `$found` where a command of a caller runs.
pub(super) const DETECT_COMMAND: &str = r#"for slot in "$run".command-*; do
  if [ -e "$slot" ] && ! flock -n "$slot" true; then found=$slot; fi
done
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn command(program: Program) -> ContainerCommand {
        ContainerCommand {
            id: "c1".into(),
            program,
            dir: Directory::parse("/workspace/it's").unwrap(),
            cwd: None,
            env: [("A".to_owned(), "it's $(x)".to_owned())].into(),
            stdin: CommandInput::Text(String::new()),
            timeout_seconds: 7,
        }
    }

    #[test]
    fn script_quotes_each_argument_as_one_word() {
        let script = run_command(&RequiredContainer::Ready, &command(Program::Shell("echo 'it'\n$x".into())));
        let quoted = r"set -- 'env' 'A=it'\''s $(x)' 'bash' '-c' '--' 'echo '\''it'\''";
        assert!(script.contains(&format!("{quoted}\n$x'\nexec 19<")), "{script}");
        assert!(script.contains(r"cd -- '/workspace/it'\''s' && cd -- '.' || refuse directory"), "{script}");
        let argv = Program::Argv(vec!["a b".into(), "-n".into()]);
        assert!(
            run_command(&RequiredContainer::Ready, &command(argv))
                .contains("set -- 'env' 'A=it'\\''s $(x)' 'a b' '-n'\n")
        );
    }

    #[test]
    fn missing_program_is_reported_by_its_name() {
        let run = |argv: &[&str], sets_path: bool| {
            let program = Program::Argv(argv.iter().map(ToString::to_string).collect());
            let words = words(&program, std::iter::empty());
            let script = format!("set -- {words}\n{}timeout -k 5 7 \"$@\"", report_missing(&program, sets_path));
            let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
            (
                output.status.code(),
                String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
            )
        };
        assert_eq!(
            run(&["no such 'program'", "x"], false),
            (Some(127), "no such 'program': command not found\n".to_owned())
        );
        assert_eq!(run(&["printf", "%s|", "a b", "-n"], false), (Some(0), "a b|-n|".to_owned()));
        for (argv, sets_path) in [(&["no-such-program"], true), (&["./no-such-program"], false)] {
            assert_eq!(run(argv, sets_path).0, Some(127));
        }
    }

    #[test]
    fn container_is_checked_before_anything_is_written() {
        let script = |container| run_command(&container, &command(Program::Argv(vec!["true".into()])));
        let written = "set -C; echo $$ >\"$our_file\"";
        for (container, check) in [
            (RequiredContainer::Ready, "[[ $now == 'ready '* ]] || echo other\n"),
            (RequiredContainer::Marked("n".into()), "[ \"$now\" = 'ready n' ] || echo other\n"),
            (RequiredContainer::OlderThan { millis: 1234 }, "[ \"$age\" -ge 123 ] || echo young \"$age\"\n"),
        ] {
            let script = script(container);
            assert!(script.find(check).unwrap() < script.find(written).unwrap(), "{script}");
        }
    }
}
