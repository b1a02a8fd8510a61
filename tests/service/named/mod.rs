//! Workspaces that persist by name: the same order of files as `src/service/named`.

mod create;
mod delete;
mod everywhere;
mod expire;
mod fork;
mod list;
mod meanwhile;
mod plays;
mod recover;
mod relocate;
mod start;
mod stop;
mod unanswered;
mod update;
