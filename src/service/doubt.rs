//! Doubt about a container: whether it is the one that somebody works in.
//!
//! A look into a sandbox whose container has ended starts another one, empty, and so does a capture. Whoever sees that
//! leaves a note in it (`container`). But the worker may die before, the answer may be lost, and the note may fail. So it
//! is kept since when that may have happened, before the sandbox is touched; and until it is settled, a container counts
//! only if it is older than that.
//!
//! A capture keeps it in its own row, which is written anyway. What comes of a capture that is not seen to be of that
//! container is kept in the workspace's row from then on.

use std::cell::Cell;
use std::rc::Rc;

use super::planted::{Bug, planted};
use super::{CloudflareSandboxSnapshotter, container};
use crate::model::record::{Doubt, Look, Making, SnapshotRecord, Stage};
use crate::model::{Result, Timestamp};
use crate::ports::{Clock, Ledger, Ports};

/// When doubt is settled that nobody is about to settle, in milliseconds.
const SETTLED_MILLIS: i64 = 60_000;

/// Somebody looks into the sandbox, or captures it.
pub(super) struct Looking {
    all: Rc<Cell<u64>>,
    /// Which look of all it is, where nothing else was under way that may start a container.
    alone: Option<u64>,
    /// When what was in doubt before has to be settled, where something may still come of it.
    left_until: Option<Timestamp>,
}

impl Looking {
    /// Begins.
    pub fn begin<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Self> {
        let is_alone = !is_underway(this)?;
        let all = Rc::clone(&this.memory.looking);
        all.set(all.get() + 1);
        let left_until = due(this)?.filter(|due| *due > this.ports.clock().now());
        Ok(Self { alone: is_alone.then(|| all.get()), all, left_until })
    }

    /// The container was seen to be the same after everything that was done: there is no more doubt than before. Where
    /// somebody else was at it meanwhile, a container may have come after it was seen.
    pub fn end<P: Ports>(self, this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
        if self.alone != Some(self.all.get()) {
            return Ok(());
        }
        let doubt = this.workspace()?.doubt;
        keep(this, doubt.zip(self.left_until).map(|(doubt, due)| Doubt { due, ..doubt }))
    }
}

/// Notes that from now on a container may be started; answers how old one has to be to count.
pub(super) fn begin<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Timestamp> {
    let now = this.ports.clock().now();
    keep_since(this, since(this)?.unwrap_or(now))
}

/// How old a container has to be to count: there is doubt since then.
pub(super) fn since<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Timestamp>> {
    let unfinished = this.ports.ledger()?.unfinished()?;
    let of_captures = unfinished.iter().filter_map(|snapshot| match &snapshot.stage {
        Stage::Making(making) if making.look == Look::DueInDoubt => Some(making.sighting.since),
        _ => None,
    });
    let of_workspace = this.workspace()?.doubt.map(|doubt| doubt.since);
    Ok(of_captures.chain(of_workspace).min())
}

/// Keeps what a capture has left in doubt, whose row is going to be kept again, or forgotten.
pub(super) fn take_over<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, capture: &mut SnapshotRecord) -> Result<()> {
    note(this, capture)?;
    let Stage::Making(making) = &mut capture.stage else { return Ok(()) };
    if making.look != Look::DueInDoubt {
        return Ok(());
    }
    making.look = Look::Due;
    let before = this.workspace()?.doubt.map(|doubt| doubt.since);
    let since = making.sighting.since;
    keep_since(this, before.map_or(since, |before| before.min(since))).map(drop)
}

/// Notes whether a capture is in doubt by now: a container that came meanwhile may have been taken as it is.
pub(super) fn note<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, capture: &mut SnapshotRecord) -> Result<()> {
    let known = this.ports.ledger()?.snapshot(&capture.snapshot_id)?;
    if let Some(Stage::Making(known)) = known.map(|known| known.stage)
        && let Stage::Making(making) = &mut capture.stage
    {
        making.look = known.look;
    }
    Ok(())
}

/// The container was taken as it is, however old: one that comes after it does not count, and what captures that are under
/// way leave in doubt is not about it.
pub(super) fn trust_from_now<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Timestamp> {
    let ledger = this.ports.ledger()?;
    for mut capture in ledger.unfinished()? {
        if let Stage::Making(making) = &mut capture.stage
            && making.look == Look::DueInDoubt
        {
            making.look = Look::Due;
            ledger.put_snapshot(&capture)?;
        }
    }
    keep_since(this, this.ports.clock().now())
}

/// When doubt has to be settled.
pub(super) fn due<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Timestamp>> {
    Ok(this.workspace()?.doubt.map(|doubt| doubt.due))
}

/// Settles doubt that was left, when nothing can come of what caused it any more.
pub(super) async fn follow_up<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let Some(doubt) = this.workspace()?.doubt else { return Ok(()) };
    if this.ports.clock().now() < doubt.due || is_underway(this)? {
        return Ok(());
    }
    let looking = Looking::begin(this)?;
    keep_since(this, doubt.since)?;
    container::is_older(&*this.ports, &this.id, &this.config.default_dir, doubt.since).await?;
    looking.end(this)
}

fn keep_since<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, since: Timestamp) -> Result<Timestamp> {
    let due = this.ports.clock().now().plus_millis(SETTLED_MILLIS);
    keep(this, Some(Doubt { since, due }))?;
    this.wake_by(due)?;
    Ok(since)
}

/// Whether anything is under way that may start a container: here, or in a sandbox that did not answer.
fn is_underway<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<bool> {
    let unfinished = this.ports.ledger()?.unfinished()?;
    let is_open = |stage: &Stage| matches!(stage, Stage::Making(Making { backup: None, .. }));
    Ok(Rc::strong_count(&this.memory.looking) > 1 || unfinished.iter().any(|snapshot| is_open(&snapshot.stage)))
}

fn keep<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, doubt: Option<Doubt>) -> Result<()> {
    let mut workspace = this.workspace()?;
    if workspace.doubt != doubt && !planted(Bug::DoubtNotKept) {
        workspace.doubt = doubt;
        this.ports.ledger()?.put_workspace(&workspace)?;
    }
    Ok(())
}
