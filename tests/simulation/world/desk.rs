//! The world as one object of the service sees it.

use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::{Code, Error, Result, Timestamp};
use sandbox_snapshotter::ports::{Background, Clock, Entropy, Ports};
use sandbox_snapshotter::service::limits::TimeLimited;

use super::workspaces::Others;
use super::{Watched, WatchedHome, World};
use crate::executor::Group;

/// What is the same for every object: sandboxes, bucket, clock and randomness.
#[derive(Clone)]
pub struct Outside(pub Rc<World>);

impl Deref for Outside {
    type Target = Rc<World>;

    fn deref(&self) -> &Rc<World> {
        &self.0
    }
}

/// The ports of one object in memory.
pub struct Desk {
    outside: Outside,
    sandboxes: TimeLimited<Outside, Outside>,
    others: Others,
    /// Absent at the entrypoint.
    ledger: Option<Rc<Watched>>,
    /// Absent where this is not the object of a name.
    home: Option<Rc<WatchedHome>>,
    life: Life,
}

/// What runs as long as the object is in memory.
pub struct Life {
    world: Rc<World>,
    group: Group,
}

impl Desk {
    /// The desk of an object, or of the entrypoint.
    pub fn new(world: &Rc<World>, ledger: Option<Rc<Watched>>, home: Option<Rc<WatchedHome>>, group: Group) -> Self {
        Self {
            outside: Outside(Rc::clone(world)),
            sandboxes: TimeLimited::new(Rc::new(Outside(Rc::clone(world))), Rc::new(Outside(Rc::clone(world)))),
            others: Others(Rc::clone(world)),
            ledger,
            home,
            life: Life { world: Rc::clone(world), group },
        }
    }
}

impl Ports for Desk {
    type Sandboxes = TimeLimited<Outside, Outside>;
    type Backups = Outside;
    type Ledger = Watched;
    type Workspaces = Others;
    type Home = WatchedHome;
    type Names = Others;
    type Clock = Outside;
    type Entropy = Outside;
    type Background = Life;

    fn sandboxes(&self) -> Result<&Self::Sandboxes> {
        Ok(&self.sandboxes)
    }

    fn backups(&self) -> Result<&Outside> {
        Ok(&self.outside)
    }

    fn ledger(&self) -> Result<&Watched> {
        self.ledger.as_deref().ok_or_else(|| Error::new(Code::Internal, "There is no ledger here.", "Report it."))
    }

    fn workspaces(&self) -> Result<&Others> {
        Ok(&self.others)
    }

    fn home(&self) -> Result<&WatchedHome> {
        self.home.as_deref().ok_or_else(|| Error::new(Code::Internal, "There is no home here.", "Report it."))
    }

    fn names(&self) -> Result<&Others> {
        Ok(&self.others)
    }

    fn clock(&self) -> &Outside {
        &self.outside
    }

    fn entropy(&self) -> &Outside {
        &self.outside
    }

    fn background(&self) -> &Life {
        &self.life
    }
}

impl Clock for Outside {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.now())
    }

    async fn sleep(&self, duration: Duration) {
        self.0.sleep(i64::try_from(duration.as_millis()).unwrap()).await;
    }
}

impl Entropy for Outside {
    fn bytes(&self) -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.chance.next().to_le_bytes());
        }
        Ok(bytes)
    }
}

impl Background for Life {
    fn run(&self, work: LocalBoxFuture<'static, ()>) {
        self.world.executor.spawn(self.group, work);
    }
}
