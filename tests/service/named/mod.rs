//! Named workspaces. The files are those of `src/service/named`.

mod alarm;
mod concurrent_calls;
mod create;
mod delete;
mod faults_at_every_call;
mod fork;
mod list;
mod recover;
mod relocate;
mod scenarios;
mod start;
mod stop;
mod unanswered;
mod update;
