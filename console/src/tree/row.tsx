// A row of the tree: the lines that lead to it, its shape, and what is to be seen of it at a glance.

import { Component, type JSX } from 'preact';

import type { TreeSnapshot } from '../../../client/src/index.ts';
import { size } from '../texts.ts';
import { Badge } from '../ui/badge.tsx';
import { Icon } from '../ui/icons.tsx';
import { PASSING, type LineageNode, type SandboxNode } from './nodes.ts';

/** What a row shows, and how it stands in the tree. */
export interface RowProps {
  node: LineageNode;
  /** How long ago a snapshot was taken, and when it goes, in words. */
  age: string | undefined;
  expiry: string | undefined;
  /** For each level above: whether a line goes past the row there, `1` or `0`. */
  rails: string;
  isOpen: boolean | undefined;
  isFocused: boolean;
  isSelected: boolean;
  isCurrent: boolean;
  position: number;
  siblings: number;
  register: (element: HTMLElement | null) => void;
}

/** A row. It is drawn again only when something of it is different. */
export class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { node, ...rest } = this.props;
    const differs = Object.entries(rest).some(([name, value]) => next[name as keyof RowProps] !== value);
    return differs || node.face !== next.node.face;
  }

  override render(props: Readonly<RowProps>): JSX.Element {
    const { node, age, expiry, isOpen, isFocused, isSelected, isCurrent, position, siblings, register } =
      props;
    return (
      <div
        ref={register}
        class={`row ${node.kind}`}
        data-node={node.id}
        data-is={node.kind === 'sandbox' ? node.sandbox.running : node.snapshot.state}
        role="treeitem"
        aria-level={node.level + 1}
        aria-posinset={position}
        aria-setsize={siblings}
        aria-expanded={isOpen}
        aria-selected={isSelected}
        aria-current={isCurrent ? 'true' : undefined}
        tabIndex={isFocused ? 0 : -1}
      >
        <Lines {...props} />
        <span class="twist" data-twist={isOpen !== undefined} data-open={isOpen}>
          {isOpen !== undefined && <Icon name="chevron" />}
        </span>
        {node.kind === 'sandbox' ? (
          <SandboxFace of={node} isCurrent={isCurrent} />
        ) : (
          <SnapshotFace of={node.snapshot} age={age} expiry={expiry} />
        )}
      </div>
    );
  }
}

/** The lines from above, past the row, and on to what grows from it. One step of the picture is one level. */
function Lines({ node: { level }, rails, isOpen, position, siblings }: RowProps) {
  const past = [...rails].map((rail, at) => (rail === '1' ? `M${at + 0.5} 0V2` : '')).join('');
  const own =
    level > 0 ? `M${level - 0.5} 0V${position < siblings ? 2 : 1}M${level - 0.5} 1H${level + 0.5}` : '';
  const below = isOpen ? `M${level + 0.5} 1V2` : '';
  return (
    <span class="lines" style={{ '--level': level }}>
      <svg viewBox={`0 0 ${level + 1} 2`} preserveAspectRatio="none" aria-hidden="true">
        <path d={past + own + below} />
      </svg>
      <span class="shape" />
    </span>
  );
}

function SandboxFace({ of: { sandbox, inherited }, isCurrent }: { of: SandboxNode; isCurrent: boolean }) {
  const { sandboxId, lineage, running, workspace, problem } = sandbox;
  return (
    <>
      <span class="unseen">Sandbox {sandboxId}</span>
      <span class="name" aria-hidden="true">
        {inherited > 0 && <span class="inherited">{sandboxId.slice(0, inherited)}</span>}
        <span class="own">{sandboxId.slice(inherited)}</span>
      </span>
      <span class="signs">
        {isCurrent && <Badge tone="accent">here</Badge>}
        {running !== undefined && (
          <Badge tone={running ? 'good' : 'plain'} icon={running ? 'on' : 'off'}>
            {running ? 'running' : 'asleep'}
          </Badge>
        )}
        {workspace && <Badge tone="accent">{workspace.name}</Badge>}
        {lineage && (
          <Badge icon={lineage === 'branch' ? 'branch' : 'restore'}>
            {lineage === 'branch' ? 'branched' : 'restored'}
          </Badge>
        )}
        {problem && (
          <Badge tone="bad" icon="warning">
            problem
          </Badge>
        )}
      </span>
    </>
  );
}

function SnapshotFace({ of, age, expiry }: { of: TreeSnapshot } & Pick<RowProps, 'age' | 'expiry'>) {
  const { snapshotId, label, state, sizeBytes, pinned, holders } = of;
  const passing = PASSING[state];
  return (
    <>
      <span class="unseen">Snapshot {label ?? snapshotId}</span>
      <span class="name" aria-hidden="true">
        {label ?? snapshotId}
      </span>
      <span class="signs">
        {passing && (
          <Badge tone={state === 'making' ? 'busy' : 'plain'} icon={state === 'making' ? 'time' : 'trash'}>
            {passing}
          </Badge>
        )}
        {pinned && (
          <Badge tone="accent" icon="pin">
            pinned
          </Badge>
        )}
        {holders.length > 0 && <Badge icon="hold">held by {holders.length}</Badge>}
        {expiry && <Badge icon="time">expires {expiry}</Badge>}
      </span>
      <span class="size">{sizeBytes !== undefined && size(sizeBytes)}</span>
      <span class="age">{age}</span>
    </>
  );
}
