//! What holds for real processes alone: those of hooks, and those that are left when a container goes to sleep.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join;
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::{Directory, SandboxId, Status};
use sandbox_snapshotter::ports::{Clock, Sandboxes};

use crate::real::Real;
use crate::suite::Case;
use crate::suite::container::{hook, put_first_marker};
use crate::suite::sandboxes::state;
use crate::suite::world::{World, work_dir};

pub fn cases() -> Vec<Case<Real>> {
    vec![
        case!(async both_streams_of_a_hook_are_kept_in_their_order),
        case!(async a_hook_runs_in_its_directory_with_nothing_to_read),
        case!(async a_hook_whose_directory_is_missing_fails),
        case!(async a_hook_sees_the_variables_that_were_set_and_none_of_ours),
        case!(async a_command_is_one_text_whatever_is_in_it),
        case!(async a_hook_of_another_container_does_nothing),
        case!(async a_hook_is_killed_when_its_time_is_over),
        case!(async a_hook_that_ignores_its_end_is_killed_all_the_same),
        case!(async whatever_a_killed_hook_has_started_is_killed_too),
        case!(async output_of_the_longest_length_is_kept_whole),
        case!(async of_much_output_both_ends_are_kept),
        case!(async output_may_hold_any_bytes),
        case!(async a_process_that_is_left_behind_holds_nothing_up_and_lives_on),
        case!(async hooks_leave_no_files_behind),
        case!(async two_hooks_run_at_once),
        case!(async a_container_that_may_be_idle_for_a_second_goes_to_sleep),
    ]
}

async fn both_streams_of_a_hook_are_kept_in_their_order(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let run = sandbox.runs("echo one; echo two >&2; printf 'three\n\n'; exit 3").await;
    assert_eq!((run.ok, run.exit_code, run.timed_out), (false, Some(3), false));
    assert_eq!((run.hook.as_str(), run.output.as_str()), ("afterStart", "one\ntwo\nthree\n\n"));
    assert_eq!(sandbox.runs("true").await.output, "");
    assert_eq!(sandbox.runs("kill -9 $$").await.exit_code, Some(137), "nobody else killed it");
}

async fn a_hook_runs_in_its_directory_with_nothing_to_read(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let path = "/workspace/it's \"here\" $x";
    real.write_file(&sandbox.id, "/workspace/make", "").await;
    assert!(sandbox.runs(r#"mkdir "it's \"here\" \$x""#).await.ok);
    let dir = Directory::parse(path).unwrap();
    let ran = real
        .sandboxes()
        .run_hook(&sandbox.id, &sandbox.stamp, &dir, "x", &hook("pwd; cat; echo end", 5), &BTreeMap::new())
        .await;
    assert_eq!(ran.unwrap().unwrap().output, format!("{path}\nend\n"));
}

async fn a_hook_whose_directory_is_missing_fails(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let dir = Directory::parse("/workspace/none").unwrap();
    let ran =
        real.sandboxes().run_hook(&sandbox.id, &sandbox.stamp, &dir, "x", &hook("echo no", 5), &BTreeMap::new()).await;
    let run = ran.unwrap().unwrap();
    assert!(!run.ok && run.output.contains("/workspace/none: No such file"), "{run:?}");
}

async fn a_hook_sees_the_variables_that_were_set_and_none_of_ours(real: &Real) {
    let id = real.sandbox("agent");
    let env =
        [("TOKEN", "it's \"secret\"\n$x 🗂"), ("EMPTY", ""), ("t", "1"), ("now", "2"), ("stamp", "3"), ("run", "4")]
            .map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
    real.sandboxes().set_env(&id, &BTreeMap::from(env.clone())).await.unwrap();
    let sandbox = Sandbox { real, stamp: put_first_marker(real, &id).await, id };
    for (name, value) in &env {
        let run = sandbox.runs(&format!("printf %s \"${{{name}-unset}}\"")).await;
        assert_eq!(Some(&run.output), value.as_ref(), "{name}");
    }
    let more = BTreeMap::from([("now".to_owned(), Some("later".to_owned()))]);
    real.sandboxes().set_env(&sandbox.id, &more).await.unwrap();
    assert_eq!(sandbox.runs("echo $now $run $SANDBOX_VERSION").await.output, "later 4 0.12.10\n");
    assert_eq!(sandbox.runs("env | grep -c ^our_").await.output, "0\n");
}

async fn a_command_is_one_text_whatever_is_in_it(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let command =
        "a='it'\\''s'; b=\"$(printf '%s' \"$a\")\"\n# 'a comment\ncat <<'END'\n$b \\ `x` 文件 🗂\nEND\necho \"$b\"";
    assert_eq!(sandbox.runs(command).await.output, "$b \\ `x` 文件 🗂\nit's\n");
    let broken = sandbox.runs("if (").await;
    assert!(!broken.ok && broken.output.contains("yntax error"), "{broken:?}");
}

async fn a_hook_of_another_container_does_nothing(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let other = ContainerMarker::Ready("another".into());
    let ran = real
        .sandboxes()
        .run_hook(&sandbox.id, &other, &work_dir(), "x", &hook("touch done", 5), &BTreeMap::new())
        .await;
    assert_eq!(ran, Ok(None));
    assert_eq!(real.read_file(&sandbox.id, "/workspace/done").await, None);
}

async fn a_hook_is_killed_when_its_time_is_over(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let run = sandbox.runs_for(1, "echo begun; sleep 1000; echo never").await;
    assert_eq!((run.ok, run.exit_code, run.timed_out, run.output.as_str()), (false, None, true, "begun\n"));
    for code in [124, 137, 143] {
        let run = sandbox.runs(&format!("exit {code}")).await;
        assert_eq!((run.exit_code, run.timed_out), (Some(code), false), "that is its own");
    }
}

async fn a_hook_that_ignores_its_end_is_killed_all_the_same(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let run = sandbox.runs_for(1, "trap '' TERM; echo begun; sleep 1000; sleep 1000").await;
    assert_eq!((run.ok, run.exit_code, run.timed_out, run.output.as_str()), (false, None, true, "begun\n"));
}

async fn whatever_a_killed_hook_has_started_is_killed_too(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let run = sandbox.runs_for(1, "(trap '' TERM; echo $$; exec sleep 1000) & echo $! >child; sleep 1000").await;
    assert!(run.timed_out, "{run:?}");
    assert_eq!(sandbox.runs("kill -0 $(cat child) 2>/dev/null && echo alive").await.output, "");
}

async fn output_of_the_longest_length_is_kept_whole(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    for length in [2047, 2048, 2049, 4096] {
        let run = sandbox.runs(&format!("head -c {length} /dev/zero | tr '\\0' x")).await;
        assert_eq!(run.output, "x".repeat(length));
    }
    let (x, run) = ("x".repeat(2048), sandbox.runs("head -c 4097 /dev/zero | tr '\\0' x").await);
    assert_eq!(run.output, format!("{x}\n…\n{x}"));
}

async fn of_much_output_both_ends_are_kept(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let run = sandbox.runs("echo begin; seq 1 3000000; echo end >&2; exit 4").await;
    assert_eq!((run.exit_code, run.output.len()), (Some(4), 2048 + "\n…\n".len() + 2048));
    assert!(run.output.starts_with("begin\n1\n2\n"), "{}", run.output);
    assert!(run.output.ends_with("2999999\n3000000\nend\n"), "{}", run.output);
}

async fn output_may_hold_any_bytes(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let run = sandbox.runs(r"printf 'a\0b\377c\r\n\303'; printf '文件'").await;
    assert_eq!(run.output, "a\0b\u{fffd}c\r\n\u{fffd}文件");
    let run = sandbox.runs("head -c 100000 /dev/urandom").await;
    assert!(run.ok && run.output.contains("\n…\n"), "{run:?}");
}

async fn a_process_that_is_left_behind_holds_nothing_up_and_lives_on(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let server = "until [ -e go ]; do sleep 0.02; done; seq 1 100000; seq 1 100000 >&2; echo $? >outcome";
    for (number, start) in [format!("({server}) &"), format!("setsid sh -c '{server}' &")].into_iter().enumerate() {
        let before = real.clock().now();
        let run = sandbox.runs(&format!("rm -f go outcome; seq 1 3000; {start} echo last")).await;
        assert!(run.ok && run.output.starts_with("1\n2\n") && run.output.ends_with("\nlast\n"), "{run:?}");
        assert!(real.clock().now().millis_since(before) < 10_000, "{number} was not waited for");
        real.write_file(&sandbox.id, "/workspace/go", "").await;
        let outcome = eventually(real, async || {
            real.read_file(&sandbox.id, "/workspace/outcome").await.filter(|outcome| !outcome.is_empty())
        });
        assert_eq!(outcome.await, "0\n", "{number} was not broken");
    }
}

async fn hooks_leave_no_files_behind(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    let list = "ls -A /run | grep sandbox-snapshotter | grep -v hook";
    let before = sandbox.runs(list).await.output;
    sandbox.runs("seq 1 100000").await;
    sandbox.runs("sleep 1000 & true").await;
    sandbox.runs_for(1, "sleep 1000").await;
    let hooks = sandbox.runs("ls -A /run | grep -c sandbox-snapshotter.hook; ls -A /workspace").await;
    assert_eq!(hooks.output, "0\n", "its own are open, and have no names");
    assert_eq!(sandbox.runs(list).await.output, before);
}

async fn two_hooks_run_at_once(real: &Real) {
    let sandbox = Sandbox::of(real).await;
    sandbox.runs("mkfifo there back").await;
    let (one, other) = join(sandbox.runs("echo one >there; cat back"), sandbox.runs("cat there; echo two >back")).await;
    assert_eq!((one.output.as_str(), other.output.as_str()), ("two\n", "one\n"), "each waits for the other");
}

async fn a_container_that_may_be_idle_for_a_second_goes_to_sleep(real: &Real) {
    let id = real.sandbox("agent");
    real.sandboxes().set_idle_timeout(&id, None).await.unwrap();
    real.write_file(&id, "/workspace/file", "content").await;
    real.sandboxes().set_idle_timeout(&id, Some(1)).await.unwrap();
    eventually(real, async || (state(real, &id).await.status == Status::Down).then_some(())).await;
}

/// A sandbox whose container has a stamp.
struct Sandbox<'a> {
    real: &'a Real,
    id: SandboxId,
    stamp: ContainerMarker,
}

impl<'a> Sandbox<'a> {
    async fn of(real: &'a Real) -> Self {
        let id = real.sandbox("agent");
        Self { real, stamp: put_first_marker(real, &id).await, id }
    }

    async fn runs(&self, command: &str) -> HookRun {
        self.runs_for(60, command).await
    }

    async fn runs_for(&self, seconds: u32, command: &str) -> HookRun {
        let hook = hook(command, seconds);
        let ran = self
            .real
            .sandboxes()
            .run_hook(&self.id, &self.stamp, &work_dir(), "afterStart", &hook, &BTreeMap::new())
            .await;
        ran.unwrap().unwrap()
    }
}

/// Waits until something is there. How long that may take is the runner's to say.
async fn eventually<T>(real: &Real, look: impl AsyncFn() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        real.clock().sleep(Duration::from_millis(20)).await;
    }
}
