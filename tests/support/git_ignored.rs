//! What git ignores in a container.

use std::collections::BTreeSet;

use sandbox_snapshotter::model::Directory;
use sandbox_snapshotter::model::exclude::{IgnoredNames, MAX_QUOTED};

use super::containers::is_under;
use super::{Container, Scheduler};

impl<S: Scheduler> Container<S> {
    /// Returns the names of what git ignores in `dir`.
    pub(super) fn ignored_names(&self, dir: &Directory) -> IgnoredNames {
        let in_dir = |path: &String| path.strip_prefix(&format!("{dir}/")).map(str::to_owned);
        let (ignored, kept): (Vec<_>, Vec<_>) = self
            .files
            .keys()
            .filter_map(in_dir)
            .partition(|path| self.ignored.iter().any(|own| path == own || is_under(path, own)));
        let is_used = |own: &&String| ignored.iter().any(|path| path == *own || is_under(path, own));
        let name_of = |path: &String| path.rsplit('/').next().unwrap().to_owned();
        let names: BTreeSet<String> = self.ignored.iter().filter(is_used).map(name_of).collect();
        let with_name = |path: &String| {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            let mut paths = ends.map(|end| path[..end].to_owned());
            paths.find(|path| names.contains(&name_of(path)))
        };
        let kept: BTreeSet<String> = kept.iter().filter_map(with_name).collect();
        IgnoredNames { names: names.into_iter().collect(), kept: kept.into_iter().take(MAX_QUOTED + 1).collect() }
    }
}
