// The lineage of a sandbox: the tree, and beside it what is selected in it.

import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';

import { useLive } from '../live.ts';
import { go, type Beside, type Place, type Selected } from '../routes.ts';
import { client } from '../session.ts';
import { count } from '../texts.ts';
import { nodeId, nodesOf, type LineageNode } from '../tree/nodes.ts';
import { LineageTree } from '../tree/tree.tsx';
import { Icon } from '../ui/icons.tsx';
import { Failure } from '../ui/failure.tsx';
import { Updated } from '../ui/updated.tsx';
import { SandboxDetails } from './sandbox-details.tsx';
import { SnapshotDetails } from './snapshot-details.tsx';

interface LineageProps extends Beside {
  /** The sandbox that the page is about. */
  current: string;
  /** The address of something beside this lineage. */
  at: (beside: Beside) => Place;
}

/** Below this width details are a sheet over the tree; style/details.css has the same. */
const NARROW = '(max-width: 60rem)';

/** The tree, and the details of what is selected; of the sandbox that the page is about where that is nothing. */
export function Lineage({ current, selected, tab, at }: LineageProps) {
  const live = useLive(`lineage of ${current}`, (signal) =>
    client.lineage({ sandboxId: current, check: true, signal, retry: false }),
  );
  const tree = live.value.value;
  const nodes = useMemo(() => tree && nodesOf(tree), [tree]);
  const shown = selected ?? { sandboxId: current };
  const sheet = useRef<HTMLElement>(null);
  const id = nodeId(shown);
  useEffect(() => {
    if (selected && matchMedia(NARROW).matches) sheet.current?.focus();
  }, [id]);

  if (!tree || !nodes) {
    return live.failure.value === undefined ? (
      <p class="empty">Reading the lineage…</p>
    ) : (
      <Failure of={live.failure.value} />
    );
  }
  const select = (selected: Selected) => go(at({ selected }));
  const close = () => {
    go(at({}));
    document.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`)?.focus();
  };
  const node = nodes.get(id);
  const troubled = [...nodes.values()].filter((node) => node.kind === 'sandbox' && node.sandbox.problem);
  return (
    <div class="lineage">
      <section class="panel" aria-labelledby="lineage-title">
        <header class="panel-head">
          <h2 id="lineage-title">Lineage</h2>
          <Updated of={live} />
        </header>
        {tree.truncated && (
          <p class="remark">
            <Icon name="warning" /> There is more than could be looked at: this is a part of the lineage.
          </p>
        )}
        {troubled.length > 0 && (
          <p class="remark">
            <Icon name="warning" /> {count(troubled.length, 'sandbox', 'sandboxes')} could not be asked: what
            grows from there may be missing.
          </p>
        )}
        <LineageTree nodes={nodes} current={current} selected={shown} onSelect={select} />
        <Legend>
          {count(tree.sandboxes, 'sandbox', 'sandboxes')}, {count(nodes.size - tree.sandboxes, 'snapshot')}
        </Legend>
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
          <Details key={id} node={node} nodes={nodes} tab={tab} at={at} current={current} />
        ) : (
          <Missing of={shown} />
        )}
      </section>
    </div>
  );
}

/** What the details of a node are told. */
export interface DetailsProps<N extends LineageNode = LineageNode> {
  node: N;
  nodes: ReadonlyMap<string, LineageNode>;
  current: string;
  at: LineageProps['at'];
  tab: Beside['tab'];
}

function Details({ node, ...rest }: DetailsProps) {
  return node.kind === 'sandbox' ? (
    <SandboxDetails node={node} {...rest} />
  ) : (
    <SnapshotDetails node={node} {...rest} />
  );
}

function Missing({ of: { sandboxId, snapshotId } }: { of: Selected }) {
  return (
    <p class="empty">
      {snapshotId ? `The snapshot ${snapshotId}` : `The sandbox ${sandboxId}`} is not in this lineage, or not
      any more.
    </p>
  );
}

function Legend({ children }: { children: ComponentChildren }) {
  return (
    <p class="legend">
      <span class="row sandbox">
        <span class="shape" /> sandbox
      </span>
      <span class="row snapshot">
        <span class="shape" /> snapshot of the sandbox above it
      </span>
      <span class="counts">{children}</span>
    </p>
  );
}
