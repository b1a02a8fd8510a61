// The workspaces of a tenant.

import { useEffect, useState } from 'preact/hooks';

import type { WorkspaceEntry } from '../../../client/src/index.ts';
import { useLive } from '../live.ts';
import { given, text } from '../options.ts';
import { DEFAULT_TENANT, go, href, type Place } from '../routes.ts';
import { client } from '../session.ts';
import { size } from '../texts.ts';
import { StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Time } from '../ui/facts.tsx';
import { TextField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import { Updated } from '../ui/updated.tsx';
import { CreateWorkspace } from './create-workspace.tsx';
import { useWorkspace, WorkspaceButtons, WorkspaceTroubles } from './workspace-actions.tsx';

type WorkspacesProps = Omit<Extract<Place, { at: 'workspaces' }>, 'at'>;

/** How many are on a page. */
const LIMIT = 50;

/** A page of a tenant's workspaces, by their names. */
export function WorkspacesView({ tenant, prefix, after }: WorkspacesProps) {
  const [isCreating, setCreating] = useState(false);
  const live = useLive(JSON.stringify([tenant, prefix, after]), (signal) =>
    client.workspaces.list({
      ...given({ tenant, prefix, cursor: after, limit: LIMIT }),
      signal,
      retry: false,
    }),
  );
  return (
    <>
      <header class="page-head">
        <h1>Workspaces</h1>
        <Updated of={live} />
        <Button look="primary" icon="add" onClick={() => setCreating(true)}>
          New workspace…
        </Button>
      </header>
      <Filter key={tenant} tenant={tenant} prefix={prefix} />
      <Loaded of={live} reading="Reading…" hasUpdated>
        {({ workspaces, cursor }) => (
          <>
            {workspaces.length > 0 ? (
              <Table tenant={tenant} workspaces={workspaces} />
            ) : (
              <Nothing prefix={prefix} />
            )}
            <nav class="pages" aria-label="Pages">
              {after && <a href={href({ at: 'workspaces', tenant, ...given({ prefix }) })}>First page</a>}
              {cursor && (
                <a href={href({ at: 'workspaces', tenant, ...given({ prefix }), after: cursor })}>
                  Next page
                </a>
              )}
            </nav>
          </>
        )}
      </Loaded>
      {isCreating && <CreateWorkspace tenant={tenant} onClose={() => setCreating(false)} />}
    </>
  );
}

function Nothing({ prefix }: { prefix: string | undefined }) {
  return (
    <p class="empty">
      {prefix ? (
        <>
          No workspace begins with “<Name of={prefix} />
          ”.
        </>
      ) : (
        'There is no workspace yet.'
      )}{' '}
      A workspace is a place of work that is still there tomorrow: it is stopped with a snapshot, and started
      from it.
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
          <th scope="col">Last snapshot</th>
          <th scope="col">Made</th>
          <th scope="col">Changed</th>
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

function Entry({ tenant, entry }: { tenant: string; entry: WorkspaceEntry }) {
  const { name, state, sandboxId, sizeBytes, createdAt, updatedAt } = entry;
  const actions = useWorkspace({ tenant, name });
  return (
    <tbody>
      <tr>
        <th scope="row">
          <a href={href({ at: 'workspace', tenant, name })}>{name}</a>
        </th>
        <td>
          <StateBadge state={state} />
        </td>
        <td data-name="Last snapshot">
          {sizeBytes === undefined ? <span class="hint">none</span> : size(sizeBytes)}
        </td>
        <td data-name="Made">
          <Time at={createdAt} />
        </td>
        <td data-name="Changed">
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
      <WorkspaceTroubles actions={actions}>
        {(troubles) => (
          <tr class="troubles">
            <td colSpan={7}>{troubles}</td>
          </tr>
        )}
      </WorkspaceTroubles>
    </tbody>
  );
}

function Filter({ tenant, prefix }: { tenant: string; prefix: string | undefined }) {
  const [givenTenant, setTenant] = useState(tenant);
  const [givenPrefix, setPrefix] = useState(prefix ?? '');
  useEffect(() => setPrefix(prefix ?? ''), [prefix]);
  const submit = (event: Event) => {
    event.preventDefault();
    go({
      at: 'workspaces',
      tenant: text(givenTenant) ?? DEFAULT_TENANT,
      ...given({ prefix: text(givenPrefix) }),
    });
  };
  return (
    <form class="filter" role="search" aria-label="Workspaces" onSubmit={submit}>
      <TextField label="Tenant" value={givenTenant} onValue={setTenant} />
      <TextField label="Name begins with" type="search" value={givenPrefix} onValue={setPrefix} />
      <Button>Show</Button>
    </form>
  );
}
