// The page of a named workspace.

import type { Workspace } from '../../../client/src/index.ts';
import { useLive } from '../live.ts';
import { href, type Address, type DetailsParams } from '../routes.ts';
import { client } from '../session.ts';
import { size } from '../format.ts';
import { Badge, StateBadge } from '../ui/badge.tsx';
import { Id } from '../ui/copy.tsx';
import { Fact, Facts, Moment, Time } from '../ui/facts.tsx';
import { currentValue, Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import { Lineage } from './lineage.tsx';
import { useWorkspaceActions, WorkspaceButtons, WorkspaceFailures } from './workspace-actions.tsx';

/** A workspace and the lineage of its sandbox. */
export function WorkspaceView({ tenant, name, ...details }: Address & DetailsParams) {
  const live = useLive(JSON.stringify([tenant, name]), (signal) =>
    client.workspaces.getByName({ tenant, name, signal, retry: false }),
  );
  const workspace = currentValue(live);
  const actions = useWorkspaceActions({ tenant, name });
  return (
    <>
      <header class="page-head">
        <p class="kind">
          <a href={href({ at: 'workspaces', tenant })}>
            Workspaces of <Name of={tenant} />
          </a>
        </p>
        <h1>{name}</h1>
        {workspace && <StateBadge state={workspace.state} />}
        {workspace && <WorkspaceButtons state={workspace.state} actions={actions} />}
      </header>
      <WorkspaceFailures actions={actions}>{(failures) => <>{failures}</>}</WorkspaceFailures>
      <Loaded of={live} loading="Loading the workspace…">
        {(workspace) => (
          <>
            <About of={workspace} />
            <Lineage
              current={workspace.sandboxId}
              {...details}
              placeFor={(details) => ({ at: 'workspace', tenant, name, ...details })}
            />
          </>
        )}
      </Loaded>
    </>
  );
}

function About({ of }: { of: Workspace }) {
  const { lastSnapshot, problem, endsAt } = of;
  return (
    <>
      {problem && (
        <div class="failure">
          <p>
            <strong>{problem.code}</strong> <Time at={problem.at} />
          </p>
          <p>{problem.message}</p>
          <p>{problem.remediation}</p>
        </div>
      )}
      <Facts>
        <Fact name="Sandbox">
          <Id of={of.sandboxId} what="sandbox id" />
        </Fact>
        <Fact name="Last snapshot">
          {lastSnapshot && (
            <>
              {size(lastSnapshot.sizeBytes)}, <Time at={lastSnapshot.createdAt} />
            </>
          )}
        </Fact>
        <Fact name="Stops automatically">{endsAt && <Time at={endsAt} />}</Fact>
        <Fact name="Directory">
          <code>{of.dir}</code>
        </Fact>
        <Fact name="Files">
          {of.persistent ? 'saved by a snapshot at each stop' : <Badge>not saved</Badge>}
        </Fact>
      </Facts>
      <details class="more">
        <summary>Settings and history</summary>
        <Facts>
          <Fact name="Created">
            <Moment at={of.createdAt} />
          </Fact>
          <Fact name="Last started">
            <Moment at={of.startedAt} />
          </Fact>
          <Fact name="Environment">{of.envNames.join(', ')}</Fact>
          <Fact name="Hooks">{Object.keys(of.hooks).join(', ')}</Fact>
          <Fact name="Former sandboxes">{of.formerSandboxIds.join(', ')}</Fact>
        </Facts>
        <ol class="history" aria-label="History">
          {of.history.map(({ to, at, cause }) => (
            <li key={at + to}>
              <StateBadge state={to} /> {cause} <Time at={at} />
            </li>
          ))}
        </ol>
      </details>
    </>
  );
}
