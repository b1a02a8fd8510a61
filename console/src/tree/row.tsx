// A row of the tree: the connecting lines, the shape of the node, its name and its badges.

import { Component, type ComponentChildren, type JSX } from 'preact';

import { count, size } from '../format.ts';
import { Badge, type BadgeProps } from '../ui/badge.tsx';
import { Icon } from '../ui/icons.tsx';
import { CAUSES } from './causes.ts';
import {
  endOf,
  PARTIAL,
  STATE_LABELS,
  type LineageNode,
  type SandboxNode,
  type SnapshotNode,
} from './nodes.ts';

/** The content of a row, and its position in the tree. */
export interface RowProps {
  node: LineageNode;
  /** The formatted age and expiration of a snapshot. */
  age: string | undefined;
  expiry: string | undefined;
  /** For each level above: `1` if a line passes the row at this level, otherwise `0`. */
  rails: string;
  isOpen: boolean | undefined;
  isFocused: boolean;
  isSelected: boolean;
  isCurrent: boolean;
  /** Whether it is a former sandbox of the workspace that the page is about. */
  isFormer: boolean;
  position: number;
  siblings: number;
  register: (element: HTMLElement | null) => void;
}

/** A row. It is rendered again only if its content differs. */
export class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { node, ...rest } = this.props;
    const differs = Object.entries(rest).some(([name, value]) => next[name as keyof RowProps] !== value);
    return differs || node.rowData !== next.node.rowData;
  }

  override render(props: Readonly<RowProps>): JSX.Element {
    const {
      node,
      age,
      expiry,
      isOpen,
      isFocused,
      isSelected,
      isCurrent,
      isFormer,
      position,
      siblings,
      register,
    } = props;
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
          <SandboxContent of={node} isCurrent={isCurrent} isFormer={isFormer} />
        ) : (
          <SnapshotContent of={node} age={age} expiry={expiry} />
        )}
      </div>
    );
  }
}

/** The lines from the parent, past the row, and to the children. One unit of the drawing is one level. */
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

function SandboxContent({
  of: { sandbox, isUnknown, inherited },
  isCurrent,
  isFormer,
}: {
  of: SandboxNode;
  isCurrent: boolean;
  isFormer: boolean;
}) {
  const { sandboxId, lineage, running, workspace, problem } = sandbox;
  return (
    <Content kind="Sandbox" name={sandboxId} inherited={inherited}>
      {isCurrent && <RowBadge tone="accent" icon="current" text="current" />}
      {running !== undefined && !isUnknown && (
        <RowBadge
          tone={running ? 'good' : 'plain'}
          icon={running ? 'on' : 'off'}
          text={running ? 'running' : 'ended'}
        />
      )}
      {lineage === 'branch' && <RowBadge icon="branch" text="branched" />}
      {lineage === 'restored' && <RowBadge icon="restore" text="restored" />}
      {workspace && (
        <RowBadge
          tone={isFormer ? 'plain' : 'accent'}
          icon="workspace"
          text={isFormer ? `former sandbox of ${workspace.name}` : workspace.name}
          short={isFormer ? 'former' : undefined}
        />
      )}
      {problem && <RowBadge tone="bad" icon="warning" text="problem" />}
    </Content>
  );
}

function SnapshotContent({
  of: { snapshot },
  age,
  expiry,
}: { of: SnapshotNode } & Pick<RowProps, 'age' | 'expiry'>) {
  const { snapshotId, label, state, sizeBytes, base, cause, partial, pinned, dependents } = snapshot;
  const stateLabel = STATE_LABELS[state];
  const isCreating = state === 'creating';
  const sign = cause && CAUSES[cause];
  return (
    <Content
      kind="Snapshot"
      name={label ?? snapshotId}
      size={sizeBytes === undefined ? undefined : size(sizeBytes)}
      age={age}
    >
      {stateLabel && (
        <RowBadge
          tone={isCreating ? 'busy' : 'plain'}
          icon={isCreating ? 'time' : 'trash'}
          text={stateLabel}
        />
      )}
      {sign && <RowBadge {...sign} />}
      {base && <RowBadge icon="branch" text={`delta of ${base}`} short="delta" />}
      {partial && (
        <Badge title={PARTIAL}>
          <bdi>partial</bdi>
        </Badge>
      )}
      {pinned && <RowBadge tone="accent" icon="pin" text="pinned" />}
      {dependents.length > 0 && <RowBadge icon="dependent" text={count(dependents.length, 'dependent')} />}
      {expiry && <RowBadge icon="time" text={expiry} />}
    </Content>
  );
}

/** The content of a row: the name, the badges, and the size and the age where they fit. */
function Content({
  kind,
  name,
  inherited = 0,
  size,
  age,
  children,
}: {
  kind: string;
  name: string;
  /** The length of the prefix of the name that the parent's name also has. */
  inherited?: number;
  size?: string | undefined;
  age?: string | undefined;
  children: ComponentChildren;
}) {
  const end = endOf(name);
  return (
    <span class="face">
      <span class="unseen">
        {kind} <bdi>{name}</bdi>
      </span>
      <bdi class="name" aria-hidden="true" title={name} style={{ '--length': name.length }}>
        <span class="head">
          {inherited > 0 && <span class="inherited">{name.slice(0, inherited)}</span>}
          <b>{name.slice(inherited, end)}</b>
        </span>
        <span class="tail">{name.slice(end)}</span>
      </bdi>
      <span class="signs">{children}</span>
      <span class="size">{size}</span>
      <span class="age">{age}</span>
    </span>
  );
}

/** A badge of a row. A narrow tree shows `short` if there is one; screen readers always read `text`. */
function RowBadge({
  text,
  short,
  ...style
}: { text: string; short?: string | undefined } & Omit<BadgeProps, 'children'>) {
  return (
    <Badge title={text} {...style}>
      <bdi class={short && 'long'}>{text}</bdi>
      {short && (
        <bdi class="short" aria-hidden="true">
          {short}
        </bdi>
      )}
    </Badge>
  );
}
