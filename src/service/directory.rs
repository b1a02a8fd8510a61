//! The list of a tenant's workspaces: what it was told about them. It may lag behind, and nothing waits for it.

use crate::model::Result;
use crate::model::named::State;
use crate::model::named::answer::{Entries, Entry};
use crate::model::request::NamesRequest;
use crate::ports::Index;

/// How long it is known of a workspace that it is gone, in milliseconds: a day. Older news of it does not come later.
const REMEMBERED_MILLIS: i64 = 24 * 3600 * 1000;

/// Notes what has become of a workspace. What is older than what is known already changes nothing.
pub fn note(index: &impl Index, entry: &Entry) -> Result<()> {
    let known = index.entry(&entry.name)?;
    if known.is_some_and(|known| known.version >= entry.version) {
        return Ok(());
    }
    index.put_entry(entry)?;
    if entry.state == State::Deleted {
        index.forget_gone(entry.updated_at.plus_millis(-REMEMBERED_MILLIS))?;
    }
    Ok(())
}

/// A page of the workspaces that there are, in the order of their names.
pub fn list(index: &impl Index, request: &NamesRequest) -> Result<Entries> {
    let mut workspaces = index.entries(request.cursor.as_ref(), request.prefix.as_deref(), request.limit + 1)?;
    let has_more = workspaces.len() > request.limit as usize;
    workspaces.truncate(request.limit as usize);
    let cursor = workspaces.last().filter(|_| has_more).map(|entry| entry.name.to_string());
    Ok(Entries { workspaces, cursor })
}
