//! A workspace is made: its name first, then its sandbox.
//!
//! The id of the sandbox is kept before anybody is told of it, so whenever this ends, it is known what there may be. What
//! could not be made frees its name again.

use base64ct::{Base64UrlUnpadded, Encoding};
use sha2::{Digest, Sha256};

use super::NamedWorkspace;
use super::chores::work_off;
use super::delete::forget;
use super::start::{self, bring_up};
use crate::model::named::answer::Started;
use crate::model::named::messages::{LastSnapshot, ReserveRequest, Start};
use crate::model::named::record::{Chore, Creation, Origin, Transition};
use crate::model::named::standing::Standing;
use crate::model::named::{Address, NamedRecord, Settings, State};
use crate::model::request::{CreateRequest, GetOrCreateRequest, Source, StartRequest};
use crate::model::{Code, Directory, Error, Lineage, Policy, Result, SandboxId, Selection, ShortId, mint};
use crate::ports::{Home, Names, Ports, Workspaces};
use crate::service::failures::from_workspace;
use crate::service::{Abort, draw};

/// How often an id is drawn that turns out to be somebody's.
const DRAWS: u32 = 4;

/// Makes the workspace.
pub(super) async fn create<P: Ports>(
    this: &NamedWorkspace<P>,
    request: CreateRequest,
    abort: &Abort,
) -> Result<Started> {
    let creation = creation(&request)?;
    let _alone = this.memory.sourcing.lock().await;
    loop {
        // Before it is this one's turn: the other workspace may be waiting for this one.
        let origin = match known(this)? {
            None => Some(origin(this, &request).await?),
            Some(known) => is_asked_again(this, &known, creation.as_ref()).map(|()| None)?,
        };
        let _turn = this.turn(abort).await?;
        match (known(this)?, origin) {
            (Some(known), _) => return again(this, &known, creation.as_ref()).await,
            (None, Some(origin)) => return make(this, request, origin, creation, &Start::default()).await,
            // It was deleted meanwhile.
            (None, None) => {}
        }
    }
}

/// Makes the workspace, or starts it.
pub(super) async fn get_or_create<P: Ports>(
    this: &NamedWorkspace<P>,
    request: GetOrCreateRequest,
    abort: &Abort,
) -> Result<Started> {
    let arrived = this.memory.done.get();
    let _alone = this.memory.sourcing.lock().await;
    loop {
        let origin = match known(this)? {
            None => Some(origin(this, &request.create).await?),
            Some(_) => None,
        };
        let _turn = this.turn(abort).await?;
        match (known(this)?, origin) {
            (Some(_), _) => {
                let fingerprint = request.create.changes.depends_on.and_then(|depends_on| depends_on.fingerprint);
                let start = StartRequest { address: (*this.address).clone(), fingerprint, start: request.start };
                return start::start_now(this, start, arrived).await;
            }
            (None, Some(origin)) => {
                let creation = creation(&request.create)?;
                return make(this, request.create, origin, creation, &request.start).await;
            }
            // It was deleted meanwhile.
            (None, None) => {}
        }
    }
}

fn known<P: Ports>(this: &NamedWorkspace<P>) -> Result<Option<NamedRecord>> {
    Ok(this.ports.home()?.named()?.filter(NamedRecord::exists))
}

/// The name is somebody's: whoever made it is asking again, or it is refused.
async fn again<P: Ports>(
    this: &NamedWorkspace<P>,
    known: &NamedRecord,
    creation: Option<&Creation>,
) -> Result<Started> {
    is_asked_again(this, known, creation)?;
    let start = StartRequest { address: (*this.address).clone(), fingerprint: None, start: Start::default() };
    start::start_now(this, start, this.memory.done.get()).await
}

fn is_asked_again<P: Ports>(this: &NamedWorkspace<P>, known: &NamedRecord, creation: Option<&Creation>) -> Result<()> {
    match (creation, &known.creation) {
        (Some(asked), Some(known)) if asked == known => Ok(()),
        (Some(asked), Some(known)) if asked.key == known.key => Err(Error::new(
            Code::IdempotencyConflict,
            format!("The idempotency key {:?} was used for another call on this workspace.", asked.key),
            "Give each intention a key of its own; repeat a call with exactly the arguments that it had.",
        )),
        _ => Err(Error::new(
            Code::NameTaken,
            format!(
                "The tenant {:?} has a workspace {:?} already, which is {}.",
                this.address.tenant.as_str(),
                this.address.name.as_str(),
                known.state
            ),
            "Use another name, getOrCreate(), or delete() that one.",
        )),
    }
}

fn creation(request: &CreateRequest) -> Result<Option<Creation>> {
    let Some(key) = request.idempotency_key.clone() else { return Ok(None) };
    let asked = request.to_arguments().map_err(|_| Error::defect())?.to_string();
    Ok(Some(Creation { key, payload: Base64UrlUnpadded::encode_string(&Sha256::digest(asked)) }))
}

/// The snapshot that the workspace begins with, and its directory.
async fn origin<P: Ports>(this: &NamedWorkspace<P>, request: &CreateRequest) -> Result<Option<LastSnapshot>> {
    let selection = match &request.source {
        None => return Ok(None),
        Some(Source::Workspace(name)) if *name == this.address.name => {
            return Err(Error::new(
                Code::InvalidArgument,
                "The workspace is to begin with its own files.",
                "Name another workspace as `sourceWorkspace`.",
            ));
        }
        Some(Source::Workspace(name)) => {
            let address = Address { name: name.clone(), tenant: this.address.tenant.clone() };
            let key = request.idempotency_key.as_deref().map(|key| format!("{}/{key}", this.address.name));
            let Origin { origin_id, snapshot_id } = this.ports.names()?.source(&address, key.as_deref()).await?;
            Selection::by_id(origin_id, snapshot_id)
        }
        Some(Source::Snapshot(selection)) => Selection::decode(selection)?,
    };
    this.ports.workspaces()?.find(&selection, &this.address.tenant).await.map(Some)
}

async fn make<P: Ports>(
    this: &NamedWorkspace<P>,
    request: CreateRequest,
    origin: Option<LastSnapshot>,
    creation: Option<Creation>,
    start: &Start,
) -> Result<Started> {
    let dir = directory(this, request.dir, origin.as_ref())?;
    dir.check_restorable()?;
    let settings = request.changes.apply(Settings::of(dir));
    let source = origin.map(|snapshot| Origin { origin_id: snapshot.origin_id, snapshot_id: snapshot.id });
    begin(this, settings, source, creation)?;
    let made = match provision(this).await {
        Ok(()) => bring_up(this, start, "it was made").await,
        Err(error) => Err(error),
    };
    let error = match made {
        Ok(started) => return Ok(started),
        Err(error) => error,
    };
    let cause = format!("it could not be made: {}", error.code());
    this.step(State::Deleted, &cause, |record| {
        let own: Vec<SandboxId> = record.sandboxes().cloned().collect();
        for id in own {
            record.add_chore(Chore::Retire(id));
        }
        forget(record);
    })?;
    work_off(this).await?;
    Err(error)
}

fn directory<P: Ports>(
    this: &NamedWorkspace<P>,
    asked: Option<Directory>,
    origin: Option<&LastSnapshot>,
) -> Result<Directory> {
    match (asked, origin.map(|origin| &origin.dir)) {
        (Some(asked), Some(source)) if asked != *source => Err(Error::new(
            Code::InvalidArgument,
            format!("The source holds {:?}, and the workspace is to hold {:?}.", source.as_str(), asked.as_str()),
            "Leave out `dir`: a workspace holds the directory that its source does.",
        )),
        (Some(dir), _) => Ok(dir),
        (None, Some(dir)) => Ok(dir.clone()),
        (None, None) => Ok(this.config.default_dir.clone()),
    }
}

/// Keeps that there is going to be a workspace.
fn begin<P: Ports>(
    this: &NamedWorkspace<P>,
    settings: Settings,
    source: Option<Origin>,
    creation: Option<Creation>,
) -> Result<()> {
    let home = this.ports.home()?;
    let now = this.now();
    let before = home.named()?;
    let cause = match &source {
        Some(origin) => format!("made from the snapshot {} of {:?}", origin.snapshot_id, origin.origin_id.as_str()),
        None => "made by a caller".to_owned(),
    };
    let transition =
        Transition { from: before.as_ref().map(|before| before.state), to: State::Provisioning, at: now, cause };
    let mut record = NamedRecord {
        address: (*this.address).clone(),
        version: before.as_ref().map_or(0, |before| before.version),
        listed: before.as_ref().map_or(0, |before| before.listed),
        state: State::Provisioning,
        history: Vec::new(),
        settings,
        created_at: now,
        sandbox_id: draw_id(this, source.as_ref())?,
        claimed: false,
        former: Vec::new(),
        root_id: None,
        source,
        started_at: None,
        active_at: now,
        last_snapshot: None,
        problem: None,
        creation,
        forks: Vec::new(),
        chores: before.map(|before| before.chores).unwrap_or_default(),
        again_at: None,
    };
    record.remember(transition.clone());
    home.put_named(&record)?;
    home.log(&this.address, &transition);
    this.schedule(&record)?;
    this.tell();
    Ok(())
}

/// Makes sure that the sandbox's id is nobody else's, and that its workspace knows what it stands for and comes from.
pub(super) async fn provision<P: Ports>(this: &NamedWorkspace<P>) -> Result<()> {
    for _ in 0..DRAWS {
        let record = this.existing()?;
        if record.claimed || claim(this, &record).await? {
            this.change(|record| record.claimed = true)?;
            return set_policy(this, &record.sandbox_id, &record.settings.retention).await;
        }
        let other = draw_id(this, record.source.as_ref())?;
        this.change(|record| record.sandbox_id = other)?;
    }
    Err(Error::new(
        Code::Internal,
        format!("{DRAWS} ids for a sandbox of {:?} are all somebody's already.", this.address.name.as_str()),
        "Try again; report it if it happens again.",
    ))
}

async fn claim<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord) -> Result<bool> {
    let standing = Standing::of((*this.address).clone(), record.settings.dir.clone());
    let id = &record.sandbox_id;
    if let Some(source) = &record.source {
        return reserve(this, id, source, Lineage::Branch, standing).await;
    }
    let claimed = this.ports.workspaces()?.claim(id, id, None, Some(&standing), None).await;
    claimed.map_err(|failure| from_workspace(failure, id))
}

/// Has a sandbox be claimed that is going to be made from a snapshot.
pub(super) async fn reserve<P: Ports>(
    this: &NamedWorkspace<P>,
    id: &SandboxId,
    source: &Origin,
    lineage: Lineage,
    standing: Standing,
) -> Result<bool> {
    let snapshot_id = source.snapshot_id.clone();
    let request = ReserveRequest { sandbox_id: id.clone(), snapshot_id, lineage, standing };
    this.ports.workspaces()?.reserve(&source.origin_id, &request).await
}

/// Tells the workspace of a sandbox how long its snapshots are kept, where that is not as ever.
pub(super) async fn set_policy<P: Ports>(this: &NamedWorkspace<P>, id: &SandboxId, policy: &Policy) -> Result<()> {
    if *policy == Policy::default() {
        return Ok(());
    }
    this.ports.workspaces()?.set_policy(id, policy).await
}

pub(super) fn draw_id<P: Ports>(this: &NamedWorkspace<P>, source: Option<&Origin>) -> Result<SandboxId> {
    match source {
        None => draw(&*this.ports, |random| this.address.name.draw_sandbox_id(random)),
        Some(origin) => mint(&origin.origin_id, Lineage::Branch, &draw(&*this.ports, ShortId::draw)?),
    }
}
