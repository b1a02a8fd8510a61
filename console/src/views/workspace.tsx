// The page of a named workspace.

import { useState } from 'preact/hooks';

import { SnapshotterError, type RestoredFrom, type Tree, type Workspace } from '../../../client/src/index.ts';
import { href, type Address, type DetailsParams } from '../routes.ts';
import { duration, size } from '../format.ts';
import { Badge, StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Id } from '../ui/copy.tsx';
import { Fact, Facts, Time } from '../ui/facts.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { usePhone } from '../ui/media.ts';
import { NotPermitted } from '../ui/not-permitted.tsx';
import { CreateWorkspace } from './create-workspace.tsx';
import { sandboxesOf } from './lineage-reader.ts';
import { Lineage, useLineage } from './lineage.tsx';
import { PossibleLoss } from './possible-loss.tsx';
import { SnapshotLink } from './snapshot-link.tsx';
import { LabelAndId } from './snapshot-name.tsx';
import { TenantHead } from './tenant-head.tsx';
import { useWorkspace } from './use-workspace.ts';
import { autosaveTimes, SettingsAndHistory } from './workspace-settings.tsx';
import { failureOf, WorkspaceButtons, WorkspaceFailures } from './workspace-actions.tsx';
import { ProblemOf } from './workspace-problem.tsx';
import { isRestoredSave } from './workspace-start.ts';

/** A workspace and the lineage of its sandbox. */
export function WorkspaceView({ tenant, name, ...details }: Address & DetailsParams) {
  const { live, workspace, actions } = useWorkspace({ tenant, name });
  const [isCreating, setCreating] = useState(false);
  const offerCreation = (failure: unknown) =>
    failure instanceof SnapshotterError &&
    failure.code === 'WORKSPACE_NOT_FOUND' && (
      <div class="buttons">
        <Button needs="workspaces/create" variant="primary" icon="add" onClick={() => setCreating(true)}>
          Create it…
        </Button>
        <a class="button" href={href({ at: 'workspaces', tenant })}>
          Show all workspaces
        </a>
      </div>
    );
  return (
    <>
      <TenantHead tenant={tenant} title={name}>
        {workspace && <StateBadge state={workspace.state} containerEnded={workspace.containerEnded} />}
        {workspace && <WorkspaceButtons state={workspace.state} actions={actions} workspace={workspace} />}
      </TenantHead>
      {workspace && <NotPermitted of={['snapshot', 'work']} />}
      <WorkspaceFailures actions={actions}>{(failures) => <>{failures}</>}</WorkspaceFailures>
      <Loaded of={live} loading="Loading the workspace…" onFailure={offerCreation}>
        {(workspace) => <LoadedWorkspace of={workspace} failure={failureOf(actions)} {...details} />}
      </Loaded>
      {isCreating && (
        <CreateWorkspace tenant={tenant} initialName={name} onClose={() => setCreating(false)} />
      )}
    </>
  );
}

function LoadedWorkspace({ of, failure, ...details }: { of: Workspace; failure: unknown } & DetailsParams) {
  const { tenant, name, sandboxId } = of;
  const lineage = useLineage(sandboxId);
  return (
    <>
      <About of={of} failure={failure} tree={lineage.value.value} />
      <Lineage
        current={sandboxId}
        live={lineage}
        workspace={of}
        {...details}
        placeFor={(details) => ({ at: 'workspace', tenant, name, ...details })}
      />
    </>
  );
}

interface KnownProps {
  of: Workspace;
  /** The lineage of its sandbox; undefined until it is read. */
  tree: Tree | undefined;
}

const snapshotsOf = (tree: Tree | undefined) =>
  tree ? [...sandboxesOf(tree.root)].flatMap(({ snapshots }) => snapshots) : [];

/** A snapshot by its label in the lineage, and its id. It may be deleted, so it is not read by itself. */
function KnownSnapshot({ of, tree, id }: KnownProps & { id: string }) {
  const label = snapshotsOf(tree).find(({ snapshotId }) => snapshotId === id)?.label;
  return (
    <SnapshotLink of={of} id={id}>
      <LabelAndId label={label} snapshotId={id} />
    </SnapshotLink>
  );
}

/** The snapshot that the last start restored, with a link to it in the lineage. */
function Source({ from, ...rest }: KnownProps & { from: RestoredFrom }) {
  const { storage, snapshotId, ageSeconds } = from;
  return (
    <>
      {storage === 'platform' && `a platform snapshot${snapshotId ? ' with the files of ' : ''}`}
      {snapshotId && <KnownSnapshot {...rest} id={snapshotId} />}, which was {duration(ageSeconds)} old
    </>
  );
}

/** Names the snapshot of the last save if it is one that was or will be restored: after a rollback, later ones have former files. */
function SavedIn({ of, tree }: KnownProps) {
  const { state, lastSavedAt, lastSnapshot } = of;
  if (!lastSavedAt) return null;
  if (isRestoredSave(of)) return <>, in the restored snapshot; changes since the restore are not saved yet</>;
  const next =
    state === 'stopped' && !lastSnapshot
      ? snapshotsOf(tree).find(({ state, createdAt }) => state === 'ready' && createdAt === lastSavedAt)
      : undefined;
  return next ? (
    <>
      , in <KnownSnapshot {...{ of, tree }} id={next.snapshotId} />, which the next start restores
    </>
  ) : null;
}

/** What a stop stores, by the storage of the workspace. */
const SAVED = {
  archive: 'a snapshot',
  both: 'a snapshot and a platform snapshot',
  platform: 'a platform snapshot',
};

/** The facts that a phone shows on request, so that the tree is on its first screen. */
function MoreFacts({ of, tree }: KnownProps) {
  const { platformSnapshot, endsAt } = of;
  const automatic = autosaveTimes(of.autosave);
  return (
    <>
      <Fact name="Sandbox">
        <Id of={of.sandboxId} what="sandbox id" />
      </Fact>
      {platformSnapshot && (
        <Fact name="Platform snapshot">
          {size(platformSnapshot.sizeBytes)},{' '}
          {platformSnapshot.unusable ?? (
            <>
              expires <Time at={platformSnapshot.expiresAt} />
            </>
          )}
        </Fact>
      )}
      {of.restoredFrom && (
        <Fact name="Restored from">
          <Source {...{ of, tree }} from={of.restoredFrom} />
        </Fact>
      )}
      <Fact name="Former files">
        {of.formerSnapshotId && (
          <>
            in <KnownSnapshot {...{ of, tree }} id={of.formerSnapshotId} />, before the last rollback or
            promotion
          </>
        )}
      </Fact>
      <Fact name="Stops automatically">{endsAt && <Time at={endsAt} />}</Fact>
      <Fact name="Directory">
        <code>{of.dir}</code>
      </Fact>
      <Fact name="Files">
        {of.persistent ? `saved by ${SAVED[of.storage]} at each stop` : <Badge>not saved at a stop</Badge>}
        {automatic && `, and by automatic snapshots ${automatic}`}
      </Fact>
    </>
  );
}

/** `failure` is the one of the last action, which the page shows already. */
function About({ of, failure, tree }: KnownProps & { failure: unknown }) {
  const { lastSnapshot, problem } = of;
  const isPhone = usePhone();
  const more = <MoreFacts {...{ of, tree }} />;
  const isShown = failure instanceof SnapshotterError && failure.code === problem?.code;
  return (
    <>
      {problem && !isShown && <ProblemOf of={problem} />}
      {problem?.code !== 'NOTHING_RESTORABLE' && <PossibleLoss of={of} />}
      <Facts>
        <Fact name="Last saved">
          {of.lastSavedAt ? <Time at={of.lastSavedAt} /> : 'never'}
          {lastSnapshot && lastSnapshot.createdAt === of.lastSavedAt && `, ${size(lastSnapshot.sizeBytes)}`}
          <SavedIn {...{ of, tree }} />
          {of.unsavedSince && (
            <>
              , later saves failed since <Time at={of.unsavedSince} />
            </>
          )}
        </Fact>
        {!isPhone && more}
      </Facts>
      <SettingsAndHistory of={of}>{isPhone && <Facts>{more}</Facts>}</SettingsAndHistory>
    </>
  );
}
