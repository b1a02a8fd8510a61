// The lineage of a sandbox: the tree, and the details of the selected node.

import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

import type { Tree, Workspace } from '../../../client/src/index.ts';
import { useLive, type Live } from '../live.ts';
import { useOnce } from '../once.ts';
import { addRecent } from '../recent.ts';
import { DEFAULT_TENANT, go, href, place, type DetailsParams, type Selected } from '../routes.ts';
import { count } from '../format.ts';
import { nodeId, nodesOf, resolve, type Nodes } from '../tree/nodes.ts';
import { LineageTree } from '../tree/tree.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icons.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { Updated } from '../ui/updated.tsx';
import type { DetailsProps, PlaceFor } from './details.ts';
import { createLineageReader, isListed } from './lineage-reader.ts';
import { SandboxDetails } from './sandbox-details.tsx';
import { snapshotCounts } from './snapshot-counts.ts';
import { SnapshotDetails } from './snapshot-details.tsx';
import { SnapshotList } from './snapshot-list.tsx';

interface LineageProps extends DetailsParams {
  /** The sandbox that the page is about. */
  current: string;
  /** Its lineage, of {@link useLineage}. */
  live: Live<Tree>;
  placeFor: PlaceFor;
  /** The named workspace that the page is about, if it is about one. */
  workspace?: Workspace;
}

/** Whether the details are a sheet over the tree, as style/details.css makes them on a small screen. */
const isSheet = (details: HTMLElement) => getComputedStyle(details).position === 'fixed';

/** Reads the lineage of a sandbox while its page is open. */
export function useLineage(sandboxId: string): Live<Tree> {
  const read = useMemo(() => createLineageReader(sandboxId), [sandboxId]);
  return useLive(`lineage of ${sandboxId}`, read);
}

/** The tree, and the details of the selected node; of the sandbox that the page is about if no node is selected. */
export function Lineage(props: LineageProps) {
  return (
    <Loaded of={props.live} loading="Loading the lineage…" hasUpdated>
      {(tree) => <LoadedLineage tree={tree} {...props} />}
    </Loaded>
  );
}

function LoadedLineage({
  tree,
  live,
  current,
  selected,
  tab,
  placeFor,
  workspace,
}: LineageProps & { tree: Tree }) {
  // The state of the workspace is newer than the check of the sandboxes.
  const ended = workspace?.state === 'stopped' ? current : undefined;
  const nodes = useMemo(() => nodesOf(tree, ended), [tree, ended]);
  const shown = resolve(nodes, selected ?? { sandboxId: current });
  const sheet = useRef<HTMLElement>(null);
  const [isList, setList] = useState(false);
  const former = workspace?.formerSandboxIds ?? [];
  const id = nodeId(shown);
  useEffect(() => {
    if (selected && sheet.current && isSheet(sheet.current)) sheet.current.focus();
  }, [id]);

  const opened = nodes.get(nodeId({ sandboxId: current }));
  const isKnown = opened?.kind === 'sandbox' && !opened.isUnknown;
  useEffect(() => {
    if (isKnown && place.peek().at === 'sandbox') addRecent(current);
  }, [current, isKnown]);

  const select = (selected: Selected) => go(placeFor({ selected }));
  const close = () => {
    go(placeFor({}));
    document.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`)?.focus();
  };
  const node = nodes.get(id);
  const [root] = nodes.values();
  if (!workspace && root?.kind === 'sandbox' && root.isUnknown)
    return <UnknownSandbox sandboxId={current} live={live} />;
  return (
    <div
      class="lineage"
      onKeyDown={({ key }) => key === 'Escape' && sheet.current && isSheet(sheet.current) && close()}
    >
      <section class="panel" aria-labelledby="lineage-title">
        <header class="panel-head">
          <h2 id="lineage-title">{isList ? 'Snapshots' : 'Lineage'}</h2>
          <Button variant="quiet" onClick={() => setList(!isList)}>
            {isList ? 'Show as a tree' : 'Show as a list'}
          </Button>
          <Updated of={live} />
        </header>
        <Remarks tree={tree} nodes={nodes} />
        {isList ? (
          <SnapshotList {...{ nodes, current, former, placeFor }} />
        ) : (
          <>
            <LineageTree
              nodes={nodes}
              current={current}
              former={former}
              selected={shown}
              scrolls={selected !== undefined}
              onSelect={select}
            />
            <Legend>
              {count(tree.sandboxes, 'sandbox', 'sandboxes')}, {snapshotCounts(nodes)}
            </Legend>
          </>
        )}
      </section>
      <section
        ref={sheet}
        class={`panel details${selected ? '' : ' implied'}`}
        tabIndex={-1}
        aria-label={node ? `Details of ${node.name}` : 'Details'}
      >
        <button type="button" class="copy close" aria-label="Close the details" onClick={close}>
          <Icon name="close" />
        </button>
        {node ? (
          <Details key={id} {...{ node, nodes, tab, placeFor, current, workspace }} />
        ) : (
          <Missing of={shown} isPart={tree.truncated} />
        )}
      </section>
    </div>
  );
}

/** Remarks on the whole tree. */
function Remarks({ tree, nodes }: { tree: Tree; nodes: Nodes }) {
  const incomplete = [...nodes.values()].filter((node) => node.kind === 'sandbox' && node.sandbox.problem);
  return (
    <>
      {tree.parent ? (
        <Remark>
          The lineage is longer than this part of it.{' '}
          <a href={href({ at: 'sandbox', sandboxId: tree.parent.originId })}>Show the earlier part</a>
        </Remark>
      ) : (
        tree.truncated && <Remark>The lineage is larger than the limit: this is a part of it.</Remark>
      )}
      {incomplete.length > 0 && (
        <Remark>
          {count(incomplete.length, 'sandbox', 'sandboxes')} could not be read
          {tree.truncated && ' or are beyond the limit'}: parts of the lineage may be missing.
        </Remark>
      )}
    </>
  );
}

/** A sandbox without a trace. Its id may be misspelled, or the name of a workspace, whose page is then shown instead. */
function UnknownSandbox({ sandboxId, live }: { sandboxId: string; live: Live<Tree> }) {
  const address = { tenant: DEFAULT_TENANT, name: sandboxId };
  const { value: isWorkspace } = useOnce(sandboxId, (options) => isListed(address, options));
  useEffect(() => {
    if (isWorkspace) location.replace(href({ at: 'workspace', ...address }));
  }, [isWorkspace]);
  return (
    <>
      <Remark>
        The sandbox <Name of={sandboxId} /> is not running and has no snapshots.{' '}
        {isWorkspace === false && 'No workspace of the default tenant has this name. Check the id.'}
      </Remark>
      <p class="hint">Snapshots can be taken as soon as your application has started the sandbox.</p>
      <Updated of={live} />
    </>
  );
}

function Details({ node, ...rest }: DetailsProps) {
  return node.kind === 'sandbox' ? (
    <SandboxDetails node={node} {...rest} />
  ) : (
    <SnapshotDetails node={node} {...rest} />
  );
}

function Missing({ of, isPart }: { of: Selected; isPart: boolean }) {
  const { sandboxId, snapshotId } = of;
  return (
    <p class="empty">
      {snapshotId ? 'The snapshot' : 'The sandbox'} <Name of={snapshotId ?? sandboxId} /> is not in this{' '}
      {isPart ? (
        <>
          part of the lineage.{' '}
          <a href={href({ at: 'sandbox', sandboxId, selected: of })}>Show it on the page of its sandbox</a>
        </>
      ) : (
        'lineage.'
      )}
    </p>
  );
}

function Legend({ children }: { children: ComponentChildren }) {
  return (
    <p class="legend">
      <span class="row sandbox">
        <span class="shape" /> sandbox, filled while it runs
      </span>
      <span class="row snapshot">
        <span class="shape" /> snapshot of the sandbox above it
      </span>
      <span class="counts">{children}</span>
    </p>
  );
}
