// The details of a sandbox, and its actions.

import { useState } from 'preact/hooks';

import { useAction } from '../action.ts';
import { create } from '../idempotency.ts';
import { DEFAULT_TENANT, href, type Tab } from '../routes.ts';
import { count } from '../format.ts';
import type { SandboxNode } from '../tree/nodes.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Id } from '../ui/copy.tsx';
import { Fact, Facts } from '../ui/facts.tsx';
import { Failure } from '../ui/failure.tsx';
import { Name } from '../ui/name.tsx';
import { Checkpoints } from './checkpoints.tsx';
import type { DetailsProps } from './details.ts';
import { RetentionTab } from './retention.tsx';
import { SnapshotLink } from './snapshot-link.tsx';
import { TakeSnapshot } from './take-snapshot.tsx';

const TABS: readonly [Tab | undefined, string][] = [
  [undefined, 'Overview'],
  ['checkpoints', 'Checkpoints'],
  ['retention', 'Retention'],
];

/** The details of a sandbox, in three tabs. */
export function SandboxDetails(props: DetailsProps<SandboxNode>) {
  const { node, tab, placeFor } = props;
  const { sandboxId, running } = node.sandbox;
  return (
    <>
      <header class="details-head">
        <p class="kind">Sandbox</p>
        <h2>
          <Name of={sandboxId} />
        </h2>
        {running !== undefined && !node.isUnknown && (
          <Badge tone={running ? 'good' : 'plain'} icon={running ? 'on' : 'off'}>
            {running ? 'running' : 'ended'}
          </Badge>
        )}
      </header>
      <nav class="tabs" aria-label={`Details of ${sandboxId}`}>
        {TABS.map(([name, text]) => (
          <a
            key={text}
            href={href(placeFor({ selected: node.selected, ...(name ? { tab: name } : {}) }))}
            aria-current={tab === name ? 'page' : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      {tab === undefined && (node.isUnknown ? <Unknown /> : <Overview {...props} />)}
      {tab === 'checkpoints' && (
        <Checkpoints
          sandboxId={sandboxId}
          running={running}
          isUnknown={node.isUnknown}
          isOfWorkspace={node.sandbox.workspace !== undefined}
        />
      )}
      {tab === 'retention' && <RetentionTab sandboxId={sandboxId} />}
    </>
  );
}

/** There is nothing to show or to do. */
function Unknown() {
  return (
    <p class="empty">
      Neither a running container nor a snapshot has this id. If the id is correct, snapshots can be taken as
      soon as your application has started the sandbox.
    </p>
  );
}

function Overview({ node, nodes, current, placeFor, workspace: page }: DetailsProps<SandboxNode>) {
  const { sandboxId, lineage, running, workspace, snapshots, problem } = node.sandbox;
  const [isTaking, setTaking] = useState(false);
  const isFormer = page?.formerSandboxIds.includes(sandboxId) ?? false;
  const parent = node.parentId === undefined ? undefined : nodes.get(node.parentId);
  // Only a start of its workspace starts the sandbox of a workspace.
  const isStopped = running === false && workspace !== undefined;
  const canRevive = running === false && !isStopped && (snapshots.length > 0 || parent !== undefined);
  const title = (
    <>
      The revival of <Name of={sandboxId} />
    </>
  );
  const reviving = useAction({ operation: 'revive', subject: sandboxId, title }, async () => {
    const { how } = await create('revive', { sandboxId });
    return {
      message: (
        <>
          <Name of={sandboxId} /> is running with {how === 'restored' ? 'its newest snapshot' : 'its files'}.
        </>
      ),
    };
  });
  return (
    <>
      {problem && (
        <div class="failure">
          <p>
            <strong>This part of the lineage is incomplete.</strong>
          </p>
          <p>{problem}</p>
        </div>
      )}
      {page?.state === 'stopped' && page.sandboxId === sandboxId && page.lastSnapshot && (
        <p class="hint">
          The workspace is stopped. Its files are in <SnapshotLink of={page} id={page.lastSnapshot.id} />, and
          a start restores them.
        </p>
      )}
      <div class="buttons">
        {!isStopped && (
          <Button
            needs="snapshot"
            variant={running === false ? 'plain' : 'primary'}
            icon="camera"
            onClick={() => setTaking(true)}
          >
            Take a snapshot…
          </Button>
        )}
        {canRevive && (
          <Button needs="revive" icon="restore" busy={reviving.busy} onClick={() => void reviving.run()}>
            Revive
          </Button>
        )}
        {sandboxId !== current && (
          <a class="button" href={href({ at: 'sandbox', sandboxId })}>
            Open this sandbox
          </a>
        )}
      </div>
      <Failure of={reviving.failure} retry={reviving.retry} />
      <Facts>
        <Fact name="Id">
          <Id of={sandboxId} what="sandbox id" />
        </Fact>
        <Fact name={isFormer ? 'Former sandbox of' : 'Workspace'}>
          {workspace && (
            <a
              href={href({
                at: 'workspace',
                tenant: workspace.tenant ?? DEFAULT_TENANT,
                name: workspace.name,
              })}
            >
              {workspace.name} <span class="hint">of {workspace.tenant ?? DEFAULT_TENANT}</span>
            </a>
          )}
        </Fact>
        <Fact name={lineage === 'branch' ? 'Branched from' : 'Created from'}>
          {parent && (
            <a href={href(placeFor({ selected: parent.selected }))}>
              <Name of={parent.name} />{' '}
              <span class="hint">
                of <Name of={parent.selected.sandboxId} />
              </span>
            </a>
          )}
        </Fact>
        <Fact name="Snapshots">
          {count(snapshots.filter(({ state }) => state === 'ready').length, 'snapshot')}
        </Fact>
      </Facts>
      {isTaking && (
        <TakeSnapshot
          sandboxId={sandboxId}
          {...(page?.sandboxId === sandboxId && { dir: page.dir })}
          running={running}
          onClose={() => setTaking(false)}
          placeOf={(snapshotId) => placeFor({ selected: { sandboxId, snapshotId } })}
        />
      )}
    </>
  );
}
