//! An in-memory `DirectoryStore`, with tokens.

use std::cell::RefCell;
use std::collections::BTreeMap;

use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::{State, WorkspaceName};
use sandbox_snapshotter::model::token::TokenId;
use sandbox_snapshotter::model::token_record::TokenRecord;
use sandbox_snapshotter::model::{Result, Timestamp};
use sandbox_snapshotter::ports::{DirectoryStore, TokenStore};

/// A [`DirectoryStore`] and [`TokenStore`] in memory, without persistence. It passes the same conformance suite as the SQL
/// implementation.
#[derive(Default)]
pub struct MemoryDirectoryStore {
    entries: RefCell<BTreeMap<WorkspaceName, WorkspaceEntry>>,
    tokens: RefCell<BTreeMap<TokenId, TokenRecord>>,
}

impl DirectoryStore for MemoryDirectoryStore {
    fn entry(&self, name: &WorkspaceName) -> Result<Option<WorkspaceEntry>> {
        Ok(self.entries.borrow().get(name).cloned())
    }

    fn put_entry(&self, entry: &WorkspaceEntry) -> Result<()> {
        self.entries.borrow_mut().insert(entry.name.clone(), entry.clone());
        Ok(())
    }

    fn delete_tombstones(&self, before: Timestamp) -> Result<()> {
        self.entries.borrow_mut().retain(|_, entry| entry.state != State::Deleted || entry.updated_at >= before);
        Ok(())
    }

    fn entries(&self, after: Option<&WorkspaceName>, prefix: Option<&str>, limit: u32) -> Result<Vec<WorkspaceEntry>> {
        let entries = self.entries.borrow();
        let page = entries
            .values()
            .filter(|entry| entry.state != State::Deleted)
            .filter(|entry| after.is_none_or(|after| entry.name > *after))
            .filter(|entry| prefix.is_none_or(|prefix| entry.name.as_str().starts_with(prefix)));
        Ok(page.take(limit as usize).cloned().collect())
    }
}

impl TokenStore for MemoryDirectoryStore {
    fn token(&self, id: &TokenId) -> Result<Option<TokenRecord>> {
        Ok(self.tokens.borrow().get(id).cloned())
    }

    fn tokens(&self) -> Result<Vec<TokenRecord>> {
        Ok(self.tokens.borrow().values().cloned().collect())
    }

    fn put_token(&self, record: &TokenRecord) -> Result<()> {
        self.tokens.borrow_mut().insert(record.token.id.clone(), record.clone());
        Ok(())
    }

    fn delete_token(&self, id: &TokenId) -> Result<bool> {
        Ok(self.tokens.borrow_mut().remove(id).is_some())
    }
}
