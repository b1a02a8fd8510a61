//! What the service can do with sandboxes.

use std::collections::BTreeMap;
use std::rc::Rc;

use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::named::answer::HookRun;
use sandbox_snapshotter::model::named::settings::Hook;
use sandbox_snapshotter::model::named::standing::{Begun, Survey};
use sandbox_snapshotter::model::{
    Arrival, BackupHandle, BackupOptions, Directory, Failure, Mark, Place, Probe, SandboxId, SandboxState,
    StampOutcome, Stamping, Status,
};
use sandbox_snapshotter::ports::{Sandboxes, Visit};

use super::desk::Outside;
use super::sandboxes::OF_IMAGE;
use super::{Service, Truth, World};
use crate::rules::lifecycle;

/// How long the download of an archive takes at most, in milliseconds.
const DOWNLOAD: u32 = 6000;

impl Outside {
    /// Something that happens in the container, which is started.
    async fn within<T: 'static>(
        &self,
        id: &SandboxId,
        act: impl FnOnce(&Rc<World>, &SandboxId) -> Result<T, Failure> + 'static,
    ) -> Result<T, Failure> {
        let stands = self.stands(id);
        let id = id.clone();
        let act = async move |world: Rc<World>| {
            let number = world.started(&id).await;
            world.moment().await;
            world.goes_on(&id, number)?;
            act(&world, &id)
        };
        if stands {
            return self.change(Service::Sandboxes, act).await;
        }
        // One that comes late may wake a sandbox without a name when nothing is in doubt any more: only a marker in each of its
        // containers would tell.
        self.change_in_time(Service::Sandboxes, act).await
    }
}

/// The container carries another stamp from now on.
fn stamps(world: &Rc<World>, id: &SandboxId, to: &Stamp) {
    lifecycle::is_stamped(world, id, to);
    world.trace(&format_args!("{id} is {to}"));
    let since = world.busy_since(id);
    world.inside(id, |container, now| {
        if container.stamp.replace(to.clone()).is_none() {
            (container.stamped_at, container.begun_at) = (now, since);
        }
        (container.is_stirred, container.looked_at) = (false, now);
    });
}

fn surveyed(world: &Rc<World>, id: &SandboxId) -> Survey {
    world.inside(id, |container, _| Survey {
        image: format!("image {}", container.image),
        listing: (!container.files.is_empty()).then(|| format!("{:?}", container.files)),
    })
}

fn hashed(world: &Rc<World>, id: &SandboxId, files: &[String]) -> BTreeMap<String, String> {
    world.inside(id, |container, _| {
        let content = |path: &String| match path.parse::<u8>() {
            Ok(file) => container.files.get(&file).map(u64::to_string).unwrap_or_default(),
            Err(_) => container.image.to_string(),
        };
        files.iter().map(|path| (path.clone(), content(path))).collect()
    })
}

/// Somebody who is at a sandbox.
pub struct Visiting<'a> {
    outside: &'a Outside,
    id: &'a SandboxId,
}

impl Visit for Visiting<'_> {
    async fn name(&self) -> Result<(), Failure> {
        self.outside.look(Service::Sandboxes, || Ok(())).await
    }

    async fn probe(&self, dir: &Directory) -> Result<Probe, Failure> {
        self.outside.probe(self.id, dir).await
    }

    async fn stamp(&self, from: Option<&Stamp>, to: &Stamp) -> Result<Stamping, Failure> {
        Sandboxes::stamp(self.outside, self.id, from, to, None).await
    }

    async fn arrive(
        &self,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        self.outside.arrive(self.id, backup, from, to, may_be_empty).await
    }

    async fn make_directory(&self, _: &Directory) -> Result<(), Failure> {
        self.outside.within(self.id, |_, _| Ok(())).await
    }

    async fn create_backup(&self, options: &BackupOptions, _: Option<u64>) -> Result<BackupHandle, Failure> {
        let (id, options) = (self.id.clone(), options.clone());
        let store = |world: Rc<World>| {
            let (before, done) = world.stand_in_line(&id);
            async move {
                if let Some(before) = before {
                    before.await.ok();
                }
                world.moment().await;
                let number = world.started(&id).await;
                world.moment().await;
                world.goes_on(&id, number)?;
                let truth = world.inside(&id, |container, now| {
                    container.captures.push(now);
                    Truth {
                        sandbox: id.clone(),
                        files: container.files.clone(),
                        started_at: container.started_at,
                        is_accident: container.is_accident,
                        stamp: container.stamp.clone(),
                        captured_at: now,
                    }
                });
                world.moment().await;
                // No two are made in the same millisecond.
                world.sleep(1).await;
                if world.strikes(world.weather.fails / 4) {
                    return Err(Failure::new("BackupCreateError", "mksquashfs").with_code("BACKUP_CREATE_FAILED"));
                }
                if Mark::parse(&options.name).is_none_or(|mark| mark.origin_id != id) {
                    world.violated("rule 4, what is stored can be traced", &format_args!("{:?}", options.name));
                }
                let handle = world.store(truth, Some(&options.name), options.dir.as_str(), options.ttl);
                drop(done);
                Ok(handle)
            }
        };
        self.outside.change(Service::Sandboxes, store).await
    }

    async fn restore_backup(&self, backup: &BackupHandle, _: u64) -> Result<(), Failure> {
        let (id, backup, asked_at) = (self.id.clone(), backup.id().clone(), self.outside.now());
        let apply = |world: Rc<World>| {
            let (before, done) = world.stand_in_line(&id);
            async move {
                if let Some(before) = before {
                    before.await.ok();
                }
                let files = world.fetch(&backup)?;
                if world.chance.one_in(3) {
                    // A large archive takes its time, before anything is started.
                    world.sleep(world.chance.millis(DOWNLOAD)).await;
                }
                world.moment().await;
                let number = world.started(&id).await;
                world.moment().await;
                world.goes_on(&id, number)?;
                lifecycle::is_restored_into(&world, &id, &backup, asked_at);
                world.inside(&id, |container, _| {
                    // What is mounted over the directory hides what the image has there.
                    container.files.remove(&OF_IMAGE);
                    container.files.extend(files);
                    container.is_accident = false;
                    container.is_stirred = true;
                });
                world.trace(&format_args!("restored {backup} into {id}"));
                drop(done);
                Ok(())
            }
        };
        self.outside.change(Service::Sandboxes, apply).await
    }
}

impl Sandboxes for Outside {
    type Visit<'a> = Visiting<'a>;

    fn visit<'a>(&'a self, id: &'a SandboxId) -> Visiting<'a> {
        Visiting { outside: self, id }
    }

    async fn state(&self, id: &SandboxId) -> Result<SandboxState, Failure> {
        let look = || {
            #[allow(clippy::cast_precision_loss)] // Milliseconds of our age are exact.
            let seen = self.with(id, |sandbox, _| SandboxState {
                status: sandbox.believed.unwrap_or(Status::Down),
                last_change: sandbox.last_change as f64,
            });
            Ok(seen)
        };
        self.look(Service::Sandboxes, look).await
    }

    async fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>) -> Result<(), Failure> {
        self.keep_awake(id, idle_seconds).await
    }

    async fn probe(&self, id: &SandboxId, _: &Directory) -> Result<Probe, Failure> {
        let look = |world: &Rc<World>, id: &SandboxId| {
            let probe = world.inside(id, |container, now| Probe {
                age_millis: (now - container.started_at) / 10 * 10,
                took_millis: 0,
                place: if container.files.is_empty() { Place::Empty } else { Place::Full },
                took_place: container.took_place,
                stamp: container.stamp.clone(),
            });
            world.trace(&format_args!("a look into {id}: {probe:?}"));
            Ok(probe)
        };
        self.within(id, look).await
    }

    async fn note_took_place(&self, id: &SandboxId, note: bool) -> Result<(), Failure> {
        let leave = move |world: &Rc<World>, id: &SandboxId| {
            world.inside(id, |container, _| container.took_place = note);
            Ok(())
        };
        self.within(id, leave).await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), Failure> {
        let (id, asked_at) = (id.clone(), self.now());
        let end = async move |world: Rc<World>| {
            world.moment().await;
            lifecycle::is_ended(&world, &id, asked_at);
            world.trace(&format_args!("destroys {id}"));
            world.with(&id, |sandbox, now| {
                sandbox.container = None;
                sandbox.believe(Status::Down, now);
            });
            Ok(())
        };
        self.change(Service::Sandboxes, end).await
    }

    async fn keep_awake(&self, id: &SandboxId, seconds: Option<u64>) -> Result<(), Failure> {
        let id = id.clone();
        let say = async move |world: Rc<World>| {
            world.with(&id, |sandbox, _| sandbox.awake = Some(seconds));
            Ok(())
        };
        self.change(Service::Sandboxes, say).await
    }

    async fn set_env(&self, _: &SandboxId, _: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
        self.look(Service::Sandboxes, || Ok(())).await
    }

    async fn stamp(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        older_than_millis: Option<i64>,
    ) -> Result<Stamping, Failure> {
        let (from, to) = (from.cloned(), to.clone());
        let stamp = move |world: &Rc<World>, id: &SandboxId| {
            let (stamp, took_place, age_millis) = world.inside(id, |container, now| {
                (container.stamp.clone(), container.took_place, (now - container.started_at) / 10 * 10)
            });
            let outcome = if older_than_millis.is_some() && took_place {
                StampOutcome::TooYoung
            } else if stamp != from {
                StampOutcome::Other(stamp)
            } else if older_than_millis.is_some_and(|millis| age_millis < millis) {
                StampOutcome::TooYoung
            } else {
                stamps(world, id, &to);
                StampOutcome::Done
            };
            world.trace(&format_args!("{id} of {age_millis} ms, older than {older_than_millis:?}: {outcome:?}"));
            Ok(Stamping { age_millis, took_millis: 0, outcome })
        };
        self.within(id, stamp).await
    }

    async fn begin(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        _: &Directory,
        files: &[String],
    ) -> Result<Option<Begun>, Failure> {
        let (from, to, files) = (from.cloned(), to.clone(), files.to_vec());
        let begin = move |world: &Rc<World>, id: &SandboxId| {
            if world.inside(id, |container, _| container.stamp != from) {
                return Ok(None);
            }
            stamps(world, id, &to);
            Ok(Some(Begun { survey: surveyed(world, id), hashes: hashed(world, id, &files) }))
        };
        self.within(id, begin).await
    }

    async fn arrive(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> Result<Arrival, Failure> {
        let (from, to, backup) = (from.clone(), to.clone(), backup.id().clone());
        let arrive = move |world: &Rc<World>, id: &SandboxId| {
            let (stamp, is_empty) =
                world.inside(id, |container, _| (container.stamp.clone(), container.files.is_empty()));
            if stamp.as_ref() == Some(&to) {
                return Ok(Arrival::Done);
            }
            if stamp.as_ref() != Some(&from) {
                return Ok(Arrival::OtherContainer);
            }
            if is_empty && !may_be_empty {
                return Ok(Arrival::NotThere(Place::Empty));
            }
            if world.strikes(250) {
                // An application opened a session in it before the files came.
                return Ok(Arrival::Below("9 bash".to_owned()));
            }
            lifecycle::has_arrived(world, id, &backup);
            stamps(world, id, &to);
            Ok(Arrival::Done)
        };
        self.within(id, arrive).await
    }

    async fn survey(&self, id: &SandboxId, _: &Directory) -> Result<Survey, Failure> {
        self.within(id, |world: &Rc<World>, id: &SandboxId| Ok(surveyed(world, id))).await
    }

    async fn hashes(
        &self,
        id: &SandboxId,
        _: &Directory,
        files: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        let files = files.to_vec();
        self.within(id, move |world: &Rc<World>, id: &SandboxId| Ok(hashed(world, id, &files))).await
    }

    async fn watch(&self, id: &SandboxId) -> Result<(), Failure> {
        self.stirred(id, &Directory::parse("/workspace").unwrap()).await.map(drop)
    }

    async fn ignored_below(&self, id: &SandboxId, _: &Directory) -> Result<Vec<String>, Failure> {
        self.within(id, |_, _| Ok(Vec::new())).await
    }

    async fn stirred(&self, id: &SandboxId, _: &Directory) -> Result<bool, Failure> {
        let look = |world: &Rc<World>, id: &SandboxId| {
            Ok(world.inside(id, |container, now| {
                container.looked_at = now;
                std::mem::replace(&mut container.is_stirred, false)
            }))
        };
        self.within(id, look).await
    }

    async fn run_hook(
        &self,
        id: &SandboxId,
        stamp: &Stamp,
        _: &Directory,
        name: &str,
        hook: &Hook,
        _: &BTreeMap<String, String>,
    ) -> Result<Option<HookRun>, Failure> {
        let (id, stamp, name, hook) = (id.clone(), stamp.clone(), name.to_owned(), hook.clone());
        let run = async move |world: Rc<World>| {
            let number = world.started(&id).await;
            world.moment().await;
            world.goes_on(&id, number)?;
            if world.inside(&id, |container, _| container.stamp.as_ref() != Some(&stamp)) {
                return Ok(None);
            }
            world.count("hooks");
            let does = |what: &str| hook.command.contains(what);
            let content = world.serial();
            if does("write") {
                world.inside(&id, |container, now| {
                    container.write(5, content, now);
                    // What a hook writes before anybody works there is written again by the next one.
                    if !stamp.is_ready() {
                        container.writes.remove(&5);
                    }
                });
            }
            let fails = does("fail") && world.strikes(5000);
            let hangs = does("hang") && world.strikes(5000);
            if hangs {
                world.sleep(i64::from(hook.timeout_seconds) * 1000).await;
                world.goes_on(&id, number)?;
            }
            let (ok, exit_code) = (!fails && !hangs, (!hangs).then_some(i32::from(fails)));
            Ok(Some(HookRun { hook: name, ok, exit_code, timed_out: hangs, output: String::new() }))
        };
        self.change(Service::Sandboxes, run).await
    }

    async fn checkpoint(
        &self,
        _: &SandboxId,
        _: &Directory,
        _: Meant,
        _: &CheckpointCall,
    ) -> Result<Result<CheckpointDone, CheckpointRefusal>, Failure> {
        Err(Failure::unexpected("the simulation", "nobody there uses checkpoints"))
    }
}
