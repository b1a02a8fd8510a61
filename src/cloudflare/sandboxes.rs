//! The sandboxes, called through their Durable Object stubs.
//!
//! Does what `getSandbox` of the SDK does for an id: gets the stub by name, and calls `configure` with the name.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use sandbox_snapshotter_client::timer;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::sandbox_command::{COMMAND_TIMEOUT_MILLIS, name_settings, redact_env, unreadable};
use super::sandbox_stubs::SandboxStubs;
use super::sdk_session::SdkSession;
use super::{git_ignored, scripts};
use crate::model::exclude::IgnoredNames;
use crate::model::freeze::{Freeze, FreezeReport};
use crate::model::freeze_call::FreezeFailed;
use crate::model::named::ContainerMarker;
use crate::model::named::answer::HookRun;
use crate::model::named::binding::{DirectoryListing, RestoreBegun};
use crate::model::named::platform_snapshot::StoredDisk;
use crate::model::named::settings::Hook;
use crate::model::secret_search::{FoundSecrets, SecretSearch};
use crate::model::{
    Arrival, BackupHandle, ChangeCursor, ContainerIdentity, Directory, Failure, MarkerUpdate, Probe, Provenance,
    SandboxId, SandboxStatus, SnapshotId, Status,
};
use crate::ports::Sandboxes;

/// The time limit of a command that visits every file of a directory, in milliseconds.
const WALK_TIMEOUT_MILLIS: u32 = 60_000;

/// The margin of the command over the time limit of the hook, in milliseconds. Within it, the script kills the hook.
const HOOK_MARGIN_MILLIS: u32 = 20_000;

/// The margin of the wait for an answer over the time limit of the command, in milliseconds.
const ANSWER_MARGIN_MILLIS: u32 = 5_000;

/// Returns the settings of the idle timeout of the container, in seconds; `None` for no timeout.
fn sleep_settings(seconds: Option<u64>) -> Vec<(String, Value)> {
    match seconds {
        Some(seconds) => vec![("sleepAfter".to_owned(), json!(seconds)), ("keepAlive".to_owned(), json!(false))],
        None => vec![("keepAlive".to_owned(), json!(true))],
    }
}

/// Returns the failure of a command that did not answer in time.
fn answer_timed_out(what: &str, limit: Duration) -> Failure {
    Failure::new("TimeoutError", &format!("{what} did not answer within {} s", limit.as_secs()))
}

impl Sandboxes for SandboxStubs {
    type SandboxSession<'a> = SdkSession<'a>;

    fn open_session<'a>(&'a self, id: &'a SandboxId) -> SdkSession<'a> {
        SdkSession::new(&self.namespace, id)
    }

    async fn status(&self, id: &SandboxId) -> Result<SandboxStatus, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct State {
            status: String,
            last_change: f64,
            /// Only the class of the client has it.
            container_id: Option<String>,
        }
        let state: State = self.call(id, "getState", &[]).await?;
        let status = match state.status.as_str() {
            "healthy" => Status::Healthy,
            "running" => Status::Starting,
            "stopping" | "stopped" | "stopped_with_code" => Status::Down,
            other => return Err(Failure::protocol("getState", format!("the status {other:?}"))),
        };
        let identifies_container = state.container_id.is_some();
        Ok(SandboxStatus { status, last_change: state.last_change, identifies_container })
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>, image: Option<&str>) -> Result<(), Failure> {
        let mut configuration = name_settings(id);
        if let Some(members) = configuration.as_object_mut() {
            members.extend(sleep_settings(idle_seconds));
            // The class of SDK 0.12 ignores it.
            members.insert("image".to_owned(), image.into());
        }
        self.call::<Option<Map<String, Value>>>(id, "configure", &[configuration]).await.map(drop)
    }

    async fn probe(&self, id: &SandboxId, dir: &Directory) -> Result<Probe, Failure> {
        let stdout = self.run(id, &scripts::probe(dir), COMMAND_TIMEOUT_MILLIS).await?;
        scripts::read_probe(&stdout).ok_or_else(|| unreadable("the output of the probe"))
    }

    async fn set_replaced_note(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        match self.run(id, &scripts::set_replaced_note(note), COMMAND_TIMEOUT_MILLIS).await?.trim() {
            "done" => Ok(()),
            _ => Err(Failure::protocol("the sandbox", "the note can't be changed")),
        }
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        self.call::<Option<Map<String, Value>>>(id, "destroy", &[]).await.map(drop)
    }

    async fn set_idle_timeout(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        let configuration = sleep_settings(seconds).into_iter().collect::<Map<_, _>>().into();
        self.call::<Option<Map<String, Value>>>(id, "configure", &[configuration]).await.map(drop)
    }

    async fn set_env(&self, id: &SandboxId, env: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        let set = self.call::<Option<Map<String, Value>>>(id, "setEnvVars", &[json!(env)]).await;
        set.map(drop).map_err(|failure| redact_env(env, failure))
    }

    async fn update_marker(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        older_than_millis: Option<i64>,
    ) -> Result<MarkerUpdate, Failure> {
        let stdout =
            self.run(id, &scripts::update_marker(from, to, older_than_millis, false), COMMAND_TIMEOUT_MILLIS).await?;
        scripts::read_marker_update(&stdout)
            .ok_or_else(|| Failure::protocol("the sandbox", "the container marker can't be changed"))
    }

    async fn begin_restore(
        &self,
        id: &SandboxId,
        from: Option<&ContainerMarker>,
        to: &ContainerMarker,
        token: Option<&str>,
        dir: &Directory,
        files: &[String],
    ) -> Result<Option<RestoreBegun>, Failure> {
        let command = scripts::begin_restore(from, to, token, dir, files);
        let output = self.output_in(id, &command, WALK_TIMEOUT_MILLIS, None).await?;
        let begun = scripts::read_restore_begun(&output.stdout, files)?;
        Ok(begun.map(|mut begun| {
            if let Some(known) = output.provenance(Provenance::parse(&begun.listing.image)) {
                begun.listing.image = known.to_string();
            }
            begun
        }))
    }

    async fn complete_restore(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &ContainerMarker,
        to: &ContainerMarker,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        let stdout =
            self.run(id, &scripts::verify_arrival(backup, from, to, may_be_empty), COMMAND_TIMEOUT_MILLIS).await?;
        scripts::read_arrival(&stdout).ok_or_else(|| unreadable("the result of the restore check"))
    }

    async fn list_directory(&self, id: &SandboxId, dir: &Directory) -> Result<DirectoryListing, Failure> {
        let stdout = self.run(id, &scripts::list_directory(dir), WALK_TIMEOUT_MILLIS).await?;
        scripts::read_listing(&stdout).ok_or_else(|| unreadable("the directory listing"))
    }

    async fn hash_files(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        if files.is_empty() {
            return Ok(BTreeMap::new());
        }
        let stdout = self.run(id, &scripts::hash_files(dir, files), WALK_TIMEOUT_MILLIS).await?;
        scripts::read_hashes(&stdout, files).ok_or_else(|| unreadable("the list of hashes"))
    }

    async fn watch_changes(
        &self,
        id: &SandboxId,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<Provenance>, Failure> {
        let output = self.output_in(id, &scripts::watch(cursor), COMMAND_TIMEOUT_MILLIS, expected).await?;
        let image = scripts::read_watch(&output.stdout).ok_or_else(|| unreadable("the result of the watch command"))?;
        Ok(output.provenance(Provenance::parse(&image)))
    }

    async fn ignored_names(&self, id: &SandboxId, dir: &Directory) -> Result<IgnoredNames, Failure> {
        let stdout = self.run(id, &git_ignored::list_ignored(dir), WALK_TIMEOUT_MILLIS).await?;
        git_ignored::read_ignored(&stdout).ok_or_else(|| unreadable("the list of ignored names"))
    }

    async fn find_secrets(
        &self,
        id: &SandboxId,
        search: &SecretSearch,
        expected: Option<ContainerIdentity>,
    ) -> Result<FoundSecrets, Failure> {
        let stdout = self.run_in(id, &scripts::find_secrets(search), WALK_TIMEOUT_MILLIS, expected).await?;
        scripts::read_secrets(&stdout)?.ok_or_else(|| unreadable("the list of files with secrets"))
    }

    async fn changed_since_watch(
        &self,
        id: &SandboxId,
        dir: &Directory,
        cursor: &ChangeCursor,
        expected: Option<ContainerIdentity>,
    ) -> Result<bool, Failure> {
        match self.run_in(id, &scripts::changed_since_watch(dir, cursor), WALK_TIMEOUT_MILLIS, expected).await?.trim() {
            "changed" => Ok(true),
            "unchanged" => Ok(false),
            "unmounted" => Err(Failure::unmounted()),
            _ => Err(unreadable("the result of the change check")),
        }
    }

    async fn changed_since_save(
        &self,
        id: &SandboxId,
        dir: &Directory,
        saved: Option<&str>,
        next: &str,
        expected: Option<ContainerIdentity>,
    ) -> Result<Option<bool>, Failure> {
        let command = scripts::changed_since_save(dir, saved, next);
        match self.run_in(id, &command, WALK_TIMEOUT_MILLIS, expected).await?.trim() {
            "changed" => Ok(Some(true)),
            "unchanged" => Ok(Some(false)),
            "other" => Ok(None),
            "unmounted" => Err(Failure::unmounted()),
            _ => Err(unreadable("the result of the change check")),
        }
    }

    async fn run_hook(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> Result<Option<HookRun>, Failure> {
        let millis = hook.timeout_seconds.saturating_mul(1000).saturating_add(HOOK_MARGIN_MILLIS);
        let command = scripts::run_hook(marker, dir, hook);
        let run = self.run_with_env(id, &command, millis, env);
        let limit = Duration::from_millis(millis.saturating_add(ANSWER_MARGIN_MILLIS).into());
        let stdout = match select(pin!(run), pin!(timer::sleep(limit))).await {
            Either::Left((stdout, _)) => stdout?,
            Either::Right(((), _)) => return Err(answer_timed_out("the hook", limit)),
        };
        scripts::read_hook(&stdout, name)
    }

    async fn freeze(
        &self,
        id: &SandboxId,
        dir: &Directory,
        snapshot_id: &SnapshotId,
        freeze: &Freeze,
        expected: Option<ContainerIdentity>,
    ) -> Result<Result<(), FreezeFailed>, Failure> {
        let (command, millis) = scripts::freeze(dir, snapshot_id, freeze);
        let stdout = self.run_in(id, &command, millis, expected).await?;
        scripts::read_frozen(&stdout).ok_or_else(|| unreadable("the result of the freeze"))
    }

    async fn thaw(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        expected: Option<ContainerIdentity>,
    ) -> Result<FreezeReport, Failure> {
        let (command, millis) = scripts::thaw(snapshot_id);
        let stdout = self.run_in(id, &command, millis, expected).await?;
        scripts::read_thawed(&stdout).ok_or_else(|| unreadable("the result of the thaw"))
    }

    async fn image_names(&self, id: &SandboxId) -> Result<Option<Vec<String>>, Failure> {
        #[derive(Deserialize)]
        struct State {
            /// Only the class of the client has it.
            images: Option<BTreeMap<String, String>>,
        }
        let state: State = self.call(id, "getState", &[]).await?;
        Ok(state.images.map(|images| images.into_keys().collect()))
    }

    async fn platform_image(&self, id: &SandboxId) -> Result<Option<String>, Failure> {
        #[derive(Deserialize)]
        struct State {
            /// Only the class of the client has it, where the platform has snapshots.
            image: Option<String>,
        }
        self.call(id, "getState", &[]).await.map(|State { image }| image)
    }

    async fn take_platform_snapshot(
        &self,
        id: &SandboxId,
        marker: &ContainerMarker,
        token: &str,
    ) -> Result<Option<StoredDisk>, Failure> {
        #[derive(Deserialize)]
        struct Taken {
            id: String,
            size: f64,
        }
        let SandboxStatus { last_change, .. } = self.status(id).await?;
        match self.run(id, &scripts::write_disk_token(marker, token), COMMAND_TIMEOUT_MILLIS).await?.trim() {
            "done" => {}
            "other" => return Ok(None),
            _ => return Err(Failure::protocol("the sandbox", "the disk token can't be written")),
        }
        // Another container than the one of the status is refused.
        let options = json!({ "name": token, "expectedLastChange": last_change });
        let Taken { id, size } = self.call(id, "snapshotContainer", &[options]).await?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The conversion saturates.
        Ok(Some(StoredDisk { id, size_bytes: size as u64 }))
    }

    async fn start_from_platform_snapshot(&self, id: &SandboxId, snapshot_id: &str) -> Result<(), Failure> {
        let options = json!({ "containerSnapshot": { "id": snapshot_id } });
        self.call::<String>(id, "startContainer", &[options]).await.map(drop)
    }
}
