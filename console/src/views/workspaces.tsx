// The list of a tenant's workspaces.

import { useEffect, useState } from 'preact/hooks';

import type { Workspace, WorkspaceEntry } from '../../../client/src/index.ts';
import { useLive } from '../live.ts';
import { defined, text } from '../options.ts';
import { permits } from '../permissions.ts';
import { DEFAULT_TENANT, go, href, type Place } from '../routes.ts';
import { client } from '../session.ts';
import { size } from '../format.ts';
import { NotPermitted } from '../ui/not-permitted.tsx';
import { StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Time } from '../ui/facts.tsx';
import { TextField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import { Updated } from '../ui/updated.tsx';
import { CreateWorkspace } from './create-workspace.tsx';
import { RecentSandboxes } from './recent-sandboxes.tsx';
import { useWorkspaceActions, WorkspaceButtons, WorkspaceFailures } from './workspace-actions.tsx';
import { isLossPast, isRestoredSave, wasStartedEmpty } from './workspace-start.ts';

type WorkspacesProps = Omit<Extract<Place, { at: 'workspaces' }>, 'at'>;

/** The number of workspaces on a page. */
const LIMIT = 50;

/** Milliseconds between reads of the description of a workspace: each starts the Durable Object of its sandbox. */
const DESCRIPTION_INTERVAL = 60_000;

/** A page of a tenant's workspaces, sorted by name. */
export function WorkspacesView({ tenant, prefix, after }: WorkspacesProps) {
  const [isCreating, setCreating] = useState(false);
  const live = useLive(JSON.stringify([tenant, prefix, after]), (options) =>
    client.workspaces.list({
      ...defined({ tenant, prefix, cursor: after, limit: LIMIT }),
      ...options,
    }),
  );
  return (
    <>
      <header class="page-head">
        <h1>Workspaces</h1>
        <Updated of={live} />
        <div class="buttons">
          <a class="button quiet" href={href({ at: 'usage', tenant })}>
            Usage
          </a>
          {permits('tokens/list') && (
            <a class="button quiet" href={href({ at: 'tokens', tenant })}>
              Access tokens
            </a>
          )}
          <Button needs="workspaces/create" variant="primary" icon="add" onClick={() => setCreating(true)}>
            New workspace…
          </Button>
        </div>
      </header>
      <NotPermitted of={['snapshot']} />
      <Filter key={tenant} tenant={tenant} prefix={prefix} />
      <Loaded of={live} loading="Loading…" hasUpdated>
        {({ workspaces, cursor }) => (
          <>
            {workspaces.length > 0 ? (
              <Table tenant={tenant} workspaces={workspaces} />
            ) : (
              <NoWorkspaces tenant={tenant} prefix={prefix} />
            )}
            <nav class="pages" aria-label="Pages">
              {after && <a href={href({ at: 'workspaces', tenant, ...defined({ prefix }) })}>First page</a>}
              {cursor && (
                <a href={href({ at: 'workspaces', tenant, ...defined({ prefix }), after: cursor })}>
                  Next page
                </a>
              )}
            </nav>
          </>
        )}
      </Loaded>
      {prefix === undefined && after === undefined && <RecentSandboxes />}
      {isCreating && <CreateWorkspace tenant={tenant} onClose={() => setCreating(false)} />}
    </>
  );
}

function NoWorkspaces({ tenant, prefix }: { tenant: string; prefix: string | undefined }) {
  return (
    <p class="empty">
      {prefix ? (
        <>
          No workspace name begins with “<Name of={prefix} />
          ”.
        </>
      ) : (
        'No workspaces yet.'
      )}{' '}
      A workspace keeps its files by name: a stop saves them in a snapshot, and a start restores them.
      {tenant !== DEFAULT_TENANT && !prefix && (
        <>
          {' '}
          If <Name of={tenant} /> is not a tenant, open{' '}
          <a href={href({ at: 'workspace', tenant: DEFAULT_TENANT, name: tenant })}>
            the workspace of this name
          </a>
          .
        </>
      )}
    </p>
  );
}

function Table({ tenant, workspaces }: { tenant: string; workspaces: WorkspaceEntry[] }) {
  return (
    <table class="workspaces panel">
      <caption class="unseen">Workspaces of {tenant}</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">State</th>
          <th scope="col">Last saved</th>
          <th scope="col">Created</th>
          <th scope="col">State since</th>
          <th scope="col">Sandbox</th>
          <th scope="col">
            <span class="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      {workspaces.map((entry) => (
        <Entry key={entry.name} tenant={tenant} entry={entry} />
      ))}
    </table>
  );
}

/**
 * The description of a workspace, if the list may lack a part: the snapshots that callers took, and whether files of an active one
 * may be lost. It is read again after each change of the entry, so it is at least as new.
 */
function useDescription(tenant: string, entry: WorkspaceEntry) {
  const { name, state, lastSavedAt } = entry;
  const isRead = state === 'active' || !lastSavedAt;
  const { value, failure } = useLive(
    JSON.stringify([tenant, entry]),
    async (options) => (isRead ? client.workspaces.getByName({ tenant, name, ...options }) : undefined),
    { interval: DESCRIPTION_INTERVAL, isIndependent: true },
  );
  return { isRead, read: value.value, failure: failure.value };
}

type Description = ReturnType<typeof useDescription>;

/** When a workspace was last saved. Until its description is read, nothing is said. */
function LastSaved({ entry, of: { isRead, read, failure } }: { entry: WorkspaceEntry; of: Description }) {
  const { sizeBytes, unsavedSince } = entry;
  if (isRead && !read && !(entry.lastSavedAt && failure)) return <span class="hint">–</span>;
  const { lastSavedAt } = read ?? entry;
  return (
    <>
      {lastSavedAt ? <Time at={lastSavedAt} /> : <span class="hint">never</span>}
      {sizeBytes !== undefined && lastSavedAt === entry.lastSavedAt && (
        <span class="hint"> {size(sizeBytes)}</span>
      )}
      {read && isRestoredSave(read) && <span class="hint">, restored</span>}
      {unsavedSince && <span class="hint"> saves fail</span>}
      <PossibleLossHint entry={entry} read={read} />
    </>
  );
}

function PossibleLossHint({ entry, read }: { entry: WorkspaceEntry; read: Workspace | undefined }) {
  if (read && wasStartedEmpty(read)) return <span class="hint">, started empty: files may be lost</span>;
  const isLossOpen = read?.mayHaveLost && !isLossPast(read);
  const mayHaveLost = entry.containerEnded || entry.problemCode === 'NOTHING_RESTORABLE' || isLossOpen;
  return mayHaveLost ? <span class="hint">, changes may be lost</span> : null;
}

function Entry({ tenant, entry }: { tenant: string; entry: WorkspaceEntry }) {
  const { name, state, sandboxId, createdAt, updatedAt } = entry;
  const actions = useWorkspaceActions({ tenant, name });
  const description = useDescription(tenant, entry);
  return (
    <tbody>
      <tr>
        <th scope="row">
          <a href={href({ at: 'workspace', tenant, name })}>{name}</a>
        </th>
        <td>
          <StateBadge state={state} containerEnded={description.read?.containerEnded} />
        </td>
        <td data-name="Last saved">
          <LastSaved entry={entry} of={description} />
        </td>
        <td data-name="Created">
          <Time at={createdAt} />
        </td>
        <td data-name="State since">
          <Time at={updatedAt} />
        </td>
        <td data-name="Sandbox">
          <a class="mono" title={sandboxId} href={href({ at: 'sandbox', sandboxId })}>
            {sandboxId}
          </a>
        </td>
        <td>
          <WorkspaceButtons state={state} actions={actions} />
        </td>
      </tr>
      <WorkspaceFailures actions={actions}>
        {(failures) => (
          <tr class="troubles">
            <td colSpan={7}>{failures}</td>
          </tr>
        )}
      </WorkspaceFailures>
    </tbody>
  );
}

function Filter({ tenant, prefix }: { tenant: string; prefix: string | undefined }) {
  const [typedTenant, setTenant] = useState(tenant);
  const [typedPrefix, setPrefix] = useState(prefix ?? '');
  useEffect(() => setPrefix(prefix ?? ''), [prefix]);
  const submit = (event: Event) => {
    event.preventDefault();
    go({
      at: 'workspaces',
      tenant: text(typedTenant) ?? DEFAULT_TENANT,
      ...defined({ prefix: text(typedPrefix) }),
    });
  };
  return (
    <form class="filter" role="search" aria-label="Workspaces" onSubmit={submit}>
      <TextField label="Tenant" value={typedTenant} onValue={setTenant} />
      <TextField label="Name begins with" type="search" value={typedPrefix} onValue={setPrefix} />
      <Button>Show</Button>
    </form>
  );
}
