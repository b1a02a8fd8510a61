//! Other workspaces are made that begin where this one is: all of them from one snapshot.

use futures_util::{StreamExt, stream};
use sha2::{Digest, Sha256};

use super::NamedWorkspace;
use crate::model::named::answer::{Fork, Forked};
use crate::model::named::messages::Condition;
use crate::model::named::record::{Creation, Forking, Origin};
use crate::model::named::{Address, NamedRecord, Settings, State, WorkspaceName};
use crate::model::request::{Changes, CreateRequest, ForkRequest, Source};
use crate::model::{Code, Error, Result, SandboxId, ShortId, SnapshotId, SnapshotRequest};
use crate::ports::{Names, Ports, Workspaces};
use crate::service::once::conflict;
use crate::service::planted::{Bug, planted};
use crate::service::{Abort, draw};

/// How many are made at the same time.
const AT_ONCE: usize = 4;

/// How long the same call gets the same answer, in milliseconds: two days. And how many such calls are remembered.
const KEPT_MILLIS: i64 = 48 * 3600 * 1000;
const KEPT: usize = 16;

/// Makes the forks. What fails for one is its own matter.
pub(super) async fn fork<P: Ports>(this: &NamedWorkspace<P>, request: ForkRequest, abort: &Abort) -> Result<Forked> {
    let names = names(this, &request)?;
    let call = request.idempotency_key.clone().map(|key| {
        let new_name = request.new_name.as_ref().map_or("", WorkspaceName::as_str);
        Creation { key, payload: format!("{} {} {new_name}", request.count, request.copy_env) }
    });
    let (Origin { origin_id, snapshot_id }, settings) = begin(this, call, request.copy_env, abort).await?;
    let make = async |name: WorkspaceName| {
        let create = child(this, &name, (&origin_id, &snapshot_id), &settings, &request);
        let made = async { this.ports.names()?.create(&create).await };
        let (value, error) = match made.await {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(this.problem(&error))),
        };
        Fork { name, value, error }
    };
    let forks = stream::iter(names).map(make).buffered(AT_ONCE).collect().await;
    Ok(Forked { snapshot_id, origin_id, forks })
}

/// The snapshot with which another begins where this workspace is now.
pub(super) async fn source<P: Ports>(this: &NamedWorkspace<P>, key: Option<String>) -> Result<Origin> {
    let call = key.map(|key| Creation { key: format!("source/{key}"), payload: String::new() });
    begin(this, call, false, &Abort::never()).await.map(|(origin, _)| origin)
}

/// The snapshot with which others begin, and how the workspace is kept; as they were when the same call was first made.
async fn begin<P: Ports>(
    this: &NamedWorkspace<P>,
    call: Option<Creation>,
    copy_env: bool,
    abort: &Abort,
) -> Result<(Origin, Settings)> {
    this.existing()?;
    let _turn = this.turn(abort).await?;
    // Others had their turns before.
    this.existing()?;
    let kept_since = this.now().plus_millis(-KEPT_MILLIS);
    let record = this.change(|record| record.forks.retain(|forking| forking.at > kept_since))?;
    let known = call.as_ref().and_then(|call| record.forks.iter().find(|known| known.call.key == call.key));
    if let Some(known) = known {
        if call.as_ref() != Some(&known.call) {
            return Err(conflict(&known.call.key));
        }
        return Ok((known.origin.clone(), known.settings.clone()));
    }
    let origin = present(this, &record).await?;
    let at = this.now();
    let mut settings = record.settings;
    settings.env.retain(|_, _| copy_env);
    this.change(|record| {
        let Some(call) = call.filter(|_| !planted(Bug::ForkNotKept)) else { return };
        let forking = Forking { call, origin: origin.clone(), settings: settings.clone(), at };
        record.forks.insert(0, forking);
        record.forks.truncate(KEPT);
    })?;
    Ok((origin, settings))
}

/// A snapshot of what is in the workspace now: it is taken, where the workspace is active.
async fn present<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord) -> Result<Origin> {
    let workspaces = this.ports.workspaces()?;
    let id = &record.sandbox_id;
    let condition = if record.state == State::Active { workspaces.look(id).await? } else { Condition::Asleep };
    if condition == Condition::Diverged {
        return Err(Error::new(
            Code::WorkspaceDiverged,
            format!(
                "The sandbox of {:?} woke by itself without the workspace's files, and others were written since.",
                this.address.name.as_str()
            ),
            "Start the workspace, and choose what becomes of them.",
        ));
    }
    if condition == Condition::Alive {
        let now = this.now();
        this.change(|record| record.active_at = now)?;
        let dir = Some(record.settings.dir.clone());
        let request = SnapshotRequest { dir, fresh: true, ..SnapshotRequest::of(id.clone()) };
        let taken = workspaces.capture(&request).await?.snapshot;
        return Ok(Origin { origin_id: taken.origin_id().clone(), snapshot_id: taken.snapshot_id().clone() });
    }
    let newest = workspaces.newest(id).await?.ok_or_else(|| {
        Error::new(
            Code::NothingRestorable,
            format!("The workspace {:?} does not run, and has no snapshot.", this.address.name.as_str()),
            "Start it, and fork it while it is active.",
        )
    })?;
    Ok(Origin { origin_id: newest.origin_id, snapshot_id: newest.id })
}

/// What the forks are called.
fn names<P: Ports>(this: &NamedWorkspace<P>, request: &ForkRequest) -> Result<Vec<WorkspaceName>> {
    let name = |number| match (&request.new_name, &request.idempotency_key) {
        (Some(name), _) => name.numbered(number, request.count),
        // The same call gets the same names.
        (None, Some(key)) => {
            let hash = Sha256::digest(format!("{number} {key}"));
            this.address.name.fork(ShortId::draw(&hash).ok_or_else(Error::defect)?.as_str())
        }
        (None, None) => this.address.name.fork(draw(&*this.ports, ShortId::draw)?.as_str()),
    };
    (1..=request.count).map(name).collect()
}

/// The call that makes a fork: everything is as it is here, but the secrets.
fn child<P: Ports>(
    this: &NamedWorkspace<P>,
    name: &WorkspaceName,
    (origin_id, snapshot_id): (&SandboxId, &SnapshotId),
    settings: &Settings,
    request: &ForkRequest,
) -> CreateRequest {
    let settings = settings.clone();
    CreateRequest {
        address: Address { name: name.clone(), tenant: this.address.tenant.clone() },
        dir: None,
        changes: Changes {
            persistent: Some(settings.persistent),
            retention: Some(settings.retention),
            hooks: Some(settings.hooks),
            expiry: Some(settings.expiry),
            depends_on: Some(settings.depends_on),
            env: Some(settings.env).filter(|_| request.copy_env),
        },
        source: Some(Source::Snapshot(serde_json::json!({ "sandboxId": origin_id, "snapshotId": snapshot_id }))),
        idempotency_key: request.idempotency_key.clone(),
    }
}
