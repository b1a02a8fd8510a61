//! Real processes: those of hooks, and the end of an idle container.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::{Directory, SandboxId, Status};
use sandbox_snapshotter::ports::{Clock, Sandboxes};

use crate::real::Real;
use crate::suite::Case;
use crate::suite::container::hook;
use crate::suite::markers::put_first_marker;
use crate::suite::sandboxes::status_of;
use crate::suite::world::{World, work_dir};

pub fn cases() -> Vec<Case<Real>> {
    vec![
        case!(async run_hook_returns_both_streams_in_order),
        case!(async run_hook_runs_the_command_in_its_directory_with_empty_stdin),
        case!(async run_hook_fails_in_a_missing_directory),
        case!(async run_hook_passes_the_environment_without_variables_of_the_script),
        case!(async run_hook_quotes_the_command),
        case!(async run_hook_does_nothing_in_another_container),
        case!(async run_hook_kills_the_command_after_its_time_limit),
        case!(async run_hook_kills_a_command_that_ignores_sigterm),
        case!(async run_hook_kills_the_child_processes_of_a_killed_command),
        case!(async run_hook_returns_output_up_to_the_limit_completely),
        case!(async run_hook_returns_both_ends_of_long_output),
        case!(async run_hook_returns_output_of_any_bytes),
        case!(async run_hook_does_not_wait_for_a_background_process_and_does_not_break_it),
        case!(async run_hook_removes_its_files),
        case!(async run_hook_runs_two_hooks_concurrently),
        case!(async set_idle_timeout_ends_an_idle_container),
    ]
}

async fn run_hook_returns_both_streams_in_order(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let run = sandbox.run_command("echo one; echo two >&2; printf 'three\n\n'; exit 3").await;
    assert_eq!((run.ok, run.exit_code, run.timed_out), (false, Some(3), false));
    assert_eq!((run.hook.as_str(), run.output.as_str()), ("afterStart", "one\ntwo\nthree\n\n"));
    assert_eq!(sandbox.run_command("true").await.output, "");
    assert_eq!(sandbox.run_command("kill -9 $$").await.exit_code, Some(137), "run_hook did not kill it");
}

async fn run_hook_runs_the_command_in_its_directory_with_empty_stdin(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let path = "/workspace/it's \"here\" $x";
    real.write_file(&sandbox.id, "/workspace/make", "").await;
    assert!(sandbox.run_command(r#"mkdir "it's \"here\" \$x""#).await.ok);
    let dir = Directory::parse(path).unwrap();
    let result = real
        .sandboxes()
        .run_hook(&sandbox.id, &sandbox.marker, &dir, "x", &hook("pwd; cat; echo end", 5), &BTreeMap::new())
        .await;
    assert_eq!(result.unwrap().unwrap().output, format!("{path}\nend\n"));
}

async fn run_hook_fails_in_a_missing_directory(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let dir = Directory::parse("/workspace/none").unwrap();
    let result =
        real.sandboxes().run_hook(&sandbox.id, &sandbox.marker, &dir, "x", &hook("echo no", 5), &BTreeMap::new()).await;
    let run = result.unwrap().unwrap();
    assert!(!run.ok && run.output.contains("/workspace/none: No such file"), "{run:?}");
}

async fn run_hook_passes_the_environment_without_variables_of_the_script(real: &Real) {
    let id = real.sandbox("agent");
    let env =
        [("TOKEN", "it's \"secret\"\n$x 🗂"), ("EMPTY", ""), ("t", "1"), ("now", "2"), ("marker", "3"), ("run", "4")]
            .map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
    real.sandboxes().set_env(&id, &BTreeMap::from(env.clone())).await.unwrap();
    let sandbox = Sandbox { real, marker: put_first_marker(real, &id).await, id };
    for (name, value) in &env {
        let run = sandbox.run_command(&format!("printf %s \"${{{name}-unset}}\"")).await;
        assert_eq!(Some(&run.output), value.as_ref(), "{name}");
    }
    let more = BTreeMap::from([("now".to_owned(), Some("later".to_owned()))]);
    real.sandboxes().set_env(&sandbox.id, &more).await.unwrap();
    assert_eq!(sandbox.run_command("echo $now $run $SANDBOX_VERSION").await.output, "later 4 0.12.10\n");
    assert_eq!(sandbox.run_command("env | grep -c ^our_").await.output, "0\n");
}

async fn run_hook_quotes_the_command(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let command =
        "a='it'\\''s'; b=\"$(printf '%s' \"$a\")\"\n# 'a comment\ncat <<'END'\n$b \\ `x` 文件 🗂\nEND\necho \"$b\"";
    assert_eq!(sandbox.run_command(command).await.output, "$b \\ `x` 文件 🗂\nit's\n");
    let broken = sandbox.run_command("if (").await;
    assert!(!broken.ok && broken.output.contains("yntax error"), "{broken:?}");
}

async fn run_hook_does_nothing_in_another_container(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let other = ContainerMarker::Ready("another".into());
    let result = real
        .sandboxes()
        .run_hook(&sandbox.id, &other, &work_dir(), "x", &hook("touch done", 5), &BTreeMap::new())
        .await;
    assert_eq!(result, Ok(None));
    assert_eq!(real.read_file(&sandbox.id, "/workspace/done").await, None);
}

async fn run_hook_kills_the_command_after_its_time_limit(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let run = sandbox.run_with_limit(1, "echo begun; sleep 1000; echo never").await;
    assert_eq!((run.ok, run.exit_code, run.timed_out, run.output.as_str()), (false, None, true, "begun\n"));
    for code in [124, 137, 143] {
        let run = sandbox.run_command(&format!("exit {code}")).await;
        assert_eq!((run.exit_code, run.timed_out), (Some(code), false), "it is the exit code of the command");
    }
}

async fn run_hook_kills_a_command_that_ignores_sigterm(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let run = sandbox.run_with_limit(1, "trap '' TERM; echo begun; sleep 1000; sleep 1000").await;
    assert_eq!((run.ok, run.exit_code, run.timed_out, run.output.as_str()), (false, None, true, "begun\n"));
}

async fn run_hook_kills_the_child_processes_of_a_killed_command(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let run = sandbox.run_with_limit(1, "(trap '' TERM; echo $$; exec sleep 1000) & echo $! >child; sleep 1000").await;
    assert!(run.timed_out, "{run:?}");
    assert_eq!(sandbox.run_command("kill -0 $(cat child) 2>/dev/null && echo running").await.output, "");
}

async fn run_hook_returns_output_up_to_the_limit_completely(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    for length in [2047, 2048, 2049, 4096] {
        let run = sandbox.run_command(&format!("head -c {length} /dev/zero | tr '\\0' x")).await;
        assert_eq!(run.output, "x".repeat(length));
    }
    let (x, run) = ("x".repeat(2048), sandbox.run_command("head -c 4097 /dev/zero | tr '\\0' x").await);
    assert_eq!(run.output, format!("{x}\n…\n{x}"));
}

async fn run_hook_returns_both_ends_of_long_output(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let run = sandbox.run_command("echo begin; seq 1 3000000; echo end >&2; exit 4").await;
    assert_eq!((run.exit_code, run.output.len()), (Some(4), 2048 + "\n…\n".len() + 2048));
    assert!(run.output.starts_with("begin\n1\n2\n"), "{}", run.output);
    assert!(run.output.ends_with("2999999\n3000000\nend\n"), "{}", run.output);
}

async fn run_hook_returns_output_of_any_bytes(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let run = sandbox.run_command(r"printf 'a\0b\377c\r\n\303'; printf '文件'").await;
    assert_eq!(run.output, "a\0b\u{fffd}c\r\n\u{fffd}文件");
    let run = sandbox.run_command("head -c 100000 /dev/urandom").await;
    assert!(run.ok && run.output.contains("\n…\n"), "{run:?}");
}

async fn run_hook_does_not_wait_for_a_background_process_and_does_not_break_it(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let server = "until [ -e go ]; do sleep 0.02; done; seq 1 100000; seq 1 100000 >&2; echo $? >outcome";
    for (number, start) in [format!("({server}) &"), format!("setsid sh -c '{server}' &")].into_iter().enumerate() {
        let before = real.clock().now();
        let run = sandbox.run_command(&format!("rm -f go outcome; seq 1 3000; {start} echo last")).await;
        assert!(run.ok && run.output.starts_with("1\n2\n") && run.output.ends_with("\nlast\n"), "{run:?}");
        assert!(real.clock().now().millis_since(before) < 10_000, "the hook waited for process {number}");
        real.write_file(&sandbox.id, "/workspace/go", "").await;
        let outcome = eventually(real, async || {
            real.read_file(&sandbox.id, "/workspace/outcome").await.filter(|outcome| !outcome.is_empty())
        });
        assert_eq!(outcome.await, "0\n", "process {number} was broken");
    }
}

async fn run_hook_removes_its_files(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    let list = "ls -A /run | grep sandbox-snapshotter | grep -v hook";
    let before = sandbox.run_command(list).await.output;
    sandbox.run_command("seq 1 100000").await;
    sandbox.run_command("sleep 1000 & true").await;
    sandbox.run_with_limit(1, "sleep 1000").await;
    let hooks = sandbox.run_command("ls -A /run | grep -c sandbox-snapshotter.hook; ls -A /workspace").await;
    assert_eq!(hooks.output, "0\n", "the files of the hook have no names");
    assert_eq!(sandbox.run_command(list).await.output, before);
}

async fn run_hook_runs_two_hooks_concurrently(real: &Real) {
    let sandbox = Sandbox::start(real).await;
    sandbox.run_command("mkfifo there back").await;
    let (one, other) =
        join(sandbox.run_command("echo one >there; cat back"), sandbox.run_command("cat there; echo two >back")).await;
    assert_eq!((one.output.as_str(), other.output.as_str()), ("two\n", "one\n"), "each waits for the other");
}

async fn set_idle_timeout_ends_an_idle_container(real: &Real) {
    let id = real.sandbox("agent");
    real.sandboxes().set_idle_timeout(&id, None).await.unwrap();
    real.write_file(&id, "/workspace/file", "content").await;
    real.sandboxes().set_idle_timeout(&id, Some(1)).await.unwrap();
    eventually(real, async || (status_of(real, &id).await.status == Status::Down).then_some(())).await;
}

/// A sandbox whose container has a marker.
struct Sandbox<'a> {
    real: &'a Real,
    id: SandboxId,
    marker: ContainerMarker,
}

impl<'a> Sandbox<'a> {
    async fn start(real: &'a Real) -> Self {
        let id = real.sandbox("agent");
        Self { real, marker: put_first_marker(real, &id).await, id }
    }

    async fn run_command(&self, command: &str) -> HookRun {
        self.run_with_limit(60, command).await
    }

    async fn run_with_limit(&self, seconds: u32, command: &str) -> HookRun {
        let hook = hook(command, seconds);
        let result = self
            .real
            .sandboxes()
            .run_hook(&self.id, &self.marker, &work_dir(), "afterStart", &hook, &BTreeMap::new())
            .await;
        result.unwrap().unwrap()
    }
}

/// Waits until a check returns a value. The runner limits the time.
async fn eventually<T>(real: &Real, check: impl AsyncFn() -> Option<T>) -> T {
    loop {
        if let Some(found) = check().await {
            return found;
        }
        real.clock().sleep(Duration::from_millis(20)).await;
    }
}
