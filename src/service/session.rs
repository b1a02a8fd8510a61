//! Sessions: a caller who names the workspace that it works in stays within the lineage of that.

use super::CloudflareSandboxSnapshotter;
use super::failures::from_workspace;
use super::planted::{Bug, planted};
use crate::model::request::Session;
use crate::model::{Code, Error, Result, SandboxId, root_of};
use crate::ports::{Ports, Workspaces};

/// Makes sure that what belongs to the lineage of `root_id` may be used in a session.
///
/// # Errors
/// [`Code::CrossSession`].
pub(super) async fn check<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    session: &Session,
    root_id: &SandboxId,
) -> Result<()> {
    let Some(id) = session.sandbox_id.as_ref().filter(|_| !session.allow_cross_session) else { return Ok(()) };
    if *id == *this.id || *id == *root_id || planted(Bug::SessionNotChecked) {
        return Ok(());
    }
    // An id tells its root by its shape, unless it had to be cut. Then its workspace knows.
    let by_shape = root_of(id);
    let root = if by_shape == *root_id {
        by_shape
    } else {
        this.ports.workspaces()?.root(id).await.map_err(|failure| from_workspace(failure, id))?
    };
    if root == *root_id {
        return Ok(());
    }
    Err(Error::new(
        Code::CrossSession,
        format!(
            "The session of {:?} belongs to the lineage of {:?}, and what was asked for to that of {:?}.",
            id.as_str(),
            root.as_str(),
            root_id.as_str()
        ),
        "Use a snapshot of the session's own lineage, or pass `allowCrossSession: true` if this is meant.",
    ))
}

/// Makes sure that this workspace may be used in a session.
pub(super) async fn check_workspace<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, session: &Session) -> Result<()> {
    check(this, session, &this.workspace()?.root_id).await
}
