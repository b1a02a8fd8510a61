//! The alarm of a sandbox's ledger, and recovery.

mod alarm;
mod recover;
