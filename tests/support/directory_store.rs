//! An in-memory `DirectoryStore`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::{State, WorkspaceName};
use sandbox_snapshotter::model::{Result, Timestamp};
use sandbox_snapshotter::ports::DirectoryStore;

/// A [`DirectoryStore`] in memory, without persistence. It passes the same conformance suite as the SQL implementation.
#[derive(Default)]
pub struct MemoryDirectoryStore(RefCell<BTreeMap<WorkspaceName, WorkspaceEntry>>);

impl DirectoryStore for MemoryDirectoryStore {
    fn entry(&self, name: &WorkspaceName) -> Result<Option<WorkspaceEntry>> {
        Ok(self.0.borrow().get(name).cloned())
    }

    fn put_entry(&self, entry: &WorkspaceEntry) -> Result<()> {
        self.0.borrow_mut().insert(entry.name.clone(), entry.clone());
        Ok(())
    }

    fn delete_tombstones(&self, before: Timestamp) -> Result<()> {
        self.0.borrow_mut().retain(|_, entry| entry.state != State::Deleted || entry.updated_at >= before);
        Ok(())
    }

    fn entries(&self, after: Option<&WorkspaceName>, prefix: Option<&str>, limit: u32) -> Result<Vec<WorkspaceEntry>> {
        let entries = self.0.borrow();
        let page = entries
            .values()
            .filter(|entry| entry.state != State::Deleted)
            .filter(|entry| after.is_none_or(|after| entry.name > *after))
            .filter(|entry| prefix.is_none_or(|prefix| entry.name.as_str().starts_with(prefix)));
        Ok(page.take(limit as usize).cloned().collect())
    }
}
