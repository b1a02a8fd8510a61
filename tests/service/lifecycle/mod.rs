//! What the workspace of one sandbox does when that stands for a name: the same order of files as `src/service/lifecycle`.

mod capture;
mod halt;
mod hooks;
mod look;
mod reserve;
mod resume;
mod retire;
mod settle;
mod source;
mod stale;
mod stamp;
