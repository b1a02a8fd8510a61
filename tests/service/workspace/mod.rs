//! Named workspaces. The files are those of `src/service/workspace`.

mod alarm;
mod autosave;
mod causes;
mod concurrent_calls;
mod create;
mod delete;
mod directory;
mod faults_at_every_call;
mod fork;
mod get_or_create;
mod image;
mod loss;
mod migrate;
mod platform;
mod platform_loss;
mod platform_moves;
mod promote;
mod recover;
mod relocate;
mod sandbox;
mod scenarios;
mod start;
mod stop;
mod unanswered;
mod update;
