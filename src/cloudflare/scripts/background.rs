//! Background commands.
//!
//! A supervisor in a session of its own runs each one, so that it needs no connection. It keeps its record in a directory
//! `<id>` under [`COMMANDS`], which no snapshot contains:
//!
//! | file             | content                                                                                         |
//! | ---------------- | ----------------------------------------------------------------------------------------------- |
//! | `lock`           | locked while the supervisor runs, so that no process id is used after its process               |
//! | `text`           | the command line, in Base64                                                                     |
//! | `started`        | when the command started, and its session                                                       |
//! | `stdout`, `stderr` | the outputs; beside one whose end is left out is an empty file `<output>.truncated`           |
//! | `killed`         | exists if the command was asked to end, or exceeded its time limit                              |
//! | `ended`          | the exit code, whether the time limit was exceeded, and when it ended                           |
//!
//! A locked file `<run>.command-background-<slot>` limits their number, and shows the idle check that one runs.

use base64ct::{Base64, Encoding};

use super::exec::{CLOSE_SCRIPT, PRINT_WORDS, READ_SCRIPT, program_words, report_missing};
use super::{FILE_NAMES, shell_quote};
use crate::cloudflare::prelude::PRELUDE;
use crate::model::background::{CommandId, Signal};
use crate::model::background_call::{
    BackgroundAction, BackgroundCall, BackgroundStart, MAX_BACKGROUND, MAX_ENDED, OutputPart,
};
use crate::model::exec_call::{CommandInput, ContainerCommand, Program};

/// The time limit of a call, in seconds, without the time that it may wait.
const TIMEOUT_SECONDS: u32 = 60;

/// The directory of the records.
const COMMANDS: &str = "/run/sandbox-snapshotter.background";

/// The maximum length of an output that is kept, in KiB.
const MAX_OUTPUT_KIB: u32 = 16 * 1024;

/// The maximum length of the text of a command, in characters.
const MAX_TEXT_CHARS: usize = 1_000;

/// Defines functions about the command whose record is in `$our_own`. Variables have names that no command uses.
const FUNCTIONS: &str = r#"no() { printf '%s\n' "$*"; exit; }
runs() { ! flock -n "$our_own/lock" true; }
describe() {
  read -r our_begin our_session <"$our_own/started" || return
  if [ ! -e "$our_own/ended" ] && ! runs && [ ! -e "$our_own/ended" ]; then : >"$our_own/killed"; echo '- 0 -' >"$our_own/ended"; fi
  our_state=running our_code=- our_over=0 our_end=- our_cut=0
  if [ -e "$our_own/ended" ]; then
    read -r our_code our_over our_end <"$our_own/ended"; our_state=exited; if [ -e "$our_own/killed" ]; then our_state=killed; fi
  fi
  if [ -e "$our_own/stdout.truncated" ] || [ -e "$our_own/stderr.truncated" ]; then our_cut=1; fi
  read -r our_text <"$our_own/text"
  set -- $(stat -c %s "$our_own/stdout" "$our_own/stderr")
  echo "command ${our_own##*/} $our_state $our_code $our_over $our_begin $our_end $1 $2 $our_cut $our_text"
}
"#;

/// Defines `signal`, which sends a signal to the processes of the session `$our_session`, and sets `$our_found` if there is
/// one. The leader is `timeout`, which passes most signals on: it gets none but KILL.
const SIGNAL_SESSION: &str = r#"signal() {
  our_found=; for our_stat in /proc/[0-9]*/stat; do
    our_line=; read -r -d "" our_line <"$our_stat"; our_fields=(${our_line##*) })
    our_process=${our_stat%/stat} our_process=${our_process#/proc/}
    if [ "${our_fields[3]}" = "$our_session" ] && [ "${our_fields[0]}" != Z ]; then
      if [ "$our_process" != "$our_session" ] || [ "$1" = KILL ]; then kill -"$1" "$our_process"; our_found=1; fi
    fi
  done 2>/dev/null
}
"#;

/// Returns the script that runs the command `$3…` with the time limit `$2` and the record `$1`. A file has at most the length
/// of `ulimit`; the program that writes it then ends by a signal.
fn supervise() -> String {
    format!(
        r#"{PRELUDE}our_most={MAX_OUTPUT_KIB}
{SIGNAL_SESSION}our_own=$1 our_limit=$2; shift 2
exec 9>"$our_own/lock"; flock 9
now() {{ our_now=${{EPOCHREALTIME/[.,]/}}; our_now=${{our_now%???}}; }}
keep() {{
  (ulimit -c 0; ulimit -f "$our_most"; exec cat >>"$1") && exit
  : >"$1.truncated"; exec cat >/dev/null
}}
exec 7<"$our_own/stdin"; rm -f "$our_own/stdin"
exec 5> >(exec 7<&- 8>&- 9>&-; keep "$our_own/stdout"); our_out=$!
exec 6> >(exec 5>&- 7<&- 8>&- 9>&-; keep "$our_own/stderr"); our_err=$!
exec 19< <(exec 5>&- 6>&- 7<&- 8>&- 9>&-; {PRINT_WORDS})
now; our_begin=$our_now
setsid timeout -k 5 "$our_limit" {READ_SCRIPT} <&7 >&5 2>&6 5>&- 6>&- 7<&- 8>&- 9>&- & our_session=$!
echo "$our_begin $our_session" >"$our_own/started.new"; mv -f "$our_own/started.new" "$our_own/started"
exec 5>&- 6>&- 7<&- 19<&-
wait "$our_session"; our_code=$?; now; our_over=0
case $our_code in 124 | 137 | 143)
  if [ $((our_now - our_begin)) -ge $((our_limit * 1000 - 20)) ]; then our_code=124 our_over=1; : >"$our_own/killed"; signal KILL; fi
esac
our_tries=0; while {{ kill -0 "$our_out" || kill -0 "$our_err"; }} && [ $((our_tries += 1)) -le 100 ]; do sleep 0.02; done
echo "$our_code $our_over $our_now" >"$our_own/ended.new"; mv -f "$our_own/ended.new" "$our_own/ended"
"#
    )
}

/// Reads the arguments of [`start`]: the supervisor, the id, the time limit, the text, and then the words of the command.
const ARGUMENTS: &str = r"our_supervisor=$1 our_own=$our_all/$2 our_limit=$3 our_text=$4; shift 4
";

/// Returns the commands that start the supervisor of the command `$@` in the present directory, and delete the records of the
/// oldest commands that ended.
fn start() -> String {
    format!(
        r#"mkdir -p -m 700 "$our_all"
acquire() {{
  for ((our_slot = 0; our_slot < our_most_running; our_slot += 1)); do
    exec 8>"$run.command-background-$our_slot" && flock -n 8 && return
  done
  return 1
}}
acquire || no busy
our_count=0; for our_old in $(ls -t -d "$our_all"/*/ended 2>/dev/null); do
  if [ $((our_count += 1)) -gt "$our_most_ended" ]; then rm -rf "${{our_old%/ended}}"; fi
done
our_error=$({{ mkdir "$our_own" && cat >"$our_own/stdin" && : >"$our_own/stdout" && : >"$our_own/stderr" &&
  echo "$our_text" >"$our_own/text"; }} 2>&1) || no "failed $our_error"
exec 19< <(exec 8>&-; printf '{CLOSE_SCRIPT} set --'; printf ' %q' "$our_own" "$our_limit" "$@"; printf '\n%s' "$our_supervisor")
setsid {READ_SCRIPT} </dev/null >/dev/null 2>&1 &
exec 19<&-
our_tries=0; until [ -e "$our_own/started" ]; do
  [ $((our_tries += 1)) -le 1000 ] || no "failed the supervisor does not start"; sleep 0.01
done
describe
"#
    )
}

/// Returns the command of a call.
pub(in crate::cloudflare) fn background_command(call: &BackgroundCall) -> ContainerCommand {
    let names = format!("{PRELUDE}{FILE_NAMES}our_all={COMMANDS}\n{FUNCTIONS}");
    let (program, cwd, stdin) = match &call.action {
        BackgroundAction::Start(own) => {
            let limits = format!("our_most_running={MAX_BACKGROUND} our_most_ended={MAX_ENDED}");
            let report = report_missing(&own.program, own.env.contains_key("PATH"));
            let script = format!("{names}{limits}\n{ARGUMENTS}{report}{start}", start = start());
            (Program::Argv(start_words(&script, &call.id, own)), own.cwd.clone(), own.stdin.clone())
        }
        BackgroundAction::List => (Program::Shell(names + LIST), Some("/".to_owned()), String::new()),
        BackgroundAction::Read(part) => (Program::Shell(names + &read(part)), Some("/".to_owned()), String::new()),
        BackgroundAction::End { command_id, signal, grace_seconds } => {
            let script = names + SIGNAL_SESSION + &end(command_id, *signal, *grace_seconds);
            (Program::Shell(script), Some("/".to_owned()), String::new())
        }
    };
    ContainerCommand {
        id: call.id.as_str().to_owned(),
        program,
        dir: call.dir.clone(),
        cwd,
        env: std::collections::BTreeMap::new(),
        stdin: CommandInput::Text(stdin),
        timeout_seconds: TIMEOUT_SECONDS.saturating_add(call.wait_seconds()),
    }
}

/// Returns the words that start a command. Only the command itself gets its variables.
fn start_words(script: &str, id: &CommandId, start: &BackgroundStart) -> Vec<String> {
    let supervisor = supervise();
    let text = Base64::encode_string(text(&start.program).as_bytes());
    let words = ["bash", "-c", "--", script, "start", &supervisor, id.as_str()].map(str::to_owned);
    let limit = start.timeout_seconds.to_string();
    words.into_iter().chain([limit, text]).chain(program_words(&start.program, start.env.iter())).collect()
}

/// Returns the text of a command for people. A word that the shell would read otherwise is quoted.
fn text(program: &Program) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"@%+=:,./_-".contains(&byte);
    let quote = |word: &String| {
        if !word.is_empty() && word.bytes().all(is_plain) { word.clone() } else { shell_quote(word) }
    };
    let text = match program {
        Program::Shell(line) => line.clone(),
        Program::Argv(words) => words.iter().map(quote).collect::<Vec<_>>().join(" "),
    };
    match text.char_indices().nth(MAX_TEXT_CHARS - 1) {
        Some((end, _)) if text.chars().count() > MAX_TEXT_CHARS => {
            format!("{}…", text.get(..end).unwrap_or_default())
        }
        _ => text,
    }
}

/// Prints a line for each command.
const LIST: &str = r#"for our_own in "$our_all"/*; do if [ -e "$our_own/started" ]; then describe; fi; done; echo "done"
"#;

/// Returns the commands that select a command, and refuse the call if it does not exist.
fn select(id: &CommandId) -> String {
    format!("our_own=$our_all/{id}; [ -e \"$our_own/started\" ] || no missing\n")
}

/// Prints a line about the command, and then the part of its output.
fn read(part: &OutputPart) -> String {
    let OutputPart { command_id, stream, offset, length, wait_seconds } = part;
    format!(
        r#"{select}our_file=$our_own/{stream}; our_tries=0
while [ $((our_tries += 1)) -le {tries} ] && [ "$(stat -c %s "$our_file")" -le {offset} ] && runs; do sleep 0.1; done
describe; tail -c +{first} "$our_file" | head -c {length}
"#,
        select = select(command_id),
        stream = stream.name(),
        tries = wait_seconds.saturating_mul(10),
        first = offset.saturating_add(1),
    )
}

/// Sends the signal to the session of a running command until a process got it, and kills what still runs after the time.
fn end(id: &CommandId, signal: Signal, grace_seconds: u32) -> String {
    let grace = if signal == Signal::Kill { 0 } else { grace_seconds.saturating_mul(10) };
    format!(
        r#"{select}if runs; then
  read -r our_begin our_session <"$our_own/started"; : >"$our_own/killed"; our_tries=0 our_sent=
  while :; do
    if [ $our_tries -ge {grace} ]; then signal KILL
    elif [ -z "$our_sent" ]; then signal {signal}; our_sent=$our_found
    else signal 0; fi
    if [ -z "$our_found" ] && ! runs || [ $((our_tries += 1)) -gt $(({grace} + 100)) ]; then break; fi
    sleep 0.1
  done
fi
describe
"#,
        select = select(id),
        signal = signal.name(),
    )
}

#[cfg(test)]
mod tests;
