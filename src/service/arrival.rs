//! Whether a backup has arrived in the container that it was applied to.
//!
//! The container carries a stamp from before the restore on, so that another one is never taken for it. What is checked costs the
//! same however many files there are: in an overlay, listing a directory reads everything below it.

use super::failures::{During, from_sandbox};
use super::retry::retry;
use super::stored::is_empty;
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::named::Stamp;
use crate::model::record::Stored;
use crate::model::{Arrival, Code, Error, Place, Result, SandboxId};
use crate::ports::{Ports, Sandboxes, Visit, VisitOf};

/// Makes sure that the files are there, and that every process works in them; then puts the stamp `to` in the place of `from`. The
/// first question is part of the `visit`.
///
/// # Errors
/// [`Code::OperationInterrupted`] where another container runs, or a process goes on below the mounted files;
/// [`Code::RestoreFailed`] where the files are not there. The container is to be ended then.
pub(super) async fn arrived<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    visit: &VisitOf<'_, P>,
    id: &SandboxId,
    stored: &Stored,
    from: &Stamp,
    to: &Stamp,
) -> Result<()> {
    let mut visit = Some(visit);
    let mut arrive = async |may_be_empty| {
        retry(&*this.ports, &Abort::never(), async || {
            let backup = &stored.backup;
            let arrival = match visit.take() {
                Some(visit) => visit.arrive(backup, from, to, may_be_empty).await,
                None => this.ports.sandboxes()?.arrive(id, backup, from, to, may_be_empty).await,
            };
            arrival.map_err(|failure| from_sandbox(failure, id, During::Restore))
        })
        .await
    };
    let mut arrival = arrive(false).await?;
    if arrival == Arrival::NotThere(Place::Empty) && is_empty(this, stored.backup.id()).await? {
        arrival = arrive(true).await?;
    }
    match arrival {
        Arrival::Done => Ok(()),
        Arrival::OtherContainer => Err(another_container(id)),
        Arrival::NotThere(_) => Err(Error::new(
            Code::RestoreFailed,
            format!("The sandbox {:?} reported the restore as done, but the files are not there.", id.as_str()),
            "Try again. If it stays, look at the logs of the sandbox's Worker.",
        )),
        Arrival::Below(process) => Err(Error::new(
            Code::OperationInterrupted,
            format!(
                "In the sandbox {:?}, the process {process} goes on in {:?} below the files that were mounted there: what it writes \
                 would be lost.",
                id.as_str(),
                stored.backup.dir().as_str()
            ),
            "Try again. If the image starts that process, let it start in another directory.",
        )),
    }
}

/// The error of a step that found another container than the one that was being filled.
pub(super) fn another_container(id: &SandboxId) -> Error {
    Error::new(
        Code::OperationInterrupted,
        format!("The container of the sandbox {:?} ended, and another one runs.", id.as_str()),
        "Try again.",
    )
}
