//! The calls about background commands in the container of a sandbox.

use std::collections::BTreeMap;

use sandbox_snapshotter::model::background::{BackgroundCommand, CommandId, CommandState, Signal};
use sandbox_snapshotter::model::background_call::{
    BackgroundAction, BackgroundCall, BackgroundOutcome, BackgroundRefusal, BackgroundStart, OutputPart,
};
use sandbox_snapshotter::model::exec::OutputStream;
use sandbox_snapshotter::model::exec_call::Program;
use sandbox_snapshotter::model::required_container::{Refusal, RequiredContainer};
use sandbox_snapshotter::model::{ChangeCursor, SandboxId};
use sandbox_snapshotter::ports::{CallerCommands, Sandboxes};

use super::Case;
use super::world::{ANY_CONTAINER, World, work_dir};

/// A command that runs until it is ended.
const ENDLESS: &str = "serve=1; exec sleep 600";

pub fn cases<W: World>() -> Vec<Case<W>> {
    vec![
        case!(async background_command_runs_until_it_is_ended),
        case!(async exit_code_of_a_background_command_is_kept),
        case!(async running_background_command_is_a_use_of_the_container),
        case!(async unknown_background_command_is_not_found),
        case!(async background_command_is_refused_in_another_container),
    ]
}

fn call_of(id: &str, action: BackgroundAction) -> BackgroundCall {
    BackgroundCall { id: CommandId::parse(id).unwrap(), dir: work_dir(), action }
}

fn start_of(line: &str) -> BackgroundAction {
    let (env, stdin) = (BTreeMap::new(), String::new());
    let program = Program::Shell(line.to_owned());
    BackgroundAction::Start(BackgroundStart { program, cwd: None, env, stdin, timeout_seconds: 600 })
}

fn end_of(id: &str) -> BackgroundAction {
    BackgroundAction::End { command_id: CommandId::parse(id).unwrap(), signal: Signal::Term, grace_seconds: 10 }
}

async fn call(
    world: &impl World,
    id: &SandboxId,
    command_id: &str,
    action: BackgroundAction,
) -> Result<BackgroundOutcome, Refusal<BackgroundRefusal>> {
    let call = call_of(command_id, action);
    world.sandboxes().call_background(id, ANY_CONTAINER, &call).await.unwrap()
}

async fn start(world: &impl World, id: &SandboxId, command_id: &str, line: &str) -> BackgroundCommand {
    world.write_file(id, "/workspace/file", "").await;
    match call(world, id, command_id, start_of(line)).await.unwrap() {
        BackgroundOutcome::Command(command) => command,
        other => panic!("{other:?}"),
    }
}

async fn background_command_runs_until_it_is_ended(world: &impl World) {
    let id = world.sandbox("agent");
    let started = start(world, &id, "c1", ENDLESS).await;
    assert_eq!((started.command.as_str(), started.state), (ENDLESS, CommandState::Running));
    let listed = call(world, &id, "l1", BackgroundAction::List).await;
    assert_eq!(listed, Ok(BackgroundOutcome::List(vec![started])));
    let ended = call(world, &id, "e1", end_of("c1")).await.unwrap();
    let BackgroundOutcome::Command(command) = &ended else { panic!("{ended:?}") };
    assert_eq!((command.state, command.exit_code, command.timed_out), (CommandState::Killed, Some(143), false));
    assert_eq!(call(world, &id, "e2", end_of("c1")).await, Ok(ended));
}

async fn exit_code_of_a_background_command_is_kept(world: &impl World) {
    let id = world.sandbox("agent");
    start(world, &id, "c1", "exit 3").await;
    let command_id = CommandId::parse("c1").unwrap();
    let part = OutputPart { command_id, stream: OutputStream::Stdout, offset: 0, length: 10, wait_seconds: 10 };
    match call(world, &id, "r1", BackgroundAction::Read(part)).await.unwrap() {
        BackgroundOutcome::Output(command, bytes) => {
            assert_eq!((command.state, command.exit_code, bytes), (CommandState::Exited, Some(3), Vec::new()));
        }
        other => panic!("{other:?}"),
    }
}

async fn running_background_command_is_a_use_of_the_container(world: &impl World) {
    let id = world.sandbox("agent");
    start(world, &id, "c1", ENDLESS).await;
    let is_used =
        async || world.sandboxes().changed_since_watch(&id, &work_dir(), &ChangeCursor::Idle, None).await.unwrap();
    world.sandboxes().watch_changes(&id, &ChangeCursor::Idle, None).await.unwrap();
    assert!(is_used().await && is_used().await);
    call(world, &id, "e1", end_of("c1")).await.unwrap();
    assert!(!is_used().await);
}

async fn unknown_background_command_is_not_found(world: &impl World) {
    let id = world.sandbox("agent");
    start(world, &id, "c1", "true").await;
    assert_eq!(call(world, &id, "e1", end_of("c2")).await, Err(BackgroundRefusal::NotFound.into()));
}

async fn background_command_is_refused_in_another_container(world: &impl World) {
    let id = world.sandbox("agent");
    world.write_file(&id, "/workspace/file", "").await;
    let call = call_of("c1", start_of("echo x >/workspace/intruder"));
    for container in [RequiredContainer::Ready, RequiredContainer::OlderThan { millis: 1_000_000_000_000 }] {
        let refused = world.sandboxes().call_background(&id, &container, &call).await.unwrap();
        assert!(matches!(refused, Err(Refusal::Container(_))), "{refused:?}");
    }
    assert_eq!(world.read_file(&id, "/workspace/intruder").await, None);
}
