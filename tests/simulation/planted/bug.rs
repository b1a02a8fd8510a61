//! The planted bugs: mistakes that the simulation must find.

/// Declares the bugs, with a description of each.
macro_rules! bugs {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A bug that can be planted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug { $($(#[doc = $doc])+ $name,)+ }

        impl Bug {
            /// All bugs.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];
        }
    };
}

bugs! {
    /// A capture begins without a row in the ledger.
    CaptureNotRecorded,
    /// A failed restore does not destroy its sandbox.
    RestoreNotRolledBack,
    /// A destroyed sandbox is not checked again.
    DestroyNotRechecked,
    /// A destroyed sandbox is checked again too early, while a restore may still run in it.
    RecheckedTooEarly,
    /// The container is not compared after a capture.
    ContainerNotCompared,
    /// Recovery completes a capture whose object ended, without comparing the container.
    RecoveredWithoutComparison,
    /// The flag that a container replaced another one is not read.
    ReplacementFlagIgnored,
    /// A backup is deleted without a check of its owner mark.
    BackupOwnerNotChecked,
    /// Retention removes snapshots that other sandboxes depend on.
    DependentsIgnored,
    /// Retention removes pinned snapshots.
    PinsIgnored,
    /// Retention removes the newest restorable snapshot.
    NewestNotKept,
    /// Retention keeps one snapshot fewer than `keep_last` requires.
    KeepLastOffByOne,
    /// A forced delete does not wait for a restore in progress.
    DeletedDuringRestore,
    /// The signature of a ref is not checked.
    SignatureNotChecked,
    /// The lineage scope of a call is not checked.
    LineageScopeNotChecked,
    /// An idempotency key returns its stored answer to a call with other arguments.
    ArgumentsNotCompared,
    /// A call that captures several times answers with the first capture.
    FirstCaptureAnswered,
    /// The answer to a call with an idempotency key is not stored.
    AnswerNotStored,
    /// Recovery ignores a sandbox whose restore was interrupted.
    PendingNotReconciled,
    /// A transient failure of R2 is recorded as damage.
    FailureRecordedAsDamage,
    /// A snapshot is recorded as deleted although R2 failed to delete it.
    DeletedTooEarly,
    /// A capture in progress is shared with a caller that requested a capture begun after its call.
    StaleCaptureShared,
    /// A minted id is used although it is taken.
    ClaimIgnored,
    /// The release of a snapshot is ignored.
    ReleaseIgnored,
    /// A sweep deletes backups that a ledger lists.
    SweepIgnoresLedger,
    /// A label is assigned to a second snapshot, and the first snapshot keeps it too.
    LabelNotUnique,
    /// A finished capture overwrites a label change that was made while it ran.
    LabelChangeOverwritten,
    /// A canceled call still creates its sandbox.
    CancellationIgnored,
    /// Snapshots that expire while an alarm runs are missed.
    ExpirationMissed,
    /// A snapshot that a failed restore referenced never expires.
    ExpirationNotUpdated,
    /// The ledger does not record that a probe or a capture may have started a container.
    UnverifiedNotStored,
    /// The unverified state that an interrupted capture left is lost.
    UnverifiedCaptureLost,
    /// A container is captured without a check of its marker.
    MarkerNotRequired,
    /// A container is marked after it was captured.
    MarkedAfterCapture,
    /// A container is marked without a check of its age.
    AgeNotCompared,
    /// A rescue snapshot releases the snapshot that the sandbox was created from, and counts in retention.
    RescueReleasesReference,
    /// Any running container is accepted as the sandbox's own.
    MarkerNotChecked,
    /// Files are restored into a sandbox before it is probed.
    RestoredWithoutProbe,
    /// A container is ended although its capture failed.
    EndedAfterFailedCapture,
    /// Files that change during a capture are not captured again.
    ChangesNotRecaptured,
    /// Files that were written after a cold start are overwritten without permission.
    DivergedOverwritten,
    /// An interrupted adoption is treated as an interrupted restore.
    AdoptionTreatedAsRestore,
    /// An adopted container is not probed again.
    AdoptedWithoutProbe,
    /// A workspace is started from a rescue snapshot.
    StartedFromRescue,
    /// A workspace is started from an older snapshot when the newest is damaged.
    DamagedSnapshotSkipped,
    /// The ledger does not record that a sandbox was returned to a caller.
    FirstStartNotStored,
    /// A snapshot of only some of the files releases the snapshot that the workspace was made from.
    PartialReleasesReference,
    /// A sandbox is captured while files are restored into it.
    CapturedDuringRestore,
    /// A container with an unfinished restore is not ended.
    UnfinishedRestoreNotEnded,
    /// Deleting a workspace removes snapshots that other workspaces depend on.
    DecommissionIgnoresDependents,
    /// A sandbox that was decommissioned before it was claimed can still be claimed.
    DecommissionedStillClaimed,
    /// A repeated reservation is refused.
    RepeatedReservationRefused,
    /// A reservation is recorded although the sandbox was decommissioned in the meantime.
    ReservedAfterDecommission,
    /// A sandbox is claimed for a named workspace although it belongs to another one.
    ClaimedFromOtherWorkspace,
    /// A snapshot is found for another tenant.
    TenantNotChecked,
    /// A start does not report that files may be lost.
    LossNotReported,
    /// A named workspace is bound to its new sandbox before that is running.
    BoundTooEarly,
    /// The former sandbox of a named workspace keeps running.
    FormerSandboxNotEnded,
    /// Only the last sandbox of a deleted workspace is decommissioned.
    FormerSandboxNotDecommissioned,
    /// A failed task is not retried.
    TaskNotRetried,
    /// An interrupted transition of a named workspace is not reconciled.
    TransitionNotReconciled,
    /// Recovery does not end a sandbox whose creation was interrupted.
    InterruptedCreationNotEnded,
    /// A repeated fork creates another workspace each time.
    ForkNotStored,
    /// The container that a capture expects is not passed to the sandbox.
    ExpectedContainerNotPassed,
    /// The sandbox does not compare its container with the expected one.
    ExpectedContainerNotCompared,
    /// The id of the recorded container is not compared with that of the running one.
    IdentityNotCompared,
    /// The archive of a base is deleted although deltas are based on it.
    BaseDeletedTooEarly,
    /// A delta is made with the inventory of another base.
    InventoryNotCompared,
    /// The files of a restored delta are not compared with those that were captured.
    DigestNotCompared,
    /// A check for an automatic save compares with the state before a save that failed.
    FailedSaveCounted,
    /// An automatic save counts as a use of the workspace.
    SaveCountedAsUse,
    /// A turn that ends during a save counts as saved by it.
    TurnDuringSaveForgotten,
    /// A stop that fails forgets the turn whose files are to be saved.
    TurnForgottenByStop,
    /// A delta is made although the archive of its base is gone.
    BaseNotInspected,
    /// Retention counts automatic snapshots among those of callers.
    AutosavesCountedWithOthers,
    /// A revival accepts any running container as the sandbox's own.
    RevivedWithoutComparison,
    /// A revival discards files that were written since the container cold-started, without permission.
    RevivalDiscardsFiles,
    /// The ledger does not record that a destroy was not answered, and may take effect late.
    UnansweredDestroyNotStored,
    /// A capture that outlasts the freeze of the files counts as consistent.
    FreezeNotCompared,
    /// The image of a new sandbox is not compared with that of the snapshot.
    ImageNotCompared,
    /// A snapshot has the image with which the workspace was started, although a start adopted another container since.
    AdoptedImageKept,
}
