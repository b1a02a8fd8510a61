//! Operations on the sandbox of a named workspace. The files are those of `src/service/workspace/sandbox`.

mod capture;
mod condition;
mod decommission;
mod ensure_running;
mod hidden;
mod hooks;
mod late_destroy;
mod marker;
mod reconcile;
mod reserve;
mod revive;
mod saved_state;
mod source;
mod stale;
mod stop_sandbox;
mod switch_runtime;
