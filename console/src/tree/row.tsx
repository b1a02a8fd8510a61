// A row of the tree: the lines that lead to it, its shape, and what is to be seen of it at a glance.

import { Component, type ComponentChildren, type JSX } from 'preact';

import type { TreeSnapshot } from '../../../client/src/index.ts';
import { size } from '../texts.ts';
import { Badge, type BadgeProps } from '../ui/badge.tsx';
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
    <Face kind="Sandbox" name={sandboxId} inherited={inherited}>
      {isCurrent && <Sign tone="accent" icon="here" text="here" />}
      {running !== undefined && (
        <Sign
          tone={running ? 'good' : 'plain'}
          icon={running ? 'on' : 'off'}
          text={running ? 'running' : 'asleep'}
        />
      )}
      {workspace && <Sign tone="accent" icon="workspace" text={workspace.name} short={workspace.name} />}
      {lineage === 'branch' && <Sign icon="branch" text="branched" />}
      {lineage === 'restored' && <Sign icon="restore" text="restored" />}
      {problem && <Sign tone="bad" icon="warning" text="problem" />}
    </Face>
  );
}

function SnapshotFace({ of, age, expiry }: { of: TreeSnapshot } & Pick<RowProps, 'age' | 'expiry'>) {
  const { snapshotId, label, state, sizeBytes, pinned, dependents } = of;
  const passing = PASSING[state];
  const isCreating = state === 'creating';
  return (
    <Face
      kind="Snapshot"
      name={label ?? snapshotId}
      size={sizeBytes === undefined ? undefined : size(sizeBytes)}
      age={age}
    >
      {passing && (
        <Sign tone={isCreating ? 'busy' : 'plain'} icon={isCreating ? 'time' : 'trash'} text={passing} />
      )}
      {pinned && <Sign tone="accent" icon="pin" text="pinned" />}
      {dependents.length > 0 && (
        <Sign icon="needed" text={`needed by ${dependents.length}`} short={`${dependents.length}`} />
      )}
      {expiry && <Sign icon="time" text={expiry} short={expiry.replace(/^expires (in )?/, '')} />}
    </Face>
  );
}

/** What a row says: the name, the signs, and what there is room for besides. */
function Face({
  kind,
  name,
  inherited = 0,
  size,
  age,
  children,
}: {
  kind: string;
  name: string;
  /** How many characters at the beginning of the name say nothing new. */
  inherited?: number;
  size?: string | undefined;
  age?: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <span class="room">
      <span class="face">
        <span class="unseen">
          {kind} <bdi>{name}</bdi>
        </span>
        <bdi class="name" aria-hidden="true" title={name} style={{ '--length': name.length }}>
          {inherited > 0 && <span class="inherited">{name.slice(0, inherited)}</span>}
          <span class="own">{name.slice(inherited)}</span>
        </bdi>
        <span class="signs">{children}</span>
        <span class="size">{size}</span>
        <span class="age">{age}</span>
      </span>
    </span>
  );
}

/** A badge of a row. Where there is little room its picture and `short` are seen; what it says stays to be heard. */
function Sign({ text, short, ...look }: { text: string; short?: string } & Omit<BadgeProps, 'children'>) {
  return (
    <Badge title={text} {...look}>
      <bdi class="long">{text}</bdi>
      {short && (
        <bdi class="short" aria-hidden="true">
          {short}
        </bdi>
      )}
    </Badge>
  );
}
