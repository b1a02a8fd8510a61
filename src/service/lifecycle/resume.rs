//! A sandbox gets its files, where they are not in place.
//!
//! It is looked at before anything is made. A container with its stamp is left as it is; any other one is ended, unless
//! somebody wrote into it, and a new one is filled. Every step is bound to the stamp of that container, so none of them can
//! happen in another one; and until the last of them nothing is captured.

use std::collections::BTreeMap;

use super::capture::{save, save_to_end};
use super::hooks::{self, another_container};
use super::source::{Source, source};
use super::{
    Sight, is_not_retired, is_not_superseded, left_unfinished, look, look_after, note_late, settled_look, stale, stamp,
    unresponsive,
};
use crate::model::named::messages::{How, OnDiverged, ResumeRequest, Resumed};
use crate::model::named::standing::Begun;
use crate::model::named::{Settings, Stamp};
use crate::model::{Code, Error, Result, Status};
use crate::ports::{Clock, Ports, Sandboxes, Visit};
use crate::service::failures::{During, from_sandbox};
use crate::service::planted::{Bug, planted};
use crate::service::retry::retry;
use crate::service::undo::destroy;
use crate::service::{Abort, CloudflareSandboxSnapshotter, arrival};

/// How much longer than the workspace its container may be idle, in seconds: the workspace is stopped first, with a snapshot.
pub(super) const MARGIN: u64 = 600;

/// Looks, and fills the container where that is needed.
pub(in crate::service) async fn resume<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: ResumeRequest,
) -> Result<Resumed> {
    let _turn = this.memory.lifecycle.lock().await;
    unresponsive::check(&this)?;
    let was_restoring = this.standing()?.restoring;
    let resumed = note_late(&this, give_files(&this, &request).await);
    unresponsive::judge(&this, resumed, was_restoring)
}

async fn give_files<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &ResumeRequest) -> Result<Resumed> {
    is_not_retired(this)?;
    if this.standing()?.address != request.address {
        return Err(Error::defect());
    }
    is_not_superseded(this, request.version)?;
    this.founded()?;
    let depends_on = &request.settings.depends_on;
    this.stand(|standing| {
        standing.files.clone_from(&depends_on.files);
        standing.fingerprint.clone_from(&depends_on.fingerprint);
    })?;
    let mut saved = None;
    let left = left_unfinished(this)?;
    let is_sparing = left.is_some() && request.start.on_diverged != OnDiverged::Discard;
    // A look may start a container, which nobody would end.
    look_after(this)?;
    match if planted(Bug::FilledUnseen) { Sight::Asleep } else { settled_look(this, is_sparing).await? } {
        Sight::Alive(_) => {
            configure(this, request).await?;
            set_env(this, request).await?;
            opened(this)?;
            return Ok(resumed(How::Alive));
        }
        Sight::Asleep => {}
        Sight::Diverged { .. } if planted(Bug::DivergedOverwritten) => destroy(this, &this.id).await?,
        Sight::Unfinished | Sight::Woken => destroy(this, &this.id).await?,
        Sight::Diverged { stamp } => match request.start.on_diverged {
            OnDiverged::Fail => {
                this.stand(|standing| standing.filling = left)?;
                return Err(diverged(this));
            }
            OnDiverged::Keep => return keep(this, request, stamp.as_ref()).await,
            OnDiverged::Save => {
                saved = Some(save_to_end(this, stamp.as_ref()).await?);
                destroy(this, &this.id).await?;
            }
            OnDiverged::Discard => destroy(this, &this.id).await?,
        },
    }
    // A capture of what was there before may be about to be the newest.
    this.memory.guard.is_still().await;
    drop(this.memory.adopting.lock().await);
    let source = source(this, &request.settings.dir, request.start.allow_empty).await?;
    let filled = retry(&*this.ports, &Abort::never(), async || match fill(this, request, &source).await {
        Ok(filled) => Ok(filled),
        Err(error) => Err(match destroy(this, &this.id).await {
            Ok(()) => error,
            Err(undo) => error.and(undo.message()),
        }),
    })
    .await?;
    Ok(Resumed { saved, ..filled })
}

/// Takes the files that somebody wrote since the sandbox woke by itself for the workspace's.
async fn keep<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &ResumeRequest,
    before: Option<&Stamp>,
) -> Result<Resumed> {
    look_after(this)?;
    // No late step of a start that was given up fills the container from here on.
    let nonce = stamp::keep(this, before).await?;
    let now = this.ports.clock().now();
    this.stand(|standing| standing.kept_at = Some(now))?;
    outlast(this).await?;
    configure(this, request).await?;
    set_env(this, request).await?;
    let kept = Stamp::Kept(nonce.clone());
    // The container may have ended, and the stamp have started another one.
    if look(this).await? != (Sight::Diverged { stamp: Some(kept.clone()) }) && !planted(Bug::KeptUnseen) {
        return Err(another_container(this));
    }
    let note = this.ports.sandboxes()?.note_took_place(&this.id, false).await;
    note.map_err(|failure| from_sandbox(failure, &this.id, During::Look))?;
    finish(this, request, &kept, nonce, resumed(How::Kept)).await
}

/// Waits for a restore that nobody awaits any more, which would hide the files that are kept: a sandbox does one capture or
/// restore at a time, so a capture comes after it.
async fn outlast<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    if this.standing()?.restoring {
        save(this).await?;
        this.stand(|standing| standing.restoring = false)?;
    }
    Ok(())
}

/// Makes a new container somebody's place of work.
async fn fill<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &ResumeRequest,
    source: &Source,
) -> Result<Resumed> {
    look_after(this)?;
    configure(this, request).await?;
    let Settings { dir, hooks, depends_on, .. } = &request.settings;
    // Those files that a restore does not bring.
    let files = match source {
        Source::Nothing => Vec::new(),
        Source::Snapshot { .. } => stale::outside(&depends_on.files, dir),
    };
    set_env_ahead(this, request).await?;
    // The SDK interrupts the call that starts a container after another one has ended: nothing depends on this one.
    let started = this.ports.sandboxes()?.probe(&this.id, dir).await;
    drop(note_late(this, started.map_err(|failure| from_sandbox(failure, &this.id, During::Start))));
    let (nonce, Begun { survey, hashes }) = stamp::begin(this, dir, &files).await?;
    let filling = Stamp::Filling(nonce.clone());
    let filled = if hooks.after_start.is_some() { Stamp::Filled(nonce.clone()) } else { Stamp::Ready(nonce.clone()) };
    this.stand(|standing| {
        standing.image = Some(survey.image.clone());
        standing.baseline = survey.listing;
        standing.begun = Some(nonce.clone());
        standing.restoring |= matches!(source, Source::Snapshot { .. });
    })?;
    let answer = match source {
        Source::Nothing => {
            stamp::step(this, &filling, &filled).await?;
            resumed(How::Empty)
        }
        Source::Snapshot { snapshot_id, stored, dependencies } => {
            let now = stale::now(hashes, &request.settings, &survey.image);
            let stale = stale::check(snapshot_id, dependencies, &now, &request.settings, &request.start)?;
            let visit = this.ports.sandboxes()?.visit(&this.id);
            let restored = visit.restore_backup(&stored.backup, stored.size_bytes).await;
            restored.map_err(|failure| from_sandbox(failure, &this.id, During::Restore))?;
            arrival::arrived(this, &visit, &this.id, stored, &filling, &filled).await?;
            Resumed { snapshot_id: Some(snapshot_id.clone()), stale, ..resumed(How::Restored) }
        }
    };
    finish(this, request, &filled, nonce, answer).await
}

/// Says what the sandbox is to be before its container is started. Opens no session.
async fn configure<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &ResumeRequest) -> Result<()> {
    let idle = request.settings.expiry.idle_seconds;
    let awake = (idle > 0).then(|| idle.saturating_add(MARGIN));
    retry(&*this.ports, &Abort::never(), async || {
        let configured = this.ports.sandboxes()?.configure(&this.id, awake).await;
        configured.map_err(|failure| from_sandbox(failure, &this.id, During::Start))
    })
    .await
}

/// Sets the environment.
async fn set_env<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &ResumeRequest) -> Result<()> {
    let before = this.standing()?.variables;
    let env = environment(&request.settings, before);
    if env.is_empty() {
        return Ok(());
    }
    this.stand(|standing| standing.variables = env.keys().cloned().collect())?;
    retry(&*this.ports, &Abort::never(), async || {
        let set = this.ports.sandboxes()?.set_env(&this.id, &env).await;
        set.map_err(|failure| from_sandbox(failure, &this.id, During::Start))
    })
    .await?;
    this.stand(|standing| standing.variables = request.settings.env.keys().cloned().collect())
}

/// Sets the environment that the next container inherits. Where the sandbox remembers a session, the SDK starts a container for
/// that and opens the session in it, in the directory that is there before the files are: so that container is ended.
async fn set_env_ahead<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: &ResumeRequest) -> Result<()> {
    if this.standing()?.variables.is_empty() && request.settings.env.is_empty() {
        return Ok(());
    }
    set_env(this, request).await?;
    let state = this.ports.sandboxes()?.state(&this.id).await;
    if state.map_err(|failure| from_sandbox(failure, &this.id, During::Look))?.status == Status::Down {
        return Ok(());
    }
    destroy(this, &this.id).await
}

/// The environment: what is set, and what was set before and is not any more.
fn environment(settings: &Settings, before: Vec<String>) -> BTreeMap<String, Option<String>> {
    let gone = before.into_iter().map(|name| (name, None));
    let set = settings.env.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
    gone.chain(set).collect()
}

/// The files are in place: the hook runs, and then the sandbox is somebody's.
async fn finish<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    request: &ResumeRequest,
    filled: &Stamp,
    nonce: String,
    mut answer: Resumed,
) -> Result<Resumed> {
    let Settings { dir, hooks, env, .. } = &request.settings;
    if let Some(hook) = &hooks.after_start {
        answer.hooks.push(hooks::run(this, filled, dir, "afterStart", hook, env).await?);
    }
    if !filled.is_ready() {
        stamp::step(this, filled, &Stamp::Ready(nonce)).await?;
    }
    opened(this)?;
    Ok(answer)
}

/// The sandbox is somebody's place of work from now on.
fn opened<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let now = this.ports.clock().now();
    this.stand(|standing| {
        standing.filling = None;
        standing.restoring = false;
        standing.opened_at = standing.opened_at.or(Some(now)).filter(|_| !planted(Bug::OpenedNotKept));
    })
}

fn resumed(how: How) -> Resumed {
    Resumed { how, snapshot_id: None, saved: None, root_id: None, stale: Vec::new(), hooks: Vec::new() }
}

fn diverged<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Error {
    Error::new(
        Code::WorkspaceDiverged,
        format!(
            "The sandbox {:?} slept and woke by itself without its files, and others were written since. Nothing was touched.",
            this.id.as_str()
        ),
        "Start it with `onDiverged`: \"save\" keeps what was written as a snapshot and restores the newest one before; \"keep\" goes on \
         with what was written; \"discard\" restores without it.",
    )
}
