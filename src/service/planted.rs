//! Mistakes that somebody could make, planted for the simulation, which has to find every one of them. They are there with
//! the feature `planted` only: without it [`planted`] is `false`, and nothing is left of them.

#[cfg(feature = "planted")]
use crate::model::policy::{Candidate, Policy};

/// Declares the mistakes, and what each of them is.
macro_rules! bugs {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A mistake that can be planted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug { $($(#[doc = $doc])+ $name,)+ }

        impl Bug {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];
        }
    };
}

bugs! {
    /// A capture is begun without a row that says so.
    CaptureWithoutIntention,
    /// A restore that failed leaves its sandbox as it is.
    RestoreNotUndone,
    /// A sandbox that was destroyed is not looked at again.
    DestroyedOnce,
    /// A sandbox that was destroyed is looked at again too early, when a restore may still go on in it.
    LookedAtTooEarly,
    /// The container is not compared after a capture.
    ContainerNotCompared,
    /// A capture whose worker died is adopted without comparing the container.
    AdoptedUncompared,
    /// The note that a container took the place of another one is not read.
    NoteNotRead,
    /// A backup is deleted whosever mark it carries.
    MarkNotChecked,
    /// Retention lets go what others need.
    HoldersIgnored,
    /// Retention lets go what is pinned.
    PinsIgnored,
    /// Retention lets go the newest snapshot.
    NewestIgnored,
    /// Retention keeps one snapshot less than was asked for.
    OneLess,
    /// A forced delete does not wait for a restore that is under way.
    DeletedWhileRestored,
    /// The signature of a ref is not checked.
    SignatureNotChecked,
    /// The lineage of a session is not checked.
    SessionNotChecked,
    /// A key is answered whatever the call is.
    PayloadNotCompared,
    /// The answer to a key is not kept.
    AnswerNotKept,
    /// A sandbox whose maker died is not followed up.
    PendingNotFollowedUp,
    /// A failure of R2 that passes is taken for damage.
    FailureIsDamage,
    /// A snapshot counts as deleted although R2 failed to delete it.
    DeletedTooEarly,
    /// A capture that is under way is shared with callers who wrote after it began.
    FreshShared,
    /// A minted id is used although it is somebody's.
    ClaimIgnored,
    /// Word that a snapshot is not needed any more changes nothing.
    ReleaseIgnored,
    /// A sweep deletes what a ledger owns.
    OwnerIgnored,
    /// A label is taken from another snapshot, which keeps it.
    LabelTwice,
    /// A capture writes the label that it had in the beginning.
    LabelOutdated,
    /// A call that was aborted makes its sandbox all the same.
    AbortIgnored,
    /// Expirations that come while an alarm works are forgotten.
    ExpirationMissed,
    /// A snapshot that was held by a restore which failed expires no more.
    ExpirationNotReconsidered,
    /// It is not kept that a look or a capture may have started a container.
    DoubtNotKept,
    /// What a capture left in doubt whose worker died is forgotten.
    DoubtOfCaptureLost,
    /// A container is captured whatever marker it carries.
    MarkerNotRequired,
    /// A container is marked after it was captured.
    MarkedAfterCapture,
    /// A container is marked whenever it was started.
    AgeNotCompared,
    /// A rescue snapshot gives up what the sandbox was made from, and counts in retention.
    RescueReleases,
    /// Any container that runs is taken for the workspace's.
    StampNotChecked,
    /// A sandbox is filled before it is looked at.
    FilledUnseen,
    /// A sandbox is ended although it could not be captured.
    EndedUncaptured,
    /// What is changed during a capture is not captured again.
    CapturedOnce,
    /// What was written since a sandbox woke by itself is overwritten unasked.
    DivergedOverwritten,
    /// What somebody began to keep is taken for what somebody began to fill.
    KeptIsUnfinished,
    /// What is kept is not looked at again.
    KeptUnseen,
    /// A workspace is started from files that were put aside.
    AsideStartedFrom,
    /// A workspace is started from an older snapshot, where the newest is damaged.
    DamagedPassedOver,
    /// It is not kept that a sandbox was handed out.
    OpenedNotKept,
    /// A snapshot of a part of the files gives up what the workspace was made from.
    PartGivesUpHold,
    /// A sandbox is captured while it is filled.
    CapturedHalfFilled,
    /// What nobody finished to fill is not ended.
    UnfinishedNotEnded,
    /// A workspace that is deleted lets go what others hold.
    RetiredIgnoresHolders,
    /// A sandbox that was retired before it was claimed can still be claimed.
    RetiredStillClaimed,
    /// A reservation that is asked for again is refused.
    ReservedOnce,
    /// A reservation is noted although the sandbox was retired meanwhile.
    ReservedTooLate,
    /// A sandbox is claimed for a name whosever it is.
    ClaimedFromOthers,
    /// A snapshot is found for another tenant.
    TenantNotChecked,
    /// A name points to its new sandbox before that is up.
    PointedTooEarly,
    /// The sandbox that a name had before goes on running.
    FormerNotQuieted,
    /// Only the last sandbox of a deleted workspace is retired.
    FormerNotRetired,
    /// What could not be done is not tried again.
    ChoreForgotten,
    /// A state in which somebody died stays as it is.
    PassingNotEnded,
    /// A sandbox that was being made when somebody died is left alone.
    RecoveredUnquieted,
    /// The same fork is made anew each time.
    ForkNotKept,
}

#[cfg(feature = "planted")]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Plants a bug on this thread, in place of the one before.
#[cfg(feature = "planted")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

/// Whether a bug is planted.
#[cfg(feature = "planted")]
pub(super) fn planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Whether a bug is planted: never.
#[cfg(not(feature = "planted"))]
pub(super) const fn planted(_: Bug) -> bool {
    false
}

/// What a decision of retention is made of, with the bugs that are planted there.
#[cfg(feature = "planted")]
pub(super) fn spoiled(policy: &Policy, mut candidates: Vec<Candidate>) -> (Policy, Vec<Candidate>) {
    let mut policy = policy.clone();
    for candidate in &mut candidates {
        candidate.pinned &= !planted(Bug::PinsIgnored);
        candidate.good &= !planted(Bug::NewestIgnored);
        if planted(Bug::HoldersIgnored) {
            candidate.holders.clear();
        }
    }
    if let Some(rule) = policy.keep_last.as_mut().filter(|_| planted(Bug::OneLess)) {
        rule.count = std::num::NonZeroU32::new(rule.count.get() - 1).unwrap_or(rule.count);
    }
    (policy, candidates)
}
